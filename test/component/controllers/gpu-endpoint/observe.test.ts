import { afterEach, describe, expect, it } from "vitest";
import type { AccountHandle } from "../../../../src/controllers/account/registry.ts";
import { observeBinding } from "../../../../src/controllers/gpu-endpoint/observe.ts";
import { createOf, endpointOf } from "../../../support/endpoints.ts";
import { hastyClock } from "../../../support/fake-clock.ts";
import type { Change } from "../../../support/manifests.ts";
import { accountAt, sessionAt } from "../../../support/service-account.ts";
import { KEY } from "../../provider/http/make-client.ts";
import { type Bench, endpointBody, startBench } from "../../simulator/start.ts";

const signal = new AbortController().signal;
const network: object = {
  volumeMounts: [{ type: "network", id: "net-1", mountPath: "/models" }],
  clusterID: "cluster-1",
};
const volumes = [{ type: "network", id: "net-1", mountPath: "/models" }];

let bench: Bench;
afterEach(() => bench.close());

async function remote(parameters: object = {}) {
  bench = await startBench({ bootDelayMs: 0 });
  const { id } = await bench.client.createEndpoint({ ...endpointBody(), ...parameters });
  await bench.ask("/__audit").then(() => fetch(`${bench.url}/__audit`, { method: "DELETE" }));
  return id;
}

function account(generation: "Current" | "Earlier"): AccountHandle {
  const session = sessionAt(bench.url, { apiKey: KEY, generation, clock: hastyClock });
  session.start();
  return accountAt(bench.url, session);
}

const operations = async () => (await bench.audit()).map(({ operation }) => operation);

async function observed(
  handle: AccountHandle,
  change: Change,
  status: object = {},
  { sent = false, fresh = false } = {},
) {
  return observeBinding({
    endpoint: endpointOf(change, { generation: 2, status: { conditions: [], ...status } }),
    account: handle,
    entry: sent ? createOf({ time: new Date().toISOString() }) : undefined,
    unknownForMs: 0,
    ...(fresh ? { fresh } : {}),
    appName: "chat-1",
    now: Date.now(),
    signal,
  });
}

describe.each(["Current", "Earlier"] as const)("what an object is bound to, generation %s", (generation) => {
  const list = generation === "Current" ? "listEndpoints" : "listEndpointsEarlier";
  // In the earlier generation, the second page shows that the first one was the last.
  const earlierList = ["listEndpointsEarlier", "listEndpointsEarlier"];
  const get = generation === "Current" ? "getEndpoint" : "getEndpointEarlier";

  it("a bound one is read alone after a change of the spec", async () => {
    const endpointID = await remote();
    const binding = await observed(account(generation), {}, { endpointID, appliedGeneration: 1 });
    expect(binding).toMatchObject({
      kind: "Bound",
      endpointID,
      record: { appName: "chat-1", scaling: { min: 1, idleTimeout: 60 }, ports: [8080] },
    });
    expect(await operations()).toEqual([get]);
  });

  it("a settled one costs no call: the sweep has it", async () => {
    const endpointID = await remote();
    const handle = account(generation);
    await handle.endpoints.observed.first(signal);
    const binding = await observed(handle, {}, { endpointID, appliedGeneration: 2 });
    expect(binding).toMatchObject({ kind: "Bound", record: { image: "registry.example.com/chat:1" } });
    expect(await operations()).toEqual(generation === "Current" ? [list] : earlierList);
  });

  it("one to adopt is read by its id", async () => {
    const endpointID = await remote();
    const binding = await observed(account(generation), { adoption: { endpointID, mode: "Match" } });
    expect(binding).toMatchObject({ kind: "Unbound", adopt: { id: endpointID } });
    expect(await operations()).toEqual([get]);
  });

  it("one to adopt that does not exist is NotFound", async () => {
    await remote();
    const binding = await observed(account(generation), { adoption: { endpointID: "nowhere", mode: "Match" } });
    expect(binding).toEqual({ kind: "Unbound", candidate: undefined, adopt: "NotFound" });
  });

  it("a create without an answer is looked for by app name", async () => {
    const endpointID = await remote();
    const binding = await observed(account(generation), {}, {}, { sent: true });
    expect(binding).toMatchObject({ kind: "CreateUnknown", candidate: { id: endpointID } });
    expect(new Set(await operations())).toEqual(new Set([list]));
  });

  it("a create without an answer that never happened has no candidate", async () => {
    await remote({ appName: "chat-2" });
    expect(await observed(account(generation), {}, {}, { sent: true })).toMatchObject({
      kind: "CreateUnknown",
      candidate: undefined,
    });
  });

  it("a chosen app name is looked for anew, because somebody may have taken it a moment ago", async () => {
    await remote({ appName: "chat-2" });
    const handle = account(generation);
    await handle.endpoints.observed.first(signal);
    const { id } = await bench.client.createEndpoint(endpointBody());
    expect(await observed(handle, { appName: "chat-1" })).toMatchObject({ kind: "Unbound", candidate: { id } });
  });

  it("the cluster of a network storage is known, whichever generation shows it", async () => {
    const endpointID = await remote(network);
    const change = { volumes, clusterID: "cluster-1" };
    const changed = await observed(account(generation), change, { endpointID, appliedGeneration: 1 });
    expect(changed).toMatchObject({ record: { details: { clusterID: "cluster-1" } } });
    expect(await operations()).toEqual(generation === "Current" ? [get, "getEndpointEarlier"] : [get]);
  });

  it("the cluster of a network storage is read again for a fresh look", async () => {
    const endpointID = await remote(network);
    const change = { volumes, clusterID: "cluster-1" };
    const looked = await observed(account(generation), change, { endpointID, appliedGeneration: 2 }, { fresh: true });
    expect(looked).toMatchObject({ fresh: true, record: { details: { clusterID: "cluster-1" } } });
    expect(await operations()).toEqual(generation === "Current" ? [get, "getEndpointEarlier"] : [get]);
  });

  it("the cluster of a network storage is known of a settled one without a call for it alone", async () => {
    const endpointID = await remote(network);
    const handle = account(generation);
    await handle.endpoints.observed.first(signal);
    for (let i = 0; i < 3; i++) {
      const binding = await observed(handle, { volumes, clusterID: "cluster-1" }, { endpointID, appliedGeneration: 2 });
      expect(binding).toMatchObject({ record: { details: { clusterID: "cluster-1" } } });
    }
    expect(await operations()).toEqual(generation === "Current" ? [list, ...earlierList] : earlierList);
  });

  it("the size of a local volume is known, though a single read of the current generation leaves it out", async () => {
    const endpointID = await remote({ volumeMounts: [{ type: "local", size: 30, mountPath: "/scratch" }] });
    const change = { volumes: [{ type: "local", mountPath: "/scratch" }] };
    const binding = await observed(account(generation), change, { endpointID, appliedGeneration: 1 });
    expect(binding).toMatchObject({ record: { volumes: [{ type: "local", sizeGB: 30, mountPath: "/scratch" }] } });
  });
});

it("an account whose earlier list fails still shows what the current one shows", async () => {
  const endpointID = await remote(network);
  const handle = account("Current");
  await handle.endpoints.observed.first(signal);
  await bench.fault({ operation: "listEndpointsEarlier", kind: "status", status: 500, times: 5 });
  const change = { volumes, clusterID: "cluster-1" };
  const binding = await observed(handle, change, { endpointID, appliedGeneration: 2 });
  expect(binding).toMatchObject({ kind: "Bound", record: { id: endpointID, volumes: [{ id: "net-1" }] } });
});
