import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { type Rendered, render } from "../support/chart.ts";
import { kubectlInNamespace } from "../support/kubectl.ts";
import { manifest } from "../support/manifests.ts";

const { namespace, kubectl } = kubectlInNamespace("policies");
/** Somebody who may edit in the namespace, and somebody who is its admin, by the chart's aggregated roles. */
const PEOPLE = ["edit", "admin"] as const;
/** An account of the namespace's own: adoption through it needs no permission of the cluster administrator. */
const OWN_ACCOUNT = { accountRef: { kind: "Account", name: "default" } };
const as = (person: string) => ["--as", `${person}-of-${namespace}`];
let objects: Rendered[];
const text = (parts: readonly Rendered[]) => parts.map((part) => stringify(part)).join("---\n");

beforeAll(async () => {
  // The policies are a part of the default values.
  const settings = ["--set", `admissionPolicies.clusterAccountSecretNamespaces={${namespace}}`];
  const wanted = /^ValidatingAdmissionPolicy/;
  objects = (await render(namespace, ...settings)).filter(
    ({ kind, metadata }) => wanted.test(kind ?? "") || /-(view|edit|admin|adopter)$/.test(metadata.name),
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
const refusal = (object: object, person?: string) => expect.poll(() => apply(object, person), { timeout: 120_000 });
const endpoint = (spec: object) => manifest("endpoint", { ...spec }, `${namespace}-one`);

it.each([
  { person: "edit", verb: "create", resource: "gpuendpoints", allowed: true },
  { person: "edit", verb: "create", resource: "accounts", allowed: false },
  { person: "edit", verb: "patch", resource: "artifactstores", allowed: false },
  { person: "edit", verb: "patch", resource: "gpuendpoints/status", allowed: false },
  { person: "admin", verb: "create", resource: "accounts", allowed: true },
  { person: "admin", verb: "create", resource: "artifactstores", allowed: true },
  { person: "admin", verb: "patch", resource: "clusteraccounts", allowed: false },
  { person: "admin", verb: "patch", resource: "accounts/status", allowed: false },
])("a tenant's role decides what it changes: $person $verb $resource", async ({ person, verb, resource, allowed }) => {
  const [name = "", subresource] = resource.split("/");
  const part = subresource === undefined ? [] : [`--subresource=${subresource}`];
  const asked = () => kubectl(["auth", "can-i", verb, `${name}.mooring.dev`, ...part, ...as(person)]);
  // Aggregated roles take a moment.
  await expect.poll(async () => (await asked()).stdout.trim(), { timeout: 120_000 }).toBe(allowed ? "yes" : "no");
});

it.each(PEOPLE)("a team with the role %s can neither move to another share nor read one", async (person) => {
  const may = async (verb: string, resource: string, ...place: string[]) =>
    (await kubectl(["auth", "can-i", verb, resource, ...place, ...as(person)])).stdout.trim();
  // Its own work and what it is shown of its share; aggregated roles take a moment.
  await expect.poll(() => may("create", "mediabatches.mooring.dev"), { timeout: 120_000 }).toBe("yes");
  expect(await may("get", "configmaps")).toBe("yes");
  for (const verb of ["patch", "update", "create"]) expect(await may(verb, "namespaces"), verb).toBe("no");
  // `can-i` asks of the namespace, and a ClusterAccount has none: what it says of reading counts for a ClusterRoleBinding only.
  const read = await kubectl(["get", "clusteraccounts.mooring.dev", ...as(person)]);
  expect(read.stderr).toContain("cannot list resource");
  expect(await may("patch", "clusteraccounts.mooring.dev")).toBe("no");
  for (const resource of ["configmaps", "secrets", "speechjobs.mooring.dev"]) {
    expect(await may("get", resource, "--namespace", "default"), resource).toBe("no");
  }
});

it("a ClusterAccount names Secrets of the allowed namespaces only", async () => {
  const account = (place: string) =>
    manifest("clusterAccount", { apiKeySecretRef: { namespace: place, name: "key", key: "apiKey" } }, `${namespace}-a`);
  await refusal(account("kube-system")).toContain(
    `spec.apiKeySecretRef.namespace is kube-system, allowed is ${namespace}: put the Secret there`,
  );
  expect(await apply(account(namespace))).toBe("");
});

it.each([
  {
    what: "managementPolicy Observe",
    spec: { managementPolicy: "Observe", adoption: { endpointID: "ep-1", mode: "Match" } },
    message: 'needs the verb "observe"',
  },
  {
    what: "adoption by Override",
    spec: { adoption: { endpointID: "ep-1", mode: "Override" } },
    message: 'needs the verb "override"',
  },
])("$what is for those who have the verb", async ({ spec, message }) => {
  await refusal(endpoint({ ...OWN_ACCOUNT, ...spec }), "edit").toContain(message);
  expect(await apply(endpoint({ ...OWN_ACCOUNT, ...spec }), "admin")).toBe("");
  expect(await apply(endpoint({}), "edit")).toBe("");
});

describe("through a ClusterAccount", () => {
  const shared = { accountRef: { kind: "ClusterAccount", name: "shared" } };
  const adoption = { endpointID: "ep-1", mode: "Match" };
  const denial = (name: string) =>
    `adoption, Observe and its change to Full through ClusterAccount ${name} need the verb "adopt" on clusteraccounts in this namespace`;
  const granted = (person: string) =>
    kubectl([
      ...["create", "rolebinding", `${person}-adopts`],
      ...[`--clusterrole=${namespace}-mooring-adopter`, `--user=${person}-of-${namespace}`],
    ]);

  it.each([
    { what: "adoption with Match", spec: { ...shared, adoption }, account: "shared" },
    {
      what: "adoption with Override",
      spec: { ...shared, adoption: { ...adoption, mode: "Override" } },
      account: "shared",
    },
    { what: "Observe by ID", spec: { ...shared, adoption, managementPolicy: "Observe" }, account: "shared" },
    { what: "Observe by app name", spec: { ...shared, appName: "b", managementPolicy: "Observe" }, account: "shared" },
    { what: "adoption without accountRef", spec: { adoption }, account: "default" },
  ])("$what is refused to edit and to admin", async ({ spec, account }) => {
    await refusal(endpoint(spec), "admin").toContain(denial(account));
    expect(await apply(endpoint(spec), "edit")).toContain("is forbidden");
    expect(await apply(endpoint({ ...shared, appName: "mine" }), "edit")).toBe("");
  });

  it("an adoption cannot move from an account of one's own to a ClusterAccount", async () => {
    const moved = endpoint({ ...OWN_ACCOUNT, adoption });
    const created = await kubectl(["apply", ...as("edit"), "-f", "-"], JSON.stringify(moved));
    expect(created.stderr).toBe("");
    const patch = (spec: object, person: string) =>
      kubectl([
        ...["patch", "gpuendpoint", moved.metadata.name, "--type=merge", ...as(person)],
        ...["-p", JSON.stringify({ spec })],
      ]);
    expect((await patch({ workers: { max: 3 } }, "edit")).stderr).toBe("");
    expect((await patch({ accountRef: shared.accountRef }, "admin")).stderr).toContain(denial("shared"));
    expect((await patch({ accountRef: null }, "admin")).stderr).toContain(denial("default"));
    await kubectl(["delete", "gpuendpoint", moved.metadata.name]);
  });

  it.each([
    { what: "adopted", spec: { adoption } },
    { what: "found by its app name", spec: { appName: "of-another-tenant" } },
  ])("what was only observed and $what is not taken over by an admin", async ({ spec }) => {
    const observed = endpoint({ ...shared, ...spec, managementPolicy: "Observe" });
    const created = await kubectl(["apply", "-f", "-"], JSON.stringify(observed));
    expect(created.stderr).toBe("");
    const patch = (change: object) =>
      kubectl([
        ...["patch", "gpuendpoint", observed.metadata.name, "--type=merge", ...as("admin")],
        ...["-p", JSON.stringify({ spec: change })],
      ]);
    expect((await patch({ workers: { max: 3 } })).stderr).toBe("");
    expect((await patch({ managementPolicy: "Full" })).stderr).toContain(denial("shared"));
    await kubectl(["delete", "gpuendpoint", observed.metadata.name]);
  });

  it("is for those to whom the cluster administrator gives the verb in the namespace", async () => {
    const spec = { ...shared, adoption, managementPolicy: "Observe" };
    await refusal(endpoint(spec), "admin").toContain(denial("shared"));
    // The admin of the namespace cannot give what the cluster administrator did not.
    const own = await kubectl([
      ...["create", "rolebinding", "mine", `--clusterrole=${namespace}-mooring-adopter`],
      ...[`--user=edit-of-${namespace}`, ...as("admin")],
    ]);
    expect(own.stderr).toContain("forbidden");
    expect((await granted("admin")).stderr).toBe("");
    await expect.poll(() => apply(endpoint(spec), "admin"), { timeout: 120_000 }).toBe("");
  });
});

it("what an admin has set up can be edited by others, but not turned into something else", async () => {
  const watched = endpoint({
    ...OWN_ACCOUNT,
    managementPolicy: "Observe",
    adoption: { endpointID: "ep-1", mode: "Match" },
  });
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

describe("the policies of other values", () => {
  const policy = (rendered: readonly Rendered[], name: string) =>
    rendered.find(({ kind, metadata }) => kind === "ValidatingAdmissionPolicy" && metadata.name.endsWith(name));

  it.each([
    { given: "nothing", settings: "logLevel=info", allowed: "['mooring-system','default']" },
    { given: "secretNamespaces", settings: "rbac.secretNamespaces={vault}", allowed: "['mooring-system','vault']" },
    { given: "all namespaces", settings: "rbac.secretNamespaces={*}", allowed: "['mooring-system']" },
  ])("a ClusterAccount may name Secrets in $allowed with $given", async ({ settings, allowed }) => {
    const spec = policy(await render("mooring-system", "--set", settings), "-account-secrets")?.["spec"];
    expect(spec).toMatchObject({ variables: [{ name: "allowed", expression: allowed }] });
  });

  it("concern the watched namespaces only, and can be disabled", async () => {
    const watched = policy(await render("mooring-system", "--set", "watchNamespaces={a,b}"), "-endpoint-takeover");
    expect(watched?.["spec"]).toMatchObject({
      matchConstraints: {
        namespaceSelector: {
          matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "In", values: ["a", "b"] }],
        },
      },
    });
    const disabled = await render("mooring-system", "--set", "admissionPolicies.enabled=false");
    expect(disabled.filter(({ kind }) => kind?.startsWith("ValidatingAdmissionPolicy"))).toEqual([]);
  });
});
