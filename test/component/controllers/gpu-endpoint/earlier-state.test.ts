import { expect, it } from "vitest";
import type { GpuEndpoint, GpuEndpointStatus } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { gpuEndpointResource } from "../../../../src/api/v1alpha1/kinds.ts";
import { ANNOTATIONS } from "../../../../src/api/v1alpha1/meta.ts";
import type { Kind } from "../../../../src/controllers/controller-deps.ts";
import { observeCurrentState } from "../../../../src/controllers/current-state.ts";
import { createEndpointMemories, createRecordOf } from "../../../../src/controllers/gpu-endpoint/memory.ts";
import type { ReadObject } from "../../../../src/runtime/object-reader.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { endpointOf } from "../../../support/endpoints.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import type { Change } from "../../../support/manifests.ts";
import { reconciledEndpoint } from "./world.ts";

const signal = new AbortController().signal;
const bound: GpuEndpointStatus = { conditions: [], endpointID: "ep-1" };

function at(resourceVersion: string, change: { uid?: string; status?: GpuEndpointStatus } = {}): GpuEndpoint {
  return endpointOf({}, { resourceVersion, ...change });
}

/** Each write leads to this object. */
function kindThatReturns(written: GpuEndpoint): Kind<GpuEndpoint> {
  const store = createStore<GpuEndpoint>();
  return { resource: gpuEndpointResource, store, patchStatus: async () => written, setFinalizer: async () => written };
}

const neverReads = (): Promise<never> => Promise.reject(new Error("reads the object"));

/** A process that has written and read nothing yet. */
function processWith(written: GpuEndpoint, read: () => Promise<ReadObject<GpuEndpoint>>) {
  const memories = createEndpointMemories({ clock: createFakeClock(), identity: "one" });
  const { kind, currentState } = observeCurrentState(kindThatReturns(written), read, memories.of);
  const assertion = (endpoint: GpuEndpoint) =>
    currentState.assertCurrent(endpoint, signal).then(
      () => undefined,
      ({ name }: Error) => name,
    );
  return { kind, memories, assertion };
}

const cases: { name: string; spec: Change; recorded: boolean }[] = [
  { name: "a generated app name, before the record", spec: {}, recorded: false },
  { name: "a chosen app name, before the record", spec: { appName: "mine" }, recorded: false },
  { name: "a generated app name, with the record", spec: {}, recorded: true },
  { name: "a chosen app name, with the record", spec: { appName: "mine" }, recorded: true },
];

it.each(cases)(
  "given a create of the previous server, when the list of the next one shows the object as it was before, no second create is sent: $name",
  async ({ spec, recorded }) => {
    const world = await reconciledEndpoint(spec, { simulator: { listDelayMs: 60_000 } });
    await world.reconcile();
    const { endpointID } = world.status();
    const creates = async () => (await world.bench.audit("?operation=createEndpoint")).length;
    expect([endpointID === undefined, await creates(), world.openCreate()]).toEqual([false, 1, undefined]);

    const catchUp = world.restartBehind(
      ({ metadata, status }) => (createRecordOf({ metadata }) !== undefined) === recorded && status === undefined,
    );
    expect([await world.reconcile(), await creates()]).toEqual(["Error", 1]);

    catchUp();
    await world.reconcileFor(60_000);
    expect([world.status().endpointID, await creates()]).toEqual([endpointID, 1]);
  },
);

const EARLIER = "registry.example.com/echo:1";
const LATER = "registry.example.com/echo:2";

/** An endpoint in sync with its spec, whose image the previous server changed. */
async function updated() {
  const world = await reconciledEndpoint({ image: EARLIER });
  await world.reconcileFor(10_000);
  world.edit({ image: LATER });
  await world.reconcileFor(10_000);
  const updates = async () => (await world.bench.audit("?operation=updateEndpoint")).length;
  expect([world.conditions().includes("Ready=True/Serving"), await updates()]).toEqual([true, 1]);
  return { world, updates };
}

it("given an update of the previous server, when the list of the next one shows the spec as it was before, no update reverts it", async () => {
  const { world, updates } = await updated();
  const catchUp = world.restartBehind(({ spec, status }) => spec.image === EARLIER && status !== undefined);
  expect([await world.reconcile(), await updates()]).toEqual([2_000, 1]);

  catchUp();
  await world.reconcileFor(60_000);
  expect(await updates()).toBe(1);
});

