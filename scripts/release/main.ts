/**
 * Makes every file of a release in release, without publishing any: `npm run release:dry`. The image is built when a Docker daemon
 * answers. `--docker-arg` is a further argument of `docker build`, and may be given several times.
 */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { prepareTools } from "../../tools/programs/tool.ts";
import { packFolder } from "./archive.ts";
import { documents, packChart, renderChart, writeKustomizeBase } from "./chart.ts";
import { packKrew, packNpm, sha256 } from "./cli.ts";
import { buildImage, missingDocker } from "./image.ts";
import { NAMES } from "./names.ts";
import { releaseNotes } from "./notes.ts";
import { writeBundle } from "./olm.ts";

const { values } = parseArgs({
  options: {
    out: { type: "string", default: "release" },
    image: { type: "boolean", default: true },
    "docker-arg": { type: "string", multiple: true, default: [] },
  },
  allowNegative: true,
});
const { out } = values;
const say = (line: string) => void process.stderr.write(`release: ${line}\n`);

const { version } = JSON.parse(await readFile("package.json", "utf8")) as { version: string };
await rm(out, { recursive: true, force: true });
const staging = join(out, ".staging");
await mkdir(staging, { recursive: true });
await prepareTools(["helm"], say);

await packChart(out, version);
const objects = await renderChart(version);
await writeFile(join(out, "install.yaml"), documents(objects));
await writeKustomizeBase(join(out, "kustomize"), objects);
await writeBundle(join(out, "bundle"), version, objects);
for (const folder of ["kustomize", "bundle"]) await packFolder(out, folder, join(out, `${folder}.tar.gz`));
await packNpm(out, staging, version);
await packKrew(out, staging, version);
await writeFile(join(out, "sbom.cdx.json"), await readFile("dist/sbom.cdx.json"));
await writeFile(join(out, "notes.md"), releaseNotes(await readFile("CHANGELOG.md", "utf8"), version));
await rm(staging, { recursive: true });
const files = (await readdir(out, { withFileTypes: true })).filter((entry) => entry.isFile()).map(({ name }) => name);
const sums = await Promise.all(files.sort().map(async (name) => `${await sha256(join(out, name))}  ${name}\n`));
await writeFile(join(out, "SHA256SUMS"), sums.join(""));
for (const name of [...files, "SHA256SUMS", "kustomize/", "bundle/"]) say(join(out, name));
if (values.image) await makeImage();

async function makeImage(): Promise<void> {
  const missing = await missingDocker();
  if (missing !== undefined) return say(`image ${NAMES.image}:${version} not built: ${missing}`);
  try {
    say(`image ${await buildImage(version, values["docker-arg"], say)}`);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
}
