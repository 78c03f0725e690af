import { describe, expect, it } from "vitest";
import { FencedError, type Journal, type JournalEntry } from "../../../src/submission/journal.ts";
import { parseEntries } from "../../../src/submission/journal-data.ts";
import { configMapOf, JOURNAL_SHARDS, journalNames } from "../../../src/submission/journal-shards.ts";
import { until } from "../../support/fake-clock.ts";
import {
  intent,
  JOURNAL_PATH,
  type JournalWorld,
  journalOf,
  journalWorld,
  outcomeOf,
  SHARD_PATHS,
  uidIn,
} from "../../support/journal.ts";

const forever = new AbortController().signal;
const SHARDS = SHARD_PATHS.map((_path, index) => index);

async function opened(w: JournalWorld, identity?: string): Promise<Journal> {
  const journal = journalOf(w, identity);
  await journal.open(forever);
  return journal;
}

const ids = (entries: readonly JournalEntry[]) => entries.map(({ id }) => id).sort();
const intentsAt = (w: JournalWorld, shard: number) => w.store.objects.get(SHARD_PATHS[shard] ?? "")?.data?.["intents"];

/** What an earlier version writes: the head alone, with the account in each entry, and without what it does not know. */
function writeAsEarlier(w: JournalWorld, entries: readonly JournalEntry[]): void {
  const head = w.store.objects.get(JOURNAL_PATH);
  const epoch = String(Number(head?.data?.["epoch"] ?? 0) + 1);
  const metadata = {
    name: "mooring-journal",
    namespace: "mooring",
    creationTimestamp: "2026-01-01T00:00:00Z",
    ...(head && { uid: head.metadata.uid }),
  };
  const data = { epoch, holder: "earlier", intents: JSON.stringify(entries) };
  w.store.put(JOURNAL_PATH, { apiVersion: "v1", kind: "ConfigMap", metadata, spec: undefined, data });
}

describe("the shards", () => {
  it("have fixed names, and each UID has one of them for good", () => {
    expect(journalNames("mooring-journal")).toHaveLength(JOURNAL_SHARDS);
    expect(journalNames("mooring-journal").slice(0, 3)).toEqual([
      "mooring-journal",
      "mooring-journal-1",
      "mooring-journal-2",
    ]);
    expect(configMapOf("c0ffee00-17b4-4e6d-8f21-000000000001")).toBe(5);
    const counts = SHARDS.map(() => 0);
    for (let index = 0; index < 16_000; index++) {
      const shard = configMapOf(`c0ffee00-17b4-4e6d-8f21-${index}`);
      counts[shard] = (counts[shard] ?? 0) + 1;
    }
    expect(Math.min(...counts)).toBeGreaterThan(850);
    expect(Math.max(...counts)).toBeLessThan(1_150);
  });

  it("are taken over in two round trips, each with one read and one write", async () => {
    const w = await journalWorld();
    const arrived = { GET: 0, POST: 0 };
    const all = { GET: Promise.withResolvers<void>(), POST: Promise.withResolvers<void>() };
    w.api.answer(async (request) => {
      const verb = request.method === "GET" ? "GET" : "POST";
      if (++arrived[verb] === JOURNAL_SHARDS) all[verb].resolve();
      await all[verb].promise; // no shard waits for another one
      return w.store.script(request);
    });
    await opened(w);
    expect(arrived).toEqual({ GET: JOURNAL_SHARDS, POST: JOURNAL_SHARDS });
    expect(w.api.requests).toHaveLength(2 * JOURNAL_SHARDS);
  });

  it("have the intents of their own objects, and one table of accounts for all of them", async () => {
    const w = await journalWorld();
    const journal = await opened(w);
    expect(
      await outcomeOf(w, Promise.all(SHARDS.map((shard) => journal.commit(intent(`job-${shard}`, shard), forever)))),
    ).toBe("resolved");
    expect(await outcomeOf(w, journal.commit(intent("second", 3), forever))).toBe("resolved");
    for (const shard of SHARDS) expect(intentsAt(w, shard)).toContain(`"key":"team/job-${shard}"`);
    const { data } = w.store.objects.get(SHARD_PATHS[3] ?? "") ?? {};
    expect(data?.["accounts"]).toBe(
      '{\n"1":{"kind":"Account","name":"default","baseURL":"https://api.example.com"}\n}',
    );
    expect(data?.["intents"]?.split("\n")).toHaveLength(4);
    expect(data?.["intents"]).not.toContain("baseURL");
    expect(journal.placesOf(uidIn(0, "uid"))).toEqual(["mooring/mooring-journal"]);
    expect(journal.placesOf(uidIn(3, "uid"))).toEqual(["mooring/mooring-journal", "mooring/mooring-journal-3"]);
  });

  it("take an intent only when the head has many", async () => {
    const w = await journalWorld();
    const journal = await opened(w);
    const [head, ...others] = journal.shards();
    const uids = SHARDS.map((shard) => uidIn(shard, "uid"));
    for (let index = 0; index < 64; index++) {
      for (const uid of uids) expect(journal.id(uid)).toBe(head.id);
      const { uid } = intent(`job-${index}`, 5);
      expect(await outcomeOf(w, journal.commit(intent(`job-${index}`, 5), forever, journal.id(uid)))).toBe("resolved");
    }
    expect(uids.map((uid) => journal.id(uid))).toEqual([head, ...others].map(({ id }) => id));
    expect(parseEntries(w.store.objects.get(JOURNAL_PATH)?.data ?? {})).toHaveLength(64);
    journal.settle("job-7");
    expect(uids.map((uid) => journal.id(uid))).toEqual(uids.map(() => head.id));
  });

  it("take an intent that their ID was shown for, whatever the journal would choose now", async () => {
    const w = await journalWorld();
    const journal = await opened(w);
    const own = journal.shards()[5]?.id;
    expect(await outcomeOf(w, journal.commit(intent("job", 5), forever, own))).toBe("resolved");
    expect(intentsAt(w, 5)).toContain('"key":"team/job"');
    expect(intentsAt(w, 0)).not.toContain('"key":"team/job"');
  });

  it("do not take an intent that another journal's ID was shown for", async () => {
    const w = await journalWorld();
    const journal = await opened(w);
    const foreign = [journal.shards()[6]?.id, "another"];
    for (const id of foreign)
      await expect(journal.commit(intent("job", 5), forever, id)).rejects.toThrow("nothing is sent");
    expect(journal.entries()).toEqual([]);
  });

  it("find an object's entries by its UID and by its key", async () => {
    const w = await journalWorld();
    const journal = await opened(w);
    const again = { ...intent("again", 7), key: "team/same", uid: uidIn(7, "again") };
    const first = { ...intent("first", 2), key: "team/same" };
    await outcomeOf(w, Promise.all([journal.commit(first, forever), journal.commit(again, forever)]));
    expect(journal.find(first.uid)).toEqual(first);
    expect(journal.entriesOf({ kind: "SpeechJob", key: "team/same" })).toEqual([first, again]);
    expect(journal.entriesOf({ kind: "VideoJob", key: "team/same" })).toEqual([]);
    journal.settle("first");
    expect(journal.find(first.uid)).toBeUndefined();
    expect(ids(journal.entriesOf({ kind: "SpeechJob", key: "team/same" }))).toEqual(["again"]);
  });
});

