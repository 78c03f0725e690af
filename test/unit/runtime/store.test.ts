import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type KubeObject, keyOf, splitKey } from "../../../src/kube/types.ts";
import { type Change, createStore, isOfStatusAlone } from "../../../src/runtime/store.ts";

type Thing = KubeObject<{ color: string }>;

const thing = (name: string, version: number, color = "red", uid = `uid-${name}`): Thing => ({
  metadata: { name, namespace: "team", uid, resourceVersion: String(version) },
  spec: { color },
});
const colors = { color: (object: Thing) => [object.spec.color] };
const names = (objects: Iterable<Thing>) => [...objects].map(({ metadata }) => metadata.name).sort();
const typeOf = (change: Change<Thing> | undefined) => change?.type;

describe("keys", () => {
  it.each([
    { key: "team/a", namespace: "team", name: "a" },
    { key: "a", namespace: undefined, name: "a" },
  ])("$key", ({ key, namespace, name }) => {
    expect(splitKey(key)).toEqual({ namespace, name });
    expect(keyOf({ metadata: { name, ...(namespace === undefined ? {} : { namespace }) } })).toBe(key);
  });
});

describe("the events of a watch", () => {
  it("are passed on as added, modified and deleted", () => {
    const store = createStore<Thing>();
    const [first, second] = [thing("a", 1), thing("a", 2, "blue")];
    expect(store.upsert(first, true)).toEqual({ type: "Added", object: first, initial: true });
    expect(store.upsert(second)).toEqual({ type: "Modified", object: second, previous: first });
    expect(store.get("team/a")).toBe(second);
    const last = thing("a", 3, "green");
    expect(store.remove(last)).toEqual({ type: "Deleted", object: last });
    expect([store.get("team/a"), store.size()]).toEqual([undefined, 0]);
  });

  it.each([
    ["the same version", 5],
    ["an older one", 4],
  ])("is dropped when the store has it already: %s", (_name, version) => {
    const store = createStore<Thing>();
    store.upsert(thing("a", 5));
    expect(store.upsert(thing("a", version, "old"))).toBeUndefined();
    expect(store.get("team/a")?.spec.color).toBe("red");
  });

  it("compares versions as numbers, also beyond what a double holds", () => {
    const store = createStore<Thing>();
    store.upsert(thing("a", 9));
    expect(typeOf(store.upsert(thing("a", 10)))).toBe("Modified");
    const big = (version: string): Thing => ({
      ...thing("b", 0),
      metadata: { ...thing("b", 0).metadata, resourceVersion: version },
    });
    store.upsert(big("9007199254740993"));
    expect(store.upsert(big("9007199254740992"))).toBeUndefined();
  });

  it("is another object if the UID differs, regardless of the versions", () => {
    const store = createStore<Thing>();
    store.upsert(thing("a", 5));
    expect(typeOf(store.upsert(thing("a", 2, "blue", "uid-other")))).toBe("Modified");
    expect(store.get("team/a")?.spec.color).toBe("blue");
  });

  it("does not delete a new object because its predecessor went", () => {
    const store = createStore<Thing>();
    store.upsert(thing("a", 5, "red", "uid-new"));
    expect(store.remove(thing("a", 6, "red", "uid-old"))).toBeUndefined();
    expect(store.size()).toBe(1);
  });
});

describe("our own writes", () => {
  it("are read at once, and the watch's older word about them is dropped", () => {
    const store = createStore<Thing>();
    store.upsert(thing("a", 5));
    store.observeWrite(thing("a", 8, "ours"));
    expect(store.upsert(thing("a", 7, "stale"))).toBeUndefined();
    expect(store.upsert(thing("a", 8, "ours"))).toBeUndefined();
    expect(store.get("team/a")?.spec.color).toBe("ours");
  });

  it.each([
    { name: "do not bring a deleted object back", present: undefined, answer: thing("a", 8) },
    { name: "do not replace a newer one", present: thing("a", 9, "newer"), answer: thing("a", 8) },
    {
      name: "do not replace another object of the name",
      present: thing("a", 5, "newer", "uid-other"),
      answer: thing("a", 8),
    },
  ])("$name", ({ present, answer }) => {
    const store = createStore<Thing>();
    if (present !== undefined) store.upsert(present);
    store.observeWrite(answer);
    expect(store.get("team/a")).toBe(present);
  });
});

describe("a spec", () => {
  it.each([
    { name: "stays the same value while it is unchanged", color: "red", same: true },
    { name: "is replaced by a changed one", color: "blue", same: false },
    { name: "is not kept from another object of the name", color: "blue", uid: "uid-other", same: false },
  ])("$name", ({ color, uid, same }) => {
    const store = createStore<Thing>();
    store.upsert(thing("a", 1));
    const first = store.get("team/a")?.spec;
    store.upsert(thing("a", 2, color, uid));
    expect(store.get("team/a")?.spec === first).toBe(same);
    expect(store.get("team/a")?.spec).toEqual({ color });
    store.observeWrite(thing("a", 3, color, uid));
    expect(store.get("team/a")?.spec === first).toBe(same);
  });
});