it.each([
  { policy: "ScaleToZero", operation: "updateEndpoint" },
  { policy: "Delete", operation: "deleteEndpoint" },
] as const)(
  "given a deletion policy that a user changed to Retain, when the list of the next server shows $policy, the endpoint stays as it is",
  async ({ policy, operation }) => {
    const world = await reconciledEndpoint({ deletionPolicy: policy });
    await world.reconcileFor(10_000);
    world.remove();
    world.annotate({ [ANNOTATIONS.deletionPolicy]: "Retain" });
    const catchUp = world.restartBehind(
      ({ metadata }) =>
        metadata.deletionTimestamp !== undefined && metadata.annotations?.[ANNOTATIONS.deletionPolicy] === undefined,
    );
    await world.reconcileFor(4_000);
    catchUp();
    await world.reconcileFor(10_000);
    expect(await world.bench.audit(`?operation=${operation}`)).toEqual([]);
  },
);

it("the first update after a takeover costs one read of the object. An object in sync, and a new one, cost none", async () => {
  const { world, updates } = await updated();
  expect(world.reads()).toBe(0);
  world.restart();
  await world.reconcileFor(60_000);
  expect(world.reads()).toBe(0);

  world.edit({ image: EARLIER });
  await world.reconcileFor(10_000);
  world.edit({ image: LATER });
  await world.reconcileFor(10_000);
  expect([world.reads(), await updates()]).toEqual([1, 3]);
});

it.each([
  { what: "an update", change: "Edit" },
  { what: "a deletion", change: "Remove" },
] as const)(
  "without the right get, $what waits for a write of the status, which names the right",
  async ({ change }) => {
    const { world, updates } = await updated();
    world.restart();
    world.forbidGet();
    if (change === "Edit") world.edit({ image: EARLIER });
    else world.remove();
    expect([await world.reconcile(), await updates()]).toEqual([2_000, 1]);
    const messages = world.status().conditions.map(({ message }) => message);
    expect(messages.join("\n")).toContain(
      "the operator has no right to get gpuendpoints.mooring.dev: grant it the verb get",
    );

    await world.reconcileFor(10_000);
    expect(await updates()).toBe(2);
  },
);

it.each<{ name: string; written: GpuEndpoint; stored: GpuEndpoint; proven: boolean }>([
  { name: "as it was written", written: at("8"), stored: at("8"), proven: true },
  { name: "newer than its write", written: at("8"), stored: at("9"), proven: true },
  { name: "older than its write", written: at("8"), stored: at("7"), proven: false },
  { name: "made anew", written: at("8"), stored: at("9", { uid: "another" }), proven: false },
  { name: "bound", written: at("8", { status: bound }), stored: at("8", { status: bound }), proven: true },
])(
  "a write by this process proves that an object is current: it is $name, $proven",
  async ({ written, stored, proven }) => {
    const { kind, memories, assertion } = processWith(written, neverReads);
    expect(await assertion(stored)).toBe("Error");
    await kind.setFinalizer(at("7"), true, signal);
    expect(await assertion(stored)).toBe(proven ? undefined : "Error");
    memories.forget(memories.of(stored));
    expect(await assertion(stored)).toBe("Error");
  },
);

it("a write that was not needed does not count", async () => {
  const endpoint = at("8");
  const { kind, assertion } = processWith(endpoint, neverReads);
  await kind.patchStatus(endpoint, endpoint.status, signal);
  expect(await assertion(endpoint)).toBe("Error");
});

it.each<{ name: string; read: ReadObject<GpuEndpoint>; error: string | undefined }>([
  { name: "the same", read: { kind: "Found", object: at("7") }, error: undefined },
  { name: "newer", read: { kind: "Found", object: at("8") }, error: "OutdatedObjectError" },
  { name: "made anew", read: { kind: "Found", object: at("7", { uid: "another" }) }, error: "OutdatedObjectError" },
  { name: "gone", read: { kind: "NotFound" }, error: "OutdatedObjectError" },
  { name: "not to be read", read: { kind: "Forbidden" }, error: "UnprovenObjectError" },
])("a read that shows that the object is $name ends with $error", async ({ read, error }) => {
  let reads = 0;
  const { assertion } = processWith(at("7"), async () => {
    reads += 1;
    return read;
  });
  expect([await assertion(at("7")), reads]).toEqual([error, 1]);
  expect(await assertion(at("7"))).toBe(error);
  expect(reads).toBe(error === undefined ? 1 : 2);
});
