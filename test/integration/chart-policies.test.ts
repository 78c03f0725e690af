import { afterAll, beforeAll, expect, it } from "vitest";
import { stringify } from "yaml";
import { type Rendered, render } from "../support/chart.ts";
import { kubectlInNamespace } from "../support/kubectl.ts";
import { manifest } from "../support/manifests.ts";

const { namespace, kubectl } = kubectlInNamespace("policies");
/** Somebody who may edit in the namespace, and somebody who is its admin, by the chart's aggregated roles. */
const PEOPLE = ["edit", "admin"] as const;
const as = (person: string) => ["--as", `${person}-of-${namespace}`];
let objects: Rendered[];
const text = (parts: readonly Rendered[]) => parts.map((part) => stringify(part)).join("---\n");

beforeAll(async () => {
  const settings = [
    "--set",
    `admissionPolicies.enabled=true,admissionPolicies.clusterAccountSecretNamespaces={${namespace}}`,
  ];
  const wanted = /^ValidatingAdmissionPolicy/;
  objects = (await render(namespace, ...settings)).filter(
    ({ kind, metadata }) => wanted.test(kind ?? "") || /-(view|edit|admin)$/.test(metadata.name),
  );
  // Other tests make what these policies refuse.
  for (const object of objects.filter(({ kind }) => kind === "ValidatingAdmissionPolicy")) {
    const spec = object.spec as { matchConstraints: Record<string, unknown>; matchConditions?: object[] };
    spec.matchConditions = [{ name: "ours", expression: `object.metadata.name.startsWith('${namespace}')` }];
  }
  expect((await kubectl(["apply", "-f", "-"], text(objects))).stderr).toBe("");
  for (const person of PEOPLE) {
    await kubectl(["create", "rolebinding", person, `--clusterrole=${person}`, `--user=${person}-of-${namespace}`]);
  }
});
afterAll(async () => {
  await kubectl(["delete", "--ignore-not-found", "-f", "-"], text(objects));
});

/** kubectl's standard error of an apply; a policy takes a moment to be in force, so a refusal is waited for. */
async function apply(object: object, person?: string): Promise<string> {
  const user = person === undefined ? [] : as(person);
  return (await kubectl(["apply", "--dry-run=server", ...user, "-f", "-"], JSON.stringify(object))).stderr;
}
const refusal = (object: object, person?: string) => expect.poll(() => apply(object, person), { timeout: 30_000 });
const endpoint = (spec: object) => manifest("endpoint", { ...spec }, `${namespace}-one`);

it("a ClusterAccount names Secrets of the allowed namespaces only", async () => {
  const account = (place: string) =>
    manifest("clusterAccount", { apiKeySecretRef: { namespace: place, name: "key", key: "apiKey" } }, `${namespace}-a`);
  await refusal(account("kube-system")).toContain(
    `spec.apiKeySecretRef.namespace is kube-system, allowed is ${namespace}: put the Secret there`,
  );
  expect(await apply(account(namespace))).toBe("");
});

it.each([
  [
    "managementPolicy Observe",
    { managementPolicy: "Observe", adoption: { endpointID: "ep-1", mode: "Match" } },
    'needs the verb "observe"',
  ],
  ["adoption by Override", { adoption: { endpointID: "ep-1", mode: "Override" } }, 'needs the verb "override"'],
])("%s is for those who have the verb", async (_, spec, message) => {
  await refusal(endpoint(spec), "edit").toContain(message);
  expect(await apply(endpoint(spec), "admin")).toBe("");
  expect(await apply(endpoint({}), "edit")).toBe("");
});

it("what an admin has set up can be edited by others, but not turned into something else", async () => {
  const watched = endpoint({ managementPolicy: "Observe", adoption: { endpointID: "ep-1", mode: "Match" } });
  const created = await kubectl(["apply", ...as("admin"), "-f", "-"], JSON.stringify(watched));
  expect(created.stderr).toBe("");
  const patch = (spec: object) =>
    kubectl([
      "patch",
      "gpuendpoint",
      watched.metadata.name,
      "--type=merge",
      ...as("edit"),
      "-p",
      JSON.stringify({ spec }),
    ]);
  expect((await patch({ workers: { max: 3 } })).stderr).toBe("");
  expect((await patch({ managementPolicy: "Full" })).stderr).toContain('needs the verb "observe"');
});
