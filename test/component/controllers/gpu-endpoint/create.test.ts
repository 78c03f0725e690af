import { describe, expect, it } from "vitest";
import type { GpuEndpoint } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { gpuEndpointResource } from "../../../../src/api/v1alpha1/kinds.ts";
import { ANNOTATIONS, FINALIZER } from "../../../../src/api/v1alpha1/meta.ts";
import { createKind } from "../../../../src/controllers/controller-deps.ts";
import { createEndpoint } from "../../../../src/controllers/gpu-endpoint/create.ts";
import { createEndpointMemories, createRecordOf } from "../../../../src/controllers/gpu-endpoint/memory.ts";
import type { Left } from "../../../../src/controllers/gpu-endpoint/step.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import type { FaultInput } from "../../../../src/simulator/faults.ts";
import { desiredOf, endpointOf } from "../../../support/endpoints.ts";
import type { Change } from "../../../support/manifests.ts";
import { failure, scriptedApi } from "../../../support/scripted-api-server.ts";
import { accountAt, type ServiceAnswer, scriptedService } from "../../../support/service-account.ts";
import { sharedOf } from "../../../support/shared.ts";
import { type ReconciledEndpoint, reconciledEndpoint } from "./world.ts";

const context = { signal: new AbortController().signal };

type Setting = {
  spec?: Change;
  answer?: ServiceAnswer;
  /** Runs while the record is written. */
  onRecord?: (during: { remove(): void; rotateKey(): void }) => void;
};

/** An endpoint whose create is about to be sent. */
async function setUp({ spec = {}, answer = { body: { id: "ep-1" } }, onRecord = () => {} }: Setting = {}) {
  const endpoint = endpointOf(spec);
  const store = createStore<GpuEndpoint>();
  store.upsert(endpoint);
  const api = await scriptedApi(({ method, body }) => {
    if (method !== "PATCH") return failure(405, "MethodNotAllowed");
    onRecord({ remove: () => store.remove(endpoint), rotateKey });
    const { metadata } = body as { metadata: object };
    return { body: { ...endpoint, metadata: { ...endpoint.metadata, ...metadata, resourceVersion: "8" } } };
  });
  const service = await scriptedService(() => answer);
  const shared = sharedOf(api.client, gpuEndpointResource);
  let keyVersion = "first";
  const account = accountAt(service.url, { keyVersion: () => keyVersion });
  const rotateKey = () => {
    keyVersion = "second";
  };
  const memories = createEndpointMemories(shared);
  const left: Pick<Left, "endpoint" | "written"> = { endpoint, written: {} };
  const kind = createKind(api.client, { resource: gpuEndpointResource, store });
  const input = { shared, account, kind, endpoint, entry: undefined, memories, left, context };
  const create = () => createEndpoint(input, desiredOf(endpoint));
  return { create, api, service, memories, left };
}

it("one write has the record and the finalizer, and the create stays open until a status shows its endpoint", async () => {
  const { create, api, memories, left } = await setUp();
  expect(await create()).toBe("ep-1");
  expect(api.requests).toMatchObject([{ method: "PATCH", body: { metadata: { finalizers: [FINALIZER] } } }]);
  const record = createRecordOf(left.endpoint);
  expect(record).toMatchObject({ attempt: 1, operation: "createEndpoint", sender: "one" });
  expect(memories.peek(left.endpoint)).toEqual({ ...record, outcome: { endpointID: "ep-1" } });
  expect(left.written.submission).toMatchObject({ id: record?.id, attempt: 1, state: "Accepted" });
});

it.each([{ deletionPolicy: "Retain" }, { managementPolicy: "Observe" }])(
  "with %o, the write has the record alone",
  async (spec) => {
    const { create, api, left } = await setUp({ spec });
    await create();
    expect(api.requests.map(({ body }) => Object.keys((body as { metadata: object }).metadata))).toEqual([
      ["resourceVersion", "annotations"],
    ]);
    expect(Object.keys(left.endpoint.metadata.annotations ?? {})).toEqual([ANNOTATIONS.create]);
  },
);

it.each<Setting & { name: string; error: string }>([
  {
    name: "an endpoint that is deleted",
    onRecord: ({ remove }) => remove(),
    error: "GpuEndpoint team/echo was deleted before its request was sent",
  },
  {
    name: "an endpoint whose account gets another API key",
    onRecord: ({ rotateKey }) => rotateKey(),
    error: "the API key changed before the request was sent: nothing is sent",
  },
])("$name while the record is written is not created, and the status shows it", async ({ error, ...setting }) => {
  const { create, service, memories, left } = await setUp(setting);
  await expect(create()).rejects.toThrow(error);
  expect([service.requests, memories.peek(left.endpoint)]).toEqual([[], undefined]);
  expect(left.written.submission).toMatchObject({ id: createRecordOf(left.endpoint)?.id, state: "NotSent" });
});

it("a create that the service refuses is not open, and the status shows it", async () => {
  const answer = { status: 400, body: { code: 400, reason: "INVALID_PARAMETER", message: "no such image" } };
  const { create, memories, left } = await setUp({ answer });
  await expect(create()).rejects.toThrow("no such image");
  expect(memories.peek(left.endpoint)).toBeUndefined();
  expect(left.written.submission).toMatchObject({ state: "Refused" });
});

it("a create whose response is lost stays open, and no status shows an outcome", async () => {
  const { create, memories, left } = await setUp({ answer: "cut" });
  await expect(create()).rejects.toThrow();
  expect(memories.peek(left.endpoint)).toEqual(createRecordOf(left.endpoint));
  expect(left.written).toEqual({});
});

describe("what the object shows", () => {
  const state = (world: ReconciledEndpoint) => world.status().submission?.state;

  it("two writes of the API server create an endpoint: the record, and the status", async () => {
    const world = await reconciledEndpoint();
    await world.reconcile();
    expect([state(world), world.writes()]).toEqual(["Accepted", 2]);
  });

  it("a refused create is shown", async () => {
    const world = await reconciledEndpoint();
    const body = { code: 400, reason: "INVALID_PARAMETER", message: "no such image" };
    await world.bench.fault({ operation: "createEndpoint", kind: "status", status: 400, body });
    await world.reconcile();
    expect([state(world), world.openCreate()]).toEqual(["Refused", undefined]);
  });

  it("a create that was not sent is shown by the next reconcile", async () => {
    const world = await reconciledEndpoint();
    world.restoreEtcd({ passes: 2 });
    await world.reconcile();
    expect(world.openCreate()).toMatchObject({ attempt: 1 });
    await world.reconcile();
    expect([state(world), world.openCreate()]).toEqual(["NotSent", undefined]);
  });
});

describe("the budget that a create reserves", () => {
  const body = { code: 400, reason: "INVALID_PARAMETER", message: "no such image" };
  it.each<[string, FaultInput, number]>([
    ["is free again when the service refuses the create", { kind: "status", status: 400, body }, 0],
    ["stays reserved when the response is lost: it may be paid for", { kind: "resetAfter" }, 1],
  ])("%s", async (_, fault, reserved) => {
    const world = await reconciledEndpoint();
    await world.bench.fault({ ...fault, operation: "createEndpoint" });
    await world.reconcile();
    expect(world.reserved()).toBe(reserved);
  });

  it("is none for a suspended endpoint, which has no workers", async () => {
    const world = await reconciledEndpoint({ suspend: true });
    await world.bench.fault({ kind: "resetAfter", operation: "createEndpoint" });
    await world.reconcile();
    expect([(await world.bench.audit("?operation=createEndpoint")).length, world.reserved()]).toEqual([1, 0]);
  });
});
