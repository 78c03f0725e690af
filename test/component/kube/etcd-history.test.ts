import { describe, expect, it } from "vitest";
import { speechJobResource } from "../../../src/api/v1alpha1/kinds.ts";
import { createEtcdHistory } from "../../../src/kube/etcd-history.ts";
import { configMapResource, type Resource } from "../../../src/kube/resource.ts";
import type { KubeObject } from "../../../src/kube/types.ts";
import { leaseResource } from "../../../src/runtime/lease.ts";
import { START } from "../../support/fake-clock.ts";
import { scriptedApi } from "../../support/scripted-api-server.ts";

const LEDGER = { namespace: "mooring", name: "mooring-ledger" };
const LEASE = { namespace: "mooring", name: "mooring-operator" };
const JOB = { namespace: "team-a", name: "intro" };

/** A client whose next answer has a version that the test gives. Seconds pass between two requests as the test says. */
async function world() {
  let now = START;
  const restored: string[] = [];
  const next = { version: "1", uid: "uid-1" };
  /** Of an earlier process. */
  const leases = [
    { metadata: { name: "pod-1", resourceVersion: "50" }, spec: { renewTime: new Date(now).toISOString() } },
  ];
  const object = (): KubeObject => ({
    metadata: { name: "", uid: next.uid, resourceVersion: next.version },
    spec: { renewTime: new Date(now).toISOString() },
  });
  const api = await scriptedApi(({ path, method }) => {
    const isList = method === "GET" && /(jobs|leases)$/.test(path);
    if (isList)
      return { body: { metadata: { resourceVersion: next.version }, items: path.endsWith("leases") ? leases : [] } };
    const answer = object();
    return { body: { ...answer, metadata: { ...answer.metadata, name: path.split("/").at(-1) } } };
  });
  const history = createEtcdHistory({
    client: api.client,
    namespace: "mooring",
    group: "mooring.dev",
    clock: { now: () => now },
    onRestored: ({ message }) => restored.push(message),
  });
  const { client } = history;
  const at =
    <A extends readonly unknown[]>(ask: (...args: A) => Promise<unknown>) =>
    async (version: number | string, ...args: A) => {
      next.version = String(version);
      await ask(...args);
    };
  return {
    restored,
    next,
    look: () => history.look(new AbortController().signal),
    pass: (seconds: number) => {
      now += seconds * 1_000;
    },
    get: at((resource: Resource, place: { namespace: string; name: string }) => client.get(resource, place)),
    list: at(() => client.list(speechJobResource, {})),
    listLeases: at((namespace: string) => client.list(leaseResource, { namespace })),
    patch: at((from: string) => client.mergePatch(speechJobResource, JOB, { metadata: { resourceVersion: from } })),
    renew: at(() => client.update(leaseResource, LEASE, { metadata: { ...LEASE, resourceVersion: "1" }, spec: {} })),
    writeLedger: at(() => client.update(configMapResource, LEDGER, { metadata: { ...LEDGER }, spec: {} })),
  };
}

describe("a restored etcd shows", () => {
  it.each([
    { what: "in the Lease", resource: leaseResource, place: LEASE },
    { what: "in a ConfigMap of the operator", resource: configMapResource, place: LEDGER },
  ])("$what, when it has the same UID and an earlier version", async ({ resource, place }) => {
    const w = await world();
    await w.get(20, resource, place);
    await w.get(20, resource, place);
    expect(w.restored).toEqual([]);
    await w.get(19, resource, place);
    expect(w.restored).toEqual([`${resource.kind} mooring/${place.name} has version 19, earlier than 20, seen before`]);
  });

  it("in a look at what was written, also when etcd counts on from a later version", async () => {
    const w = await world();
    await w.writeLedger(20);
    w.next.version = "12";
    await w.look();
    expect(w.restored).toHaveLength(1);
  });

  it("in a write that has an earlier version than a list before", async () => {
    const w = await world();
    await w.list(50);
    await w.patch(30, "28");
    expect(w.restored).toEqual(["SpeechJob team-a/intro has version 30, earlier than 50, seen before"]);
  });

  it.each([
    { what: "a list", ask: "list" as const },
    { what: "a renewal of the Lease", ask: "renew" as const },
  ])("in $what whose version is more than 10^8 later (--bump-revision)", async ({ ask }) => {
    const w = await world();
    await w[ask](50);
    await w[ask](100_000_050);
    expect(w.restored).toEqual([]);
    await w[ask](200_000_051);
    expect(w.restored).toHaveLength(1);
  });
});

it("a restored etcd shows in the Lease of an earlier process, whose version is more than 10^8 before that of its list", async () => {
  const w = await world();
  await w.listLeases(100_000_050, "mooring");
  await w.listLeases(200_000_000, "other");
  expect(w.restored).toEqual([]);
  w.pass(10);
  await w.listLeases(100_010_050, "mooring");
  expect(w.restored).toEqual([]);
  await w.listLeases(100_010_051, "mooring");
  expect(w.restored).toEqual(["the list of leases has version 100010051, much later than 50, seen before"]);
});

describe("no restore is", () => {
  it("an older list: an API server can lag behind the others", async () => {
    const w = await world();
    await w.patch(50, "40");
    await w.list(30);
    await w.list(50);
    expect(w.restored).toEqual([]);
  });

  it("a write that changes nothing", async () => {
    const w = await world();
    await w.list(50);
    await w.patch(30, "30");
    expect(w.restored).toEqual([]);
  });

  it("a ConfigMap with another UID, or a version that is no number", async () => {
    const w = await world();
    await w.get(20, configMapResource, LEDGER);
    await w.get("abc", configMapResource, LEDGER);
    w.next.uid = "uid-2";
    await w.get(10, configMapResource, LEDGER);
    expect(w.restored).toEqual([]);
  });

  it("a late version after a long time in which nobody asked, nor one of a ConfigMap that is rarely written", async () => {
    const w = await world();
    await w.renew(50);
    await w.get(50, configMapResource, LEDGER);
    w.pass(30 * 24 * 3_600);
    await w.renew(2_000_000_000);
    await w.writeLedger(2_000_000_001);
    expect(w.restored).toEqual([]);
  });

  it("an object of a user in another namespace", async () => {
    const w = await world();
    const place = { namespace: "team-a", name: "settings" };
    await w.get(20, configMapResource, place);
    await w.get(10, configMapResource, place);
    expect(w.restored).toEqual([]);
  });
});
