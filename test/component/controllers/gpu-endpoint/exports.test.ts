import { expect, it } from "vitest";
import type { GpuEndpointStatus } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { systemClock } from "../../../../src/base/clock.ts";
import { syncExports } from "../../../../src/controllers/gpu-endpoint/exports.ts";
import { desiredOf, endpointOf, recordOf } from "../../../support/endpoints.ts";
import { type ApiRequest, failure, scriptedApi } from "../../../support/scripted-api-server.ts";

const status: GpuEndpointStatus = {
  conditions: [],
  url: "https://ep-1.example.com",
  endpointID: "ep-1",
  appName: "echo-1",
  exported: { secret: "out" },
};
const OWNED = { name: "out", namespace: "team", resourceVersion: "5", uid: "u" };

/** One pass for an endpoint that is exported to Secret `out`. */
async function sync(
  answer: (request: ApiRequest) => ReturnType<typeof failure>,
  change: { spec?: Record<string, unknown>; status?: Partial<GpuEndpointStatus> } = {},
) {
  const api = await scriptedApi(answer);
  const merged = { ...status, ...change.status };
  const endpoint = endpointOf({ exportTo: { secret: { name: "out" } }, ...change.spec }, { status: merged });
  const shared = { kube: api.client, clock: systemClock };
  const record = recordOf(desiredOf(endpoint), { appName: "theirs" });
  const outcome = await syncExports({ shared, endpoint, record, signal: new AbortController().signal }, merged);
  const writes = api.requests.filter(({ method }) => method !== "GET");
  return { outcome, writes, requests: api.requests };
}

const absent = ({ method, body }: ApiRequest) =>
  method === "GET" ? failure(404, "NotFound") : { status: 201, body: body as object };
const data = (values: Record<string, string>) =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")]));

it("reads and writes Secrets one by one: no list, no watch", async () => {
  const { requests } = await sync(absent);
  expect(requests.map(({ method, path, query }) => [method, path, query.size])).toEqual([
    ["GET", "/api/v1/namespaces/team/secrets/out", 0],
    ["POST", "/api/v1/namespaces/team/secrets", 0],
  ]);
});

it("the name stands in the status before the object is made", async () => {
  const { outcome, writes } = await sync(absent, { status: { exported: {} } });
  expect(outcome).toEqual({ exported: { secret: "out" }, requeueAfterMs: 0 });
  expect(writes).toEqual([]);
});

it.each<keyof GpuEndpointStatus>(["url", "endpointID", "appName"])(
  "nothing is made before %s is known",
  async (field) => {
    const { outcome, requests } = await sync(absent, { status: { [field]: undefined } });
    expect([outcome, requests]).toEqual([{ exported: { secret: "out" } }, []]);
  },
);

it("of an adopted endpoint, the app name is the remote's", async () => {
  const { writes } = await sync(absent, { spec: { adoption: { endpointID: "ep-1", mode: "Match" } } });
  expect(writes[0]?.body).toMatchObject({ data: data({ appName: "theirs" }) });
});

it("without permission it says which, and asks again", async () => {
  const { outcome } = await sync(() => failure(403, "Forbidden", "secrets is forbidden"));
  expect(outcome).toMatchObject({
    exported: { secret: "out" },
    stalled: {
      reason: "ExportForbidden",
      message:
        "exportTo.secret: the operator may not write Secret team/out: add team to rbac.exportNamespaces.secrets in the values of the operator's chart, or grant the operator get, create, patch and delete on secrets in namespace team, or remove exportTo.secret",
    },
    requeueAfterMs: expect.any(Number),
  });
});

it("in a namespace that is being deleted it is quiet", async () => {
  const message = "unable to create new content in namespace team because it is being terminated";
  const { outcome } = await sync(({ method }) =>
    method === "GET" ? failure(404, "NotFound") : failure(403, "Forbidden", message),
  );
  expect(outcome).toEqual({ exported: { secret: "out" } });
});

it("what fails otherwise is given back, to be thrown after the status is written", async () => {
  const { outcome } = await sync(() => failure(500, "InternalError"));
  expect(outcome).toMatchObject({ exported: { secret: "out" }, error: expect.any(Error) });
});

const owned = { ownerReferences: [{ uid: "aaaaaaaa-0000-0000-0000-000000000001" }] };
const equal = data({ url: "https://ep-1.example.com", endpointID: "ep-1", appName: "echo-1" });

it.each<[string, object, object | undefined]>([
  ["equal", { metadata: { ...OWNED, ...owned }, data: { ...equal, other: "eA==" } }, undefined],
  [
    "another url",
    { metadata: { ...OWNED, ...owned }, data: { ...equal, url: "eA==" } },
    { metadata: { resourceVersion: "5" }, data: { url: equal["url"] } },
  ],
  ["immutable with another url", { metadata: { ...OWNED, ...owned }, data: {}, immutable: true }, undefined],
  ["not owned", { metadata: OWNED, data: {} }, undefined],
])("of one that is %s, only what differs is written", async (_what, present, patch) => {
  const { outcome, writes } = await sync(({ method }) => ({ status: 200, body: method === "GET" ? present : {} }));
  expect(writes.map(({ body }) => body)).toEqual(patch === undefined ? [] : [patch]);
  const conflict = !("ownerReferences" in (present as { metadata: object }).metadata) || "immutable" in present;
  expect(outcome.stalled?.reason).toBe(conflict ? "ExportConflict" : undefined);
});

it("one that is named no more is deleted as it was seen, or let be when it is not ours", async () => {
  const gone = { spec: { exportTo: null } };
  const mine = await sync(() => ({ status: 200, body: { metadata: { ...OWNED, ...owned } } }), gone);
  expect(mine.writes.map(({ method, body }) => [method, body])).toEqual([
    ["DELETE", { preconditions: { uid: "u", resourceVersion: "5" } }],
  ]);
  const theirs = await sync(() => ({ status: 200, body: { metadata: OWNED } }), gone);
  expect(theirs.writes).toEqual([]);
  for (const { outcome } of [mine, theirs]) expect(outcome).toEqual({ exported: {} });
});
