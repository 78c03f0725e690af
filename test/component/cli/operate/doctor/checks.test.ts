import { expect, it } from "vitest";
import { customResourceDefinition } from "../../../../../src/api/schema/crd.ts";
import { KINDS } from "../../../../../src/api/v1alpha1/kinds.ts";
import {
  checkAccounts,
  checkKinds,
  checkRights,
  checkServer,
  type Finding,
} from "../../../../../src/cli/operate/doctor/checks.ts";
import { type ApiRequest, type Script, scriptedApi } from "../../../../support/scripted-api-server.ts";

const refusal = (code: number, reason: string) => ({
  status: code,
  body: { kind: "Status", code, reason, message: reason },
});
const levels = (findings: readonly Finding[]) => findings.map(({ level }) => level);
const established = { conditions: [{ type: "Established", status: "True" }] };

/** The stored CRD that a path names. */
function stored({ path }: ApiRequest) {
  const kind = KINDS.find(({ resource }) => path.endsWith(`/${resource.plural}.${resource.group}`));
  if (kind === undefined) throw new Error(path);
  return { ...customResourceDefinition(kind), status: established };
}

async function kinds(script: Script) {
  return checkKinds((await scriptedApi(script)).client);
}

it("kinds are good when they are as this version has them", async () => {
  const findings = await kinds((request) => ({ body: stored(request) }));
  expect(findings).toHaveLength(KINDS.length);
  expect(new Set(levels(findings))).toEqual(new Set(["ok"]));
});

it("reports a kind that is missing, old, not served, or not readable", async () => {
  const findings = await kinds((request) => {
    const crd = stored(request);
    if (request.path.includes("gpuendpoints")) return refusal(404, "NotFound");
    if (request.path.includes("speechjobs")) return refusal(403, "Forbidden");
    if (request.path.includes("videojobs")) return { body: { ...crd, status: {} } };
    if (!request.path.includes("/accounts.")) return { body: crd };
    return { body: JSON.parse(JSON.stringify(crd).replace('"maxLength":2048', '"maxLength":99')) };
  });
  const told = findings.filter(({ level }) => level !== "ok").map(({ level, message }) => `${level} ${message}`);
  expect(told.sort()).toEqual([
    expect.stringMatching(/^bad gpuendpoints\.mooring\.dev is not installed: mooring crds \| kubectl apply/),
    expect.stringMatching(/^bad videojobs\.mooring\.dev is not served yet/),
    expect.stringMatching(/^warn accounts\.mooring\.dev is of another version of Mooring: mooring crds/),
    expect.stringMatching(/^warn speechjobs\.mooring\.dev: .*Forbidden/),
  ]);
});

it("names the rights that are missing", async () => {
  const api = await scriptedApi(({ body }) => {
    const { resource, verb } = (body as { spec: { resourceAttributes: Record<string, string> } }).spec
      .resourceAttributes;
    return { body: { metadata: {}, status: { allowed: !(resource === "gpuendpoints" && verb === "patch") } } };
  });
  expect(await checkRights(api.client, "team")).toEqual([
    { level: "warn", message: "we may not patch gpuendpoints.mooring.dev: an operator must" },
    { level: "warn", message: "we may not patch gpuendpoints.mooring.dev/status: an operator must" },
  ]);
  const attributes = api.requests.map(
    ({ body }) => (body as { spec: { resourceAttributes: object } }).spec.resourceAttributes,
  );
  expect(attributes).toContainEqual({ group: "", resource: "secrets", verb: "get", namespace: "team" });
  expect(attributes).toContainEqual({ group: "", resource: "namespaces", verb: "get" });
});

it("an API server that refuses or does not respond is one finding", async () => {
  const refused = await scriptedApi(() => refusal(401, "Unauthorized"));
  expect(await checkServer(refused.client, "https://k8s")).toMatchObject({
    level: "bad",
    message: expect.stringContaining("Unauthorized"),
  });
  const cut = await scriptedApi(() => "cut");
  expect(await checkServer(cut.client, "https://k8s")).toMatchObject({ level: "bad" });
});

it("warns when there is no account", async () => {
  const api = await scriptedApi(() => ({ body: { metadata: {}, items: [] } }));
  expect(await checkAccounts(api.client, "team")).toEqual([
    { level: "warn", message: expect.stringContaining("no Account in namespace team") },
  ]);
});

it("an account that the operator holds has the operator's reason, and what this machine sees beside it", async () => {
  const spec = { baseURL: "https://10.0.0.7", apiKeySecretRef: { name: "no", key: "apiKey" } };
  const conditions = [{ type: "Ready", status: "False", reason: "AddressNotAllowed", message: "10.0.0.7 is private" }];
  const account = { metadata: { namespace: "team", name: "lab" }, spec, status: { conditions } };
  const api = await scriptedApi(({ path }) => {
    if (path.endsWith("/accounts/lab")) return { body: account };
    if (path.endsWith("/namespaces/team/accounts")) return { body: { metadata: {}, items: [account] } };
    return path.includes("/secrets/") ? refusal(404, "NotFound") : { body: { metadata: {}, items: [] } };
  });
  const [finding] = await checkAccounts(api.client, "team");
  expect(finding?.level).toBe("bad");
  expect(finding?.message).toMatch(
    /^Account team\/lab: AddressNotAllowed: 10\.0\.0\.7 is private \(from this machine: Secret team\/no does not exist.*\)$/,
  );
});

it("says what the rights are for that an operator needs in single namespaces only", async () => {
  const api = await scriptedApi(({ body }) => {
    const { resource } = (body as { spec: { resourceAttributes: Record<string, string> } }).spec.resourceAttributes;
    return { body: { metadata: {}, status: { allowed: resource !== "secrets" } } };
  });
  const findings = await checkRights(api.client, "team");
  expect(findings.map(({ message }) => message)).toEqual([
    "we may not get secrets: an operator must, where an object refers to a Secret or ConfigMap (rbac.secretNamespaces of the chart)",
    ...["create", "patch", "delete"].map(
      (verb) =>
        `we may not ${verb} secrets: an operator must, where exportTo names a Secret (rbac.exportNamespaces.secrets of the chart)`,
    ),
  ]);
});
