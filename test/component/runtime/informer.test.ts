import { describe, expect, it, onTestFinished } from "vitest";
import type { Resource } from "../../../src/kube/resource.ts";
import type { KubeObject } from "../../../src/kube/types.ts";
import { createInformer, type Informer } from "../../../src/runtime/informer.ts";
import { createFakeClock, until } from "../../support/fake-clock.ts";
import { failure, type ScriptedApi, type Stream, scriptedApi, silentLog } from "../../support/scripted-api-server.ts";

const things: Resource = { group: "example.com", version: "v1", plural: "things", kind: "Thing", namespaced: true };

const thing = (namespace: string | undefined, name: string, version: number): KubeObject => ({
  metadata: {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    uid: `uid-${name}`,
    resourceVersion: String(version),
    managedFields: [{ manager: "kubectl" }],
    annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}", note: "kept" },
  },
  spec: {},
});

type World = {
  api: ScriptedApi;
  informer: Informer<KubeObject>;
  clock: ReturnType<typeof createFakeClock>;
  seen: string[];
  streams: Map<string, Stream>;
  start: () => Promise<void>;
};

/** `lists[path]` is what a list of that path shows now. */
async function world(
  resource: Resource,
  namespaces: string[],
  lists: Record<string, KubeObject[] | "silence">,
): Promise<World> {
  const clock = createFakeClock();
  const streams = new Map<string, Stream>();
  const seen: string[] = [];
  const api = await scriptedApi(({ path, query }) => {
    if (query.has("sendInitialEvents")) return failure(422, "Invalid", "sendInitialEvents is forbidden for watch");
    if (query.has("watch")) return { stream: (stream) => void streams.set(path, stream) };
    const items = lists[path];
    if (items === "silence") return "silence";
    return items === undefined ? failure(404, "NotFound") : { body: { metadata: { resourceVersion: "10" }, items } };
  });
  const informer = createInformer({
    client: api.client,
    resource,
    namespaces,
    clock,
    random: () => 0.5,
    log: silentLog,
  });
  informer.onChange((change) => {
    const initial = change.type === "Added" && change.initial ? " at first" : "";
    seen.push(`${change.type} ${change.object.metadata.name}${initial}`);
  });
  const stop = new AbortController();
  onTestFinished(async () => {
    stop.abort(new Error("stop"));
    await informer.stopped();
  });
  return { api, informer, clock, seen, streams, start: () => informer.start(stop.signal) };
}

const A = "/apis/example.com/v1/namespaces/a/things";
const B = "/apis/example.com/v1/namespaces/b/things";

describe("an informer", () => {
  it("of two namespaces lists only these two, and is synced when both are", async () => {
    const lists: Record<string, KubeObject[] | "silence"> = { [A]: [thing("a", "one", 1)], [B]: "silence" };
    const w = await world(things, ["a", "b"], lists);
    let started = false;
    void w.start().then(() => {
      started = true;
    });
    await until(() => w.streams.has(A));
    expect([started, w.informer.synced()]).toEqual([false, false]);
    expect([...new Set(w.api.requests.map(({ path }) => path))].sort()).toEqual([A, B]);
  });

  it("marks the first list as initial, and drops fields that no controller reads", async () => {
    const w = await world(things, ["a", "b"], { [A]: [thing("a", "one", 1)], [B]: [thing("b", "two", 2)] });
    await w.start();
    expect(w.informer.synced()).toBe(true);
    expect(w.seen.sort()).toEqual(["Added one at first", "Added two at first"]);
    expect(w.informer.store.get("a/one")?.metadata).toEqual({
      name: "one",
      namespace: "a",
      uid: "uid-one",
      resourceVersion: "1",
      annotations: { note: "kept" },
    });
    await until(() => w.streams.size === 2);
    w.streams.get(B)?.send({ type: "ADDED", object: thing("b", "three", 11) });
    await until(() => w.seen.includes("Added three"));
    expect(w.informer.store.get("b/three")?.metadata.managedFields).toBeUndefined();
  });

  it("reports objects that a new list lacks as deleted, in its own namespace only", async () => {
    const lists: Record<string, KubeObject[]> = {
      [A]: [thing("a", "one", 1), thing("a", "gone", 1)],
      [B]: [thing("b", "two", 2)],
    };
    const w = await world(things, ["a", "b"], lists);
    await w.start();
    await until(() => w.streams.size === 2);
    lists[A] = [thing("a", "one", 1), thing("a", "new", 12)];
    w.streams.get(A)?.send({ type: "ERROR", object: { kind: "Status", code: 410 } });
    await until(() => w.clock.timers() === 1);
    await w.clock.advance(800);
    await until(() => w.seen.includes("Deleted gone"));
    expect(w.seen.slice(3)).toEqual(["Added new", "Deleted gone"]);
    expect([...w.informer.store.list()].map(({ metadata }) => metadata.name).sort()).toEqual(["new", "one", "two"]);
  });

  it("watches every namespace when none is named", async () => {
    const w = await world(things, [], { "/apis/example.com/v1/things": [thing("a", "one", 1)] });
    await w.start();
    expect(w.informer.store.get("a/one")).toBeDefined();
  });

  it("ignores the namespaces for a kind that has none", async () => {
    const nodes: Resource = { ...things, plural: "nodes", namespaced: false };
    const w = await world(nodes, ["a"], { "/apis/example.com/v1/nodes": [thing(undefined, "one", 1)] });
    await w.start();
    expect(w.informer.store.get("one")).toBeDefined();
  });
});
