import { describe, expect, it, onTestFinished } from "vitest";
import { journalNameOf, leaseNameOf, type Shard } from "../../../src/operator/shard.ts";
import { divisionAnnotation } from "../../../src/operator/shard-leases.ts";
import { createSharding } from "../../../src/operator/sharding.ts";
import type { JournalEntry } from "../../../src/submission/journal.ts";
import { journalNames } from "../../../src/submission/journal-shards.ts";
import { createFakeClock, type FakeClock, until } from "../../support/fake-clock.ts";
import { intent } from "../../support/journal.ts";
import { createObjectStore, type ObjectStore } from "../../support/object-store.ts";
import { type ScriptedApi, scriptedApi, silentLog } from "../../support/scripted-api-server.ts";

const signal = new AbortController().signal;
const leasePath = (index: number) => `/apis/coordination.k8s.io/v1/namespaces/mooring/leases/${leaseNameOf(index)}`;
const journalPath = (index: number) => `/api/v1/namespaces/mooring/configmaps/${journalNameOf(index)}`;

type World = { store: ObjectStore; api: ScriptedApi; clock: FakeClock };

async function world(): Promise<World> {
  const store = createObjectStore();
  return { store, api: await scriptedApi(store.script), clock: createFakeClock() };
}

function sharding({ api, clock }: World, shard: Shard, leaderElect = true) {
  const made = createSharding({
    client: api.client,
    namespace: "mooring",
    shard,
    leaderElect,
    identity: `${shard.index}/${shard.count}`,
    clock,
    random: () => 0.5,
    log: silentLog,
    onLeading: () => {},
  });
  onTestFinished(() => made.elector?.release());
  return made;
}

/** As a process starts: its lease, then its journal. */
function starting(w: World, shard: Shard): { entries: JournalEntry[] | undefined; stop(): Promise<void> } {
  const { elector, journal } = sharding(w, shard);
  const started: { entries: JournalEntry[] | undefined; stop(): Promise<void> } = {
    entries: undefined,
    stop: async () => elector?.release(),
  };
  void (async () => {
    await elector?.acquire(signal);
    started.entries = await journal.open(signal);
  })();
  return started;
}

const run = (w: World, probe: () => boolean) => until(probe, { clock: w.clock, stepMs: 100 });

function putJournal({ store }: World, index: number, entries: readonly JournalEntry[]): void {
  const metadata = { name: journalNameOf(index), namespace: "mooring" };
  store.put(journalPath(index), { metadata, spec: undefined, data: { epoch: "1", intents: JSON.stringify(entries) } });
}

describe("an intent that the status shows in the journal of another number of shards", () => {
  it("is known to the journal of its account, and is committed there", async () => {
    const w = await world();
    const single = sharding(w, { index: 0, count: 1 });
    await single.elector?.acquire(signal);
    await single.journal.open(signal);
    const shown = single.journal.id("uid");
    await single.elector?.release();
    const [first, second] = [starting(w, { index: 0, count: 2 }), sharding(w, { index: 1, count: 2 })];
    await run(w, () => first.entries !== undefined);
    await second.elector?.acquire(signal);
    await second.journal.open(signal);
    expect(second.journal.covers("uid", shown)).toBe(true);
    expect(second.journal.covers("uid", "another")).toBe(false);
    const committed = { ...intent("a"), uid: "uid" };
    let isCommitted = false;
    void second.journal.commit(committed, signal, shown).then(() => {
      isCommitted = true;
    });
    await run(w, () => isCommitted);
    expect(second.journal.find("uid")).toMatchObject({ id: "a" });
  });
});

describe("the journals, when the number of shards changes", () => {
  it("are divided by shard 0, and the other shards wait for it", async () => {
    const w = await world();
    putJournal(w, 0, [intent("a"), intent("b")]);
    const second = starting(w, { index: 1, count: 2 });
    await run(w, () => w.store.objects.has(leasePath(1)));
    await w.clock.advance(10_000);
    expect(second.entries).toBeUndefined();
    const first = starting(w, { index: 0, count: 2 });
    await run(w, () => first.entries !== undefined && second.entries !== undefined);
    expect([...(first.entries ?? []), ...(second.entries ?? [])].map(({ id }) => id).sort()).toEqual(["a", "b"]);
  });

  it("are not divided again by a process that starts with the same number", async () => {
    const w = await world();
    const first = starting(w, { index: 0, count: 2 });
    await run(w, () => first.entries !== undefined);
    await first.stop();
    const epoch = () => w.store.objects.get(journalPath(1))?.data?.["epoch"];
    const before = epoch();
    const again = starting(w, { index: 0, count: 2 });
    await run(w, () => again.entries !== undefined);
    expect(epoch()).toBe(before);
  });

  it("are divided again when the lease that showed the division was deleted", async () => {
    const w = await world();
    putJournal(w, 0, []);
    putJournal(w, 1, [intent("a")]);
    const single = starting(w, { index: 0, count: 1 });
    await run(w, () => single.entries !== undefined);
    expect(single.entries?.map(({ id }) => id)).toEqual(["a"]);
  });

  it("keep an operator without leader election from starting, which says what to do", async () => {
    const w = await world();
    const metadata = {
      name: leaseNameOf(0),
      namespace: "mooring",
      annotations: divisionAnnotation({ shards: 3, most: 3, ids: [] }),
    };
    w.store.put(leasePath(0), { metadata, spec: {} });
    await expect(sharding(w, { index: 0, count: 1 }, false).journal.open(signal)).rejects.toThrow(
      "the journals in namespace mooring are divided by 3 shards, and this operator has --shard 0/1: start it with --leader-elect",
    );
  });

  it("stay as they are in an installation that was never divided", async () => {
    const w = await world();
    const only = starting(w, { index: 0, count: 1 });
    await run(w, () => only.entries !== undefined);
    const names = [...w.store.objects.keys()].map((path) => path.slice(path.lastIndexOf("/") + 1));
    expect(names.sort()).toEqual([...journalNames(journalNameOf(0)), leaseNameOf(0)].sort());
  });
});