describe("a change of the status alone", () => {
  const stored = (): Thing => ({ ...thing("a", 1), status: { count: 1 } });
  const later = { ...stored().metadata, resourceVersion: "2" };
  it.each([
    { name: "is one", next: { ...stored(), metadata: later, status: { count: 2 } }, expected: true },
    { name: "has no other spec", next: { ...stored(), metadata: later, spec: { color: "blue" } }, expected: false },
    {
      name: "has no other metadata",
      next: { ...stored(), metadata: { ...later, finalizers: ["mooring.dev/finalizer"] } },
      expected: false,
    },
    { name: "is of the same object", next: { ...stored(), metadata: { ...later, uid: "uid-other" } }, expected: false },
  ])("$name", ({ next, expected }) => {
    const store = createStore<Thing>();
    store.upsert(stored());
    const change = store.upsert(next);
    expect(change && isOfStatusAlone(change)).toBe(expected);
  });
});

describe("a list", () => {
  it("deletes objects that it lacks, and reports them", () => {
    const store = createStore<Thing>(colors);
    for (const name of ["a", "b", "c"]) store.upsert(thing(name, 1));
    const gone = store.removeAbsent(new Set(["team/b", "team/new"]));
    expect(gone.map(({ type, object }) => [type, object.metadata.name])).toEqual([
      ["Deleted", "a"],
      ["Deleted", "c"],
    ]);
    expect(names(store.list())).toEqual(["b"]);
    expect(names(store.byIndex("color", "red"))).toEqual(["b"]);
  });
});

describe("an index", () => {
  it("follows changes, our own writes and deletions", () => {
    const store = createStore<Thing>(colors);
    store.upsert(thing("a", 1));
    store.upsert(thing("b", 1));
    expect(names(store.byIndex("color", "red"))).toEqual(["a", "b"]);
    store.upsert(thing("a", 2, "blue"));
    store.observeWrite(thing("b", 2, "green"));
    expect(names(store.byIndex("color", "red"))).toEqual([]);
    expect(names(store.byIndex("color", "blue"))).toEqual(["a"]);
    store.remove(thing("b", 3, "red"));
    expect(names(store.byIndex("color", "green"))).toEqual([]);
    store.upsert(thing("b", 4, "red", "uid-again"));
    expect(names(store.byIndex("color", "green"))).toEqual([]);
    expect(names(store.byIndex("color", "red"))).toEqual(["b"]);
  });

  it.each(["no such value", "no such index"])("knows nothing of %s", (name) => {
    expect(createStore<Thing>(colors).byIndex(name, "red")).toEqual([]);
  });
});

type Step = { do: "event"; version: number } | { do: "write"; version: number } | { do: "list"; version: number };

/**
 * The truth is a history of versions. A watch tells them in order but late; writes and lists run ahead of it; a
 * reconnected watch tells some of them twice.
 */
it("ends at the newest version in any order of lists, events and own writes", () => {
  const history = fc.array(fc.record({ name: fc.constantFrom("a", "b", "c"), gone: fc.boolean() }), {
    minLength: 1,
    maxLength: 30,
  });
  const jumps = fc.array(fc.record({ do: fc.constantFrom("write" as const, "list" as const), at: fc.nat(30) }));
  fc.assert(
    fc.property(history, jumps, fc.array(fc.nat(30)), (changes, ahead, repeats) => {
      const world = new Map<string, Thing>();
      const snapshots = changes.map(({ name, gone }, i) => {
        const known = world.get(name);
        const next = thing(name, i + 1, `v${i + 1}`, known?.metadata.uid ?? `uid-${name}-${i}`);
        if (gone && known !== undefined) world.delete(name);
        else world.set(name, next);
        return { event: next, deleted: gone && known !== undefined, state: new Map(world) };
      });
      const steps: Step[] = snapshots.map((_, version) => ({ do: "event", version }));
      for (const { do: kind, at } of ahead) {
        const place = at % (steps.length + 1);
        const seen = steps.slice(0, place).filter((step) => step.do === "event").length;
        steps.splice(place, 0, { do: kind, version: Math.max(0, Math.min(snapshots.length - 1, seen)) });
      }
      const store = createStore<Thing>(colors);
      const tell = (version: number) => {
        const snapshot = snapshots[version];
        if (snapshot === undefined) return;
        if (snapshot.deleted) store.remove(snapshot.event);
        else store.upsert(snapshot.event);
      };
      for (const step of steps) {
        const snapshot = snapshots[step.version];
        if (snapshot === undefined) continue;
        if (step.do === "write" && !snapshot.deleted) store.observeWrite(snapshot.event);
        if (step.do === "event") tell(step.version);
        if (step.do === "list") relist(store, snapshot.state);
      }
      for (const repeat of [...repeats].sort((a, b) => a - b)) {
        const snapshot = snapshots[repeat];
        if (snapshot !== undefined && !snapshot.deleted && store.get(keyOf(snapshot.event)) !== undefined) tell(repeat);
      }
      relist(store, world);
      expect(new Map([...store.list()].map((object) => [object.metadata.name, object]))).toEqual(world);
      for (const { event } of snapshots) {
        const { color } = event.spec;
        const wanted = [...world.values()].filter((object) => object.spec.color === color);
        expect(names(store.byIndex("color", color))).toEqual(names(wanted));
      }
    }),
  );
});

function relist(store: ReturnType<typeof createStore<Thing>>, state: Map<string, Thing>): void {
  for (const object of state.values()) store.upsert(object);
  store.removeAbsent(new Set([...state.values()].map(keyOf)));
}
