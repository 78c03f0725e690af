import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { parseAllDocuments, parse as parseYaml } from "yaml";
import { NAMES } from "../../scripts/release/names.ts";
import { projectRoot } from "../support/pages.ts";
import { run } from "../support/run.ts";

/** The files of a release, as the release workflow makes them. */
const MAIN = join(projectRoot, "scripts/release/main.ts");
const VERSION = "0.1.0";

type Named = { kind: string; metadata: { name: string } };

let out: string;
const read = (...path: string[]) => readFile(join(out, ...path), "utf8");
const objectsIn = (text: string): Named[] => parseAllDocuments(text).flatMap((document) => document.toJS() ?? []);
const names = (objects: Named[]) => objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();

async function succeed(file: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(file, args);
  expect(code, stderr).toBe(0);
  return stdout;
}

beforeAll(async () => {
  out = await mkdtemp(join(tmpdir(), "mooring-release-"));
  await succeed(process.execPath, MAIN, "--no-image", "--out", out);
});
afterAll(() => rm(out, { recursive: true, force: true }));

it("the checksums are those of all files", async () => {
  const lines = (await read("SHA256SUMS")).trim().split("\n");
  const files = (await readdir(out, { withFileTypes: true })).filter((entry) => entry.isFile());
  expect(lines.map((line) => line.slice(66)).sort()).toEqual(
    files.flatMap(({ name }) => (name === "SHA256SUMS" ? [] : [name])).sort(),
  );
  for (const line of lines) {
    const content = await readFile(join(out, line.slice(66)));
    expect(createHash("sha256").update(content).digest("hex"), line).toBe(line.slice(0, 64));
  }
});

it("install.yaml has the image of the release, and the API server accepts each object", async () => {
  const text = await read("install.yaml");
  expect(text).toContain(`image: ${NAMES.image}:${VERSION}`);
  expect(text).not.toContain("helm.sh");
  const kubectl = (...args: string[]) => succeed(inject("kubectl"), "--kubeconfig", inject("kubeconfig"), ...args);
  await kubectl("create", "namespace", "mooring-system");
  try {
    const applied = await kubectl(
      "apply",
      "--server-side",
      "--force-conflicts",
      "--dry-run=server",
      "-f",
      join(out, "install.yaml"),
    );
    expect(applied.trim().split("\n")).toHaveLength(objectsIn(text).length);
  } finally {
    await kubectl("delete", "namespace", "mooring-system", "--wait=false");
  }
});

it("the kustomize base has the same objects", async () => {
  const built = await succeed(inject("kubectl"), "kustomize", join(out, "kustomize"));
  expect(names(objectsIn(built))).toEqual(names(objectsIn(await read("install.yaml"))));
});

it("the bundle has all kinds, the operator's rules and its deployment", async () => {
  const installed = objectsIn(await read("install.yaml"));
  const csv = parseYaml(await read("bundle/manifests/mooring.clusterserviceversion.yaml"));
  const crds = installed.filter(({ kind }) => kind === "CustomResourceDefinition").map(({ metadata }) => metadata.name);
  expect(csv.spec.customresourcedefinitions.owned.map(({ name }: { name: string }) => name).sort()).toEqual(
    crds.sort(),
  );
  const { clusterPermissions, permissions, deployments } = csv.spec.install.spec;
  expect(deployments).toHaveLength(1);
  const [container] = deployments[0].spec.template.spec.containers;
  expect(container.image).toBe(`${NAMES.image}:${VERSION}`);
  for (const [{ serviceAccountName, rules }] of [clusterPermissions, permissions]) {
    expect(serviceAccountName).toBe("mooring");
    expect(rules.length).toBeGreaterThan(0);
  }
  const leases = permissions[0].rules.filter(({ resources }: { resources: string[] }) => resources.includes("leases"));
  expect(leases.length).toBeGreaterThan(0);
  const files = await readdir(join(out, "bundle/manifests"));
  for (const name of crds) expect(files).toContain(`${name}.yaml`);
  const { annotations } = parseYaml(await read("bundle/metadata/annotations.yaml"));
  for (const [name, value] of Object.entries(annotations)) {
    expect(await read("bundle/bundle.Dockerfile")).toContain(`LABEL ${name}=${value}`);
  }
});

it("the npm package installs without a network, as mooring and as a kubectl plugin", async () => {
  const folder = join(out, "installed");
  const archive = join(out, `mooring-dev-cli-${VERSION}.tgz`);
  await succeed("npm", "install", "--global", "--offline", "--prefix", folder, archive);
  const env = { PATH: `${join(folder, "bin")}:${process.env.PATH}` };
  for (const command of ["mooring", "kubectl-mooring"]) {
    const { stdout, stderr } = await run(process.execPath, [join(folder, "bin", command), "--version"], { env });
    expect([stdout.trim(), stderr]).toEqual([VERSION, ""]);
  }
  const plugin = await run(inject("kubectl"), ["mooring", "--version"], { env });
  expect(plugin).toMatchObject({ code: 0, stdout: `${VERSION}\n` });
  await rm(folder, { recursive: true });
});

it("the krew manifest names the archive of the release, which has the program", async () => {
  const { spec } = parseYaml(await read("krew-mooring.yaml"));
  const [platform] = spec.platforms;
  const archive = `kubectl-mooring_${VERSION}.tar.gz`;
  expect(platform.uri).toBe(`${NAMES.repository}/releases/download/v${VERSION}/${archive}`);
  expect(
    createHash("sha256")
      .update(await readFile(join(out, archive)))
      .digest("hex"),
  ).toBe(platform.sha256);
  const files = (await succeed("tar", "--list", "--file", join(out, archive))).split("\n");
  const [{ from }] = platform.files;
  expect(files).toContain(from.replace("*", platform.bin));
});

it("the notes are the section of the changelog", async () => {
  const changelog = await readFile(join(projectRoot, "CHANGELOG.md"), "utf8");
  const notes = await read("notes.md");
  expect(notes).toMatch(/^### /);
  expect(changelog).toContain(notes.trim());
});
