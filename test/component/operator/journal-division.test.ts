import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/base/clock.ts";
import { divideJournals, hasMoved, withEarlier } from "../../../src/operator/journal-division.ts";
import { journalNameOf, shardOf } from "../../../src/operator/shard.ts";
import type { Division } from "../../../src/operator/shard-leases.ts";
import type { JournalEntry } from "../../../src/submission/journal.ts";
import { parseEntries } from "../../../src/submission/journal-data.ts";
import { JOURNAL_SHARDS, journalNames } from "../../../src/submission/journal-shards.ts";
import { createJournal } from "../../../src/submission/sharded-journal.ts";
import { intent } from "../../support/journal.ts";
import { createObjectStore, type ObjectStore } from "../../support/object-store.ts";
import { type ApiRequest, failure, scriptedApi, silentLog } from "../../support/scripted-api-server.ts";

const signal = new AbortController().signal;
const pathsOf = (index: number) =>
  journalNames(journalNameOf(index)).map((name) => `/api/v1/namespaces/mooring/configmaps/${name}`);
const UNDIVIDED: Division = { shards: 1, most: 1, ids: [] };
const names = Array.from({ length: 12 }, (_, index) => `account-${index}`);
const entries = names.map(
  (name, index): JournalEntry => ({
    ...intent(name, index % JOURNAL_SHARDS),
    account: { kind: "Account", name, baseURL: "https://a" },
  }),
);

/** The journals of an installation. `refuse`: writes that the API server does not carry out. */
async function journals(refuse: (request: ApiRequest) => boolean = () => false) {
  const store = createObjectStore();
  const api = await scriptedApi((request) => (refuse(request) ? failure(403, "Forbidden") : store.script(request)));
  const open = (name: string) =>
    createJournal({
      client: api.client,
      namespace: "mooring",
      name,
      identity: "one",
      clock: systemClock,
      random: () => 0,
      log: silentLog,
    });
  const records: Division[] = [];
  const divide = (previous: Division, count: number) =>
    divideJournals(
      { createJournal: open, write: async (division) => void records.push(division), log: silentLog },
      previous,
      count,
      signal,
    );
  return { store, open, divide, records };
}

/** The accounts of the entries in each journal, from etcd. */
function stored(store: ObjectStore, count: number): (string | undefined)[][] {
  return Array.from({ length: count }, (_, index) => {
    const found = pathsOf(index).flatMap((path) => parseEntries(store.objects.get(path)?.data ?? {}));
    return found.map(({ account }) => account?.name).sort();
  });
}

const divided = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    names.filter((name) => shardOf(`Account/team/${name}`, count) === index).sort(),
  );

async function withEntries(refuse?: (request: ApiRequest) => boolean) {
  const w = await journals(refuse);
  const journal = w.open(journalNameOf(0));
  await journal.open(signal);
  for (const entry of entries) journal.adopt(entry);
  await journal.close(signal);
  return w;
}

describe("given entries in the journals, when the number of shards changes", () => {
  it("each entry is in the journal of its account, in steps from 1 over 3 and 2 to 1", async () => {
    const w = await withEntries();
    let division = UNDIVIDED;
    for (const count of [3, 2, 1]) {
      division = await w.divide(division, count);
      expect(stored(w.store, 3)).toEqual([...divided(count), ...Array.from({ length: 3 - count }, () => [])]);
      const ids = [0, 1, 2].map((index) => pathsOf(index).map((path) => w.store.objects.get(path)?.metadata.uid));
      expect(division).toEqual({ shards: count, most: 3, ids });
    }
    expect(w.records.map(({ shards }) => shards)).toEqual([0, 3, 0, 2, 0, 1]);
  });

  it("a process that had one of the journals can commit nothing any more", async () => {
    const w = await withEntries();
    const old = w.open(journalNameOf(0));
    await old.open(signal);
    await w.divide(UNDIVIDED, 2);
    await expect(old.commit(intent("late"), signal)).rejects.toThrow("has replaced our epoch");
  });

  // Eight tests share the writes, so that a busy machine has a minute for an eighth of them.
  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    "no entry is lost and none is doubled, whichever write fails before the division is repeated (from write %s on)",
    async (first) => {
      for (let failing = first; ; failing += 8) {
        let writes = 0;
        let armed = false;
        const w = await withEntries(({ method }) => armed && method !== "GET" && ++writes === failing);
        armed = true;
        const done = await w.divide(UNDIVIDED, 3).catch(() => undefined);
        const everywhere = new Set(stored(w.store, 3).flat());
        expect([...everywhere].sort()).toEqual([...names].sort());
        armed = false;
        const again = () => w.divide({ ...UNDIVIDED, shards: 0, most: 3 }, 3);
        // Requests of the process that failed can still be under way and fence the next one, which then starts again.
        await again().catch(again).catch(again);
        expect(stored(w.store, 3)).toEqual(divided(3));
        if (done !== undefined && writes < failing) return;
      }
    },
  );

  it("an entry that does not name its account refuses the change, and says what to do", async () => {
    const w = await withEntries();
    const journal = w.open(journalNameOf(0));
    await journal.open(signal);
    const { account: _, ...entry } = intent("old");
    journal.adopt(entry);
    await journal.close(signal);
    await expect(w.divide(UNDIVIDED, 2)).rejects.toThrow(
      "the entry of SpeechJob team/old (submitSpeech) does not name its account, so the number of shards cannot be changed",
    );
    expect(stored(w.store, 1)[0]).toHaveLength(entries.length + 1);
  });
});

describe("a request that the status shows in another journal was not sent", () => {
  /** Two ConfigMaps in each of three journals. */
  const division: Division = {
    shards: 2,
    most: 3,
    ids: [
      ["a0", "a1"],
      ["b0", "b1"],
      ["c0", "c1"],
    ],
  };
  const own = (...ids: string[]) => ids.map((id) => ({ id, createdAt: 0 }));
  it.each([
    { name: "when the entries of its ConfigMap were moved", own: own("b0", "b1"), id: "c1", expected: true },
    { name: "when the entries of the head were moved", own: own("b0", "b1"), id: "c0", expected: true },
    {
      name: "but its outcome is unknown when the journal is not of this installation",
      own: own("b0", "b1"),
      id: "x",
      expected: false,
    },
    {
      name: "but its outcome is unknown when the ConfigMap that it was moved to is lost",
      own: own("b0", "new"),
      id: "c1",
      expected: false,
    },
  ])("$name", ({ own, id, expected }) => {
    expect(hasMoved(division, 1, { own, id, number: 1 })).toBe(expected);
  });

  it("and each ConfigMap names those whose entries were moved to it", () => {
    expect(withEarlier(division, 1, own("new", "b1"))).toEqual([
      { id: "new", createdAt: 0 },
      { id: "b1", createdAt: 0, earlier: ["a1", "c1"] },
    ]);
  });
});
