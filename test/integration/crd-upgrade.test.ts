import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { KINDS } from "../../src/api/v1alpha1/kinds.ts";
import type { KubeObject } from "../../src/kube/types.ts";
import { type ControlPlane, startControlPlane } from "../../tools/cluster/control-plane.ts";
import { runProgram } from "../../tools/cluster/run-program.ts";
import { waitUntil } from "../../tools/cluster/wait-until.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const fixture = join(root, "test/integration/fixtures/objects-0.1.0.yaml");
type Stored = KubeObject<object, object> & { kind: string; spec: object };
const objects = parseAllDocuments(await readFile(fixture, "utf8")).map((document) => document.toJS() as Stored);

type Version = { name: string; served: boolean; storage: boolean; schema: { openAPIV3Schema: object } };
type Definition = { metadata: { name: string }; spec: { versions: Version[] } };
const crds: Definition[] = await Promise.all(
  (await readdir(join(root, "crds"))).map(async (name) => parse(await readFile(join(root, "crds", name), "utf8"))),
);
/** The CRDs with other versions, each made from the one that there is. */
const withVersions = (change: (version: Version) => Version[]) =>
  crds.map((crd) => ({ ...crd, spec: { ...crd.spec, versions: crd.spec.versions.flatMap(change) } }));

let controlPlane: ControlPlane;
const kubectl = (...args: string[]) =>
  runProgram(controlPlane.kubectl, ["--kubeconfig", controlPlane.kubeconfig, "--namespace", "default", ...args]);

/** Runs kubectl with a list of objects as `-f`. */
async function withList(items: readonly unknown[], ...args: string[]): Promise<void> {
  const path = join(controlPlane.dir, "list.json");
  await writeFile(path, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  await kubectl(...args, "-f", path);
}
const apply = (items: readonly unknown[], ...options: string[]) =>
  withList(items, "apply", "--server-side", "--force-conflicts", ...options);
const nameOf = ({ kind, metadata }: Stored) => `${kind}/${metadata.name}`;

/** Every object as it is stored, read in a version, by kind and name. */
async function readAll(version = "v1alpha1"): Promise<Map<string, Stored>> {
  const types = crds.map(({ metadata }) => metadata.name.replace(".", `.${version}.`)).join(",");
  const { items } = JSON.parse(await kubectl("get", types, "-o", "json")) as { items: Stored[] };
  return new Map(items.map((item) => [nameOf(item), item]));
}

/** Every object is the same one as at the start, and has what it had. */
async function expectAllAsBefore(version?: string): Promise<void> {
  const stored = await readAll(version);
  for (const object of objects) {
    const now = stored.get(nameOf(object));
    expect(now?.metadata.uid, nameOf(object)).toBe(uids.get(nameOf(object)));
    expect(now?.spec, nameOf(object)).toMatchObject(object.spec);
    expect(now?.status ?? {}, nameOf(object)).toMatchObject(object.status ?? {});
  }
}

const accepted = (...args: Parameters<typeof apply>) =>
  apply(...args).then(
    () => true,
    () => false,
  );

const uids = new Map<string, string | undefined>();

beforeAll(async () => {
  // A control plane of its own: other tests' CRDs do not change under them.
  controlPlane = await startControlPlane();
  // The old release's schemas are not kept: what they let in is. So the old CRDs let everything in, and default nothing.
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  await apply(withVersions((version) => [{ ...version, schema: { openAPIV3Schema: anything } }]));
  const names = crds.map(({ metadata }) => `crd/${metadata.name}`);
  await kubectl("wait", "--for=condition=Established", "--timeout=60s", ...names);
  await apply(objects.map(({ status: _, ...object }) => object));
  const withStatus = objects.filter(({ status }) => status !== undefined);
  // kubectl of Kubernetes 1.30 applies no subresource.
  await withList(withStatus, "replace", "--subresource=status");
  for (const [name, { metadata }] of await readAll()) uids.set(name, metadata.uid);
  await apply(crds);
  const wrong = { ...objects[0], metadata: { name: "wrong" }, spec: {} };
  await waitUntil("the new schema is served", async () => !(await accepted([wrong], "--dry-run=server")), {
    timeoutMs: 120_000,
  });
}, 600_000);
afterAll(() => controlPlane.stop());

it("the objects are of every kind that the release had", () => {
  expect(new Set(objects.map(({ kind }) => kind))).toEqual(new Set(KINDS.map(({ resource }) => resource.kind)));
});

it("objects are there as they were after an upgrade of the CRDs, can be changed, and can be made anew", async () => {
  await expectAllAsBefore();
  await withList(objects, "annotate", "mooring.dev/paused=true");
  const patch = JSON.stringify({ status: { observedGeneration: 2 } });
  await withList(objects, "patch", "--subresource=status", "--type=merge", "--dry-run=server", "-p", patch);
  // Unchanged fields of an old object are not judged again, so the whole is judged as a new one.
  const anew = objects.map(({ status: _, ...object }) => ({
    ...object,
    metadata: { ...object.metadata, name: `${object.metadata.name}-again` },
  }));
  await apply(anew, "--dry-run=server");
});

it("a next version is served beside the old one, takes over the storage, and outlives it", async () => {
  const storedVersions = async () => {
    const { items } = JSON.parse(await kubectl("get", "crd", "-o", "json"));
    return items.map(({ status }: { status: { storedVersions: string[] } }) => status.storedVersions.join());
  };
  const isServed = (version: string) =>
    accepted([{ ...objects[0], apiVersion: `mooring.dev/${version}` }], "--dry-run=server");

  // 1. Both are served; what is written from now on is stored as v1beta1.
  await apply(
    withVersions((version) => [
      { ...version, storage: false },
      { ...version, name: "v1beta1" },
    ]),
  );
  await waitUntil("v1beta1 is served", () => isServed("v1beta1"), { timeoutMs: 120_000 });
  await expectAllAsBefore("v1alpha1");
  await expectAllAsBefore("v1beta1");
  expect(await storedVersions()).toEqual(crds.map(() => "v1alpha1,v1beta1"));

  // 2. Every object is written once as it is, and the CRDs are told that nothing is stored as v1alpha1 any more.
  await withList([...(await readAll("v1beta1")).values()], "replace");
  for (const { metadata } of crds) {
    const patch = JSON.stringify({ status: { storedVersions: ["v1beta1"] } });
    await kubectl("patch", "crd", metadata.name, "--subresource=status", "--type=merge", "-p", patch);
  }

  // 3. v1alpha1 goes.
  await apply(withVersions((version) => [{ ...version, name: "v1beta1" }]));
  await waitUntil("v1alpha1 is gone", async () => !(await isServed("v1alpha1")), { timeoutMs: 120_000 });
  await expectAllAsBefore("v1beta1");
});
