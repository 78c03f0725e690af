import { createHash } from "node:crypto";
import { chmod, cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { runProgram } from "../../tools/cluster/run-program.ts";
import { packFolder } from "./archive.ts";
import { downloads, NAMES } from "./names.ts";

export const sha256 = async (path: string) =>
  createHash("sha256")
    .update(await readFile(path))
    .digest("hex");

/** What the npm package and the krew archive hold: the bundle without its source maps. */
async function stage(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const isShipped = (path: string) => !path.endsWith(".map");
  await cp("dist", join(folder, "dist"), { recursive: true, filter: isShipped });
  for (const file of ["LICENSE", "CHANGELOG.md"]) await cp(file, join(folder, file));
}

/**
 * Packs the command-line tools for npm. The package has no dependencies, because the bundle has them.
 * Returns the name of the archive.
 */
export async function packNpm(out: string, staging: string, version: string): Promise<string> {
  const folder = join(staging, "npm");
  await stage(folder);
  const { description, license, engines } = JSON.parse(await readFile("package.json", "utf8"));
  const manifest = {
    name: NAMES.npmPackage,
    version,
    description,
    license,
    engines,
    type: "module",
    repository: { type: "git", url: `git+${NAMES.repository}.git` },
    bin: {
      mooring: "dist/mooring.mjs",
      "kubectl-mooring": "dist/mooring.mjs",
      // kubectl asks this program for completions of the plugin.
      "kubectl_complete-mooring": "dist/mooring.mjs",
    },
    files: ["dist"],
    publishConfig: { access: "public", provenance: true },
  };
  await writeFile(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  await cp("scripts/release/cli-readme.md", join(folder, "README.md"));
  const packed = await runProgram("npm", ["pack", folder, "--json", "--silent", `--pack-destination=${out}`]);
  const [archive] = JSON.parse(packed) as { filename: string }[];
  if (archive === undefined) throw new Error("npm pack made no archive");
  return archive.filename;
}

/** Packs the tools as a kubectl plugin, and writes the manifest that `kubectl krew install --manifest` takes. */
export async function packKrew(out: string, staging: string, version: string): Promise<void> {
  const folder = join(staging, "krew");
  await stage(folder);
  await chmod(join(folder, "dist/mooring.mjs"), 0o755);
  const archive = `kubectl-mooring_${version}.tar.gz`;
  const path = join(out, archive);
  await packFolder(staging, "krew", path);
  const platform = {
    selector: { matchExpressions: [{ key: "os", operator: "In", values: ["linux", "darwin"] }] },
    uri: `${downloads(version)}/${archive}`,
    sha256: await sha256(path),
    files: [{ from: "krew/*", to: "." }],
    bin: "dist/mooring.mjs",
  };
  const manifest = {
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: "mooring" },
    spec: {
      version: `v${version}`,
      homepage: NAMES.repository,
      shortDescription: "Show and resolve objects of the Mooring operator",
      description:
        "Lists what each object of the Mooring operator waits for, explains its history, and resolves jobs whose paid request has an unknown outcome.",
      caveats: "Needs Node.js 22.19 or newer on PATH.",
      platforms: [platform],
    },
  };
  await writeFile(join(out, "krew-mooring.yaml"), stringify(manifest, { lineWidth: 0 }));
}