describe("the next leader", () => {
  it.each(SHARDS)("fences the commits of the leader before it in shard %i", async (shard) => {
    const w = await journalWorld();
    const first = await opened(w, "one");
    expect(await outcomeOf(w, first.commit(intent("early", shard), forever))).toBe("resolved");
    const second = journalOf(w, "two");
    expect(await second.open(forever)).toEqual([intent("early", shard)]);
    expect(await outcomeOf(w, first.commit(intent("late", shard), forever))).toBeInstanceOf(FencedError);
    expect(intentsAt(w, shard)).not.toContain("late");
    // From the first refusal on, no other shard takes an intent either.
    const requests = w.api.requests.length;
    await expect(first.commit(intent("other", (shard + 1) % JOURNAL_SHARDS), forever)).rejects.toThrow(FencedError);
    expect([w.api.requests.length, w.fenced.length]).toEqual([requests, 1]);
  });

  it("has every intent that the leader before it commits while the shards change hands", async () => {
    const w = await journalWorld();
    const first = await opened(w, "one");
    let delayMs = 0;
    w.api.answer(async (request) => {
      // Each shard is taken at another time.
      if (JSON.stringify(request.body ?? "").includes('"holder":"two"')) {
        delayMs += 5;
        await new Promise((resolve) => setTimeout(resolve, delayMs));
      }
      return w.store.script(request);
    });
    const second = journalOf(w, "two");
    let left: string[] | undefined;
    const opening = second.open(forever).then((entries) => {
      left = ids(entries);
    });
    const attempts: Promise<{ id: string; committed: boolean }>[] = [];
    for (let round = 0; left === undefined; round++) {
      for (const shard of SHARDS) {
        const id = `r${round}-${shard}`;
        const attempt = first.commit(intent(id, shard), forever);
        attempts.push(
          attempt.then(
            () => ({ id, committed: true }),
            () => ({ id, committed: false }),
          ),
        );
      }
      await w.clock.advance(15);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await opening;
    let ended: { id: string; committed: boolean }[] | undefined;
    void Promise.all(attempts).then((all) => {
      ended = all;
    });
    await until(() => ended !== undefined, w);
    const committed = (ended ?? []).filter((one) => one.committed).map(({ id }) => id);
    expect(committed.length).toBeGreaterThan(0);
    expect(committed.filter((id) => left?.includes(id) !== true)).toEqual([]);
  });
});

describe("a shard that cannot be taken over at once", () => {
  it("is tried again, and the others are not taken again", async () => {
    const w = await journalWorld();
    let failures = 0;
    w.api.answer((request) =>
      request.method === "GET" && request.path.endsWith("/mooring-journal-4") && failures++ < 2
        ? { status: 503, body: "etcd has no leader" }
        : w.store.script(request),
    );
    const journal = journalOf(w);
    expect(await outcomeOf(w, journal.open(forever))).toBe("resolved");
    expect(w.store.writes).toHaveLength(JOURNAL_SHARDS);
  });

  it("ends the start when it still fails, or may not be read", async () => {
    const w = await journalWorld();
    const answer = (status: number) =>
      w.api.answer((request) =>
        request.path.endsWith("/mooring-journal-4") ? { status, body: "no" } : w.store.script(request),
      );
    answer(500);
    expect(String(await outcomeOf(w, journalOf(w).open(forever)))).toContain("mooring-journal-4");
    const before = w.api.requests.filter(({ path }) => path.endsWith("-4")).length;
    expect(before).toBe(5);
    answer(403);
    expect(String(await outcomeOf(w, journalOf(w).open(forever)))).toContain("mooring-journal-4");
    expect(w.api.requests.filter(({ path }) => path.endsWith("-4"))).toHaveLength(before + 1);
  });
});

describe("a shard that is lost", () => {
  it.each([0, 9])("is another one, and the others stay (%i)", async (lost) => {
    const w = await journalWorld();
    const first = await opened(w, "one");
    await outcomeOf(w, Promise.all(SHARDS.map((shard) => first.commit(intent(`job-${shard}`, shard), forever))));
    w.store.objects.delete(SHARD_PATHS[lost] ?? "");
    const uids = SHARDS.map((shard) => uidIn(shard, "uid"));
    const before = first.shards().map(({ id }) => id);
    expect(await outcomeOf(w, first.commit(intent("late", lost), forever))).toBeInstanceOf(FencedError);
    expect(String(w.fenced[0])).toContain(
      `journal mooring/${journalNames("mooring-journal")[lost]}: the ConfigMap was deleted`,
    );

    const second = await opened(w, "two");
    const after = second.shards().map(({ id }) => id);
    expect(SHARDS.filter((shard) => before[shard] !== after[shard])).toEqual([lost]);
    expect(SHARDS.filter((shard) => !second.covers(uids[shard] ?? "", before[shard]))).toEqual([lost]);
    expect(ids(second.entries())).toEqual(
      ids(SHARDS.filter((shard) => shard !== lost).map((shard) => intent(`job-${shard}`))),
    );
  });
});

describe("the journal of an earlier version", () => {
  it("is the head: its entries count for every object, and leave when they are settled", async () => {
    const w = await journalWorld();
    const entries = SHARDS.map((shard) => intent(`job-${shard}`, shard));
    writeAsEarlier(w, entries);
    const { uid } = w.store.objects.get(JOURNAL_PATH)?.metadata ?? {};
    const journal = journalOf(w);
    expect(await journal.open(forever)).toEqual(entries);
    for (const entry of entries) {
      expect(journal.find(entry.uid)).toEqual(entry);
      expect(journal.covers(entry.uid, uid)).toBe(true);
      expect(journal.covers(entry.uid, "another")).toBe(false);
    }
    for (const { id } of entries.slice(1)) journal.settle(id);
    journal.record("job-0", { taskID: "task-1" });
    await journal.close(forever);
    expect(ids(await journalOf(w, "two").open(forever))).toEqual(["job-0"]);
  });

  it("leads for a while: entries that it could not see are marked, and what it restored of them is not counted twice", async () => {
    const w = await journalWorld();
    const first = await opened(w, "one");
    await outcomeOf(w, Promise.all([1, 2].map((shard) => first.commit(intent(`job-${shard}`, shard), forever))));
    first.record("job-1", { taskID: "task-1" });
    await first.close(forever);
    writeAsEarlier(w, [{ ...intent("job-1", 1), restored: true }, intent("own", 1)]);

    const next = journalOf(w, "two");
    expect(await outcomeOf(w, next.open(forever))).toBe("resolved");
    expect(next.entries()).toEqual([
      intent("own", 1),
      { ...intent("job-1", 1), outcome: { taskID: "task-1" }, bypassed: true },
      { ...intent("job-2", 2), bypassed: true },
    ]);
    // The mark is in etcd before the head says that nothing is hidden any more.
    expect(intentsAt(w, 2)).toContain('"bypassed":true');
    await next.close(forever);
    expect(await journalOf(w, "three").open(forever)).toEqual(next.entries());
  });

  it("leaves nothing to mark when every leader reads all shards", async () => {
    const w = await journalWorld();
    const first = await opened(w, "one");
    await outcomeOf(w, first.commit(intent("job", 5), forever));
    expect(await journalOf(w, "two").open(forever)).toEqual([intent("job", 5)]);
  });
});
