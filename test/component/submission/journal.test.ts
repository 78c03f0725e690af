import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import type { Journal } from "../../../src/submission/journal.ts";
import { settle, until } from "../../support/fake-clock.ts";
import {
  intent,
  JOURNAL_PATH,
  type JournalWorld,
  journalOf,
  journalWorld,
  storedEntries,
} from "../../support/journal.ts";
import type { ObjectStore } from "../../support/object-store.ts";

const forever = new AbortController().signal;

const storedIDs = (store: ObjectStore) => storedEntries(store).map(({ id }) => id);

/** How a promise ended, looked at without waiting for it. */
function watched<T>(promise: Promise<T>): { state: "pending" | "kept" | "broken"; error?: unknown } {
  const seen: { state: "pending" | "kept" | "broken"; error?: unknown } = { state: "pending" };
  promise.then(
    () => {
      seen.state = "kept";
    },
    (error: unknown) => {
      seen.state = "broken";
      seen.error = error;
    },
  );
  return seen;
}

async function committed(w: JournalWorld, journal: Journal, ...ids: string[]): Promise<void> {
  const all = watched(Promise.all(ids.map((id) => journal.commit(intent(id), forever))));
  await until(() => all.state !== "pending", w);
  if (all.state === "broken") throw all.error;
}

/** Holds every PUT back until `open` is called. */
function gate({ api, store }: JournalWorld): { arrived: () => number; open: () => void } {
  let release = () => {};
  const opened = new Promise<void>((resolve) => {
    release = resolve;
  });
  let arrived = 0;
  api.answer(async (request) => {
    if (request.method === "PUT") {
      arrived++;
      await opened;
    }
    return store.script(request);
  });
  return { arrived: () => arrived, open: () => release() };
}

/** A person changes the ConfigMap. */
function touch(store: ObjectStore): void {
  const object = store.objects.get(JOURNAL_PATH);
  if (object === undefined) throw new Error("no journal");
  store.put(JOURNAL_PATH, { ...object, metadata: { ...object.metadata, annotations: { note: "looked at" } } });
}

/** The next reads of the journal fail. Returns how many have. */
function failReads({ api, store }: JournalWorld, count: number): () => number {
  let failed = 0;
  api.answer((request) => {
    if (request.method !== "GET" || failed === count) return store.script(request);
    failed++;
    return { status: 500, body: "etcd has no leader" };
  });
  return () => failed;
}

describe("group commit", () => {
  it("writes 500 commits of one moment with one write", async () => {
    const w = await journalWorld();
    const journal = journalOf(w);
    await journal.open(forever);
    const before = w.store.writes.length;
    await committed(w, journal, ...Array.from({ length: 500 }, (_, i) => `job-${i}`));
    expect(w.store.writes.length - before).toBe(1);
    expect(storedEntries(w.store)).toHaveLength(500);
  });

  it("resolves a commit only when it is stored, and takes all that arrived meanwhile with the next write", async () => {
    const w = await journalWorld();
    const journal = journalOf(w);
    await journal.open(forever);
    const writes = gate(w);
    const first = watched(journal.commit(intent("first"), forever));
    await until(() => writes.arrived() === 1, w);
    const late = Array.from({ length: 50 }, (_, i) => watched(journal.commit(intent(`late-${i}`), forever)));
    await w.clock.advance(1_000);
    expect([first.state, late[0]?.state, writes.arrived()]).toEqual(["pending", "pending", 1]);
    writes.open();
    await until(() => late.every(({ state }) => state === "kept"), w);
    expect(first.state).toBe("kept");
    expect(writes.arrived()).toBe(2);
  });

  it("lets settled entries leave with the next commit", async () => {
    const w = await journalWorld();
    const journal = journalOf(w);
    await journal.open(forever);
    await committed(w, journal, "a", "b");
    journal.settle("a");
    const before = w.store.writes.length;
    await committed(w, journal, "c");
    expect(storedIDs(w.store)).toEqual(["b", "c"]);
    await w.clock.advance(10_000);
    await settle();
    expect(w.store.writes.length - before).toBe(1);
  });

  it("writes a settled entry away by itself after 2 s without a commit", async () => {
    const w = await journalWorld();
    const journal = journalOf(w);
    await journal.open(forever);
    await committed(w, journal, "a");
    const before = w.store.writes.length;
    journal.settle("a");
    await w.clock.advance(1_999);
    expect(w.store.writes.length).toBe(before);
    await until(() => w.store.writes.length > before, { ...w, stepMs: 5 });
    expect(storedIDs(w.store)).toEqual([]);
  });

  it.each<{ name: string; fail: (w: JournalWorld) => void }>([
    {
      name: "the ConfigMap was changed, and the read of the change fails",
      fail(w) {
        touch(w.store);
        failReads(w, 1);
      },
    },
    {
      name: "the response is no JSON",
      fail({ api, store }) {
        let failed = false;
        api.answer((request) => {
          if (request.method !== "PUT" || failed) return store.script(request);
          failed = true;
          return { status: 200, body: "<html>" };
        });
      },
    },
  ])("writes a settled entry away after a failed write, without another commit: $name", async ({ fail }) => {
    const w = await journalWorld();
    const journal = journalOf(w);
    await journal.open(forever);
    await committed(w, journal, "a");
    fail(w);
    journal.settle("a");
    await until(() => storedIDs(w.store).length === 0, { ...w, stepMs: 50 });
  });

  it("leaves no listener on the signal of a commit, however the commit ends", async () => {
    const w = await journalWorld();
    const journal = journalOf(w);
    await journal.open(forever);
    const { signal } = new AbortController();
    const kept = watched(journal.commit(intent("a"), signal));
    await until(() => kept.state === "kept", w);
    const broken = watched(journal.commit({ ...intent("b"), key: "k".repeat(1_000_000) }, signal));
    await until(() => broken.state === "broken", w);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("refuses what does not fit into a ConfigMap, says what to do, and goes on with the next", async () => {
    const w = await journalWorld();
    const journal = journalOf(w);
    await journal.open(forever);
    const huge = watched(journal.commit({ ...intent("huge"), key: "x".repeat(950_000) }, forever));
    await until(() => huge.state !== "pending", w);
    expect(String(huge.error)).toMatch(/journal mooring\/mooring-journal: .*resolve halted jobs first/);
    await committed(w, journal, "small");
    expect(storedIDs(w.store)).toEqual(["small"]);
  });
});

describe("a commit that cannot be written at once", () => {
  it("is written again after a person changed the ConfigMap: same epoch, same holder", async () => {
    const w = await journalWorld();
    const journal = journalOf(w);
    await journal.open(forever);
    touch(w.store);
    await committed(w, journal, "a");
    expect(storedIDs(w.store)).toEqual(["a"]);
    expect(w.fenced).toEqual([]);
  });

  it("stands although the answer to the write was lost", async () => {
    const w = await journalWorld();
    const journal = journalOf(w);
    await journal.open(forever);
    let lost = 0;
    w.api.answer((request) => {
      const answer = w.store.script(request);
      return request.method === "PUT" && lost++ === 0 ? "cut" : answer;
    });
    await committed(w, journal, "a");
    expect(storedIDs(w.store)).toEqual(["a"]);
    expect(lost).toBeGreaterThan(1);
  });

  it("waits out an API server that fails", async () => {
    const w = await journalWorld();
    const journal = journalOf(w);
    await journal.open(forever);
    let failures = 0;
    w.api.answer((request) =>
      request.method === "PUT" && failures++ < 3
        ? { status: 500, body: "etcd has no leader" }
        : w.store.script(request),
    );
    await committed(w, journal, "a");
    expect(failures).toBe(4);
  });

  it("waits out an API server that fails after a person changed the ConfigMap", async () => {
    const w = await journalWorld();
    const journal = journalOf(w);
    await journal.open(forever);
    touch(w.store);
    const failed = failReads(w, 2);
    await committed(w, journal, "a");
    expect([storedIDs(w.store), failed()]).toEqual([["a"], 2]);
  });

  it("is given up when its caller gives up, and is not an intent any more", async () => {
    const w = await journalWorld();
    const journal = journalOf(w);
    await journal.open(forever);
    const writes = gate(w);
    const first = watched(journal.commit(intent("first"), forever));
    await until(() => writes.arrived() === 1, w);
    const caller = new AbortController();
    const given = watched(journal.commit(intent("given-up"), caller.signal));
    caller.abort(new Error("deadline"));
    await settle();
    expect(String(given.error)).toBe("Error: deadline");
    expect(journal.entries().map(({ id }) => id)).toEqual(["first"]);
    writes.open();
    await until(() => first.state === "kept", w);
    await committed(w, journal, "next");
    expect(storedIDs(w.store)).toEqual(["first", "next"]);
  });

  it("is not even begun for a caller that has given up", async () => {
    const w = await journalWorld();
    const journal = journalOf(w);
    await journal.open(forever);
    await expect(journal.commit(intent("a"), AbortSignal.abort(new Error("too late")))).rejects.toThrow("too late");
    expect(journal.entries()).toEqual([]);
  });
});

describe("close", () => {
  it("writes outcomes and settled entries that still wait, before the process ends", async () => {
    const w = await journalWorld();
    const journal = journalOf(w);
    await journal.open(forever);
    await committed(w, journal, "a", "b");
    journal.settle("a");
    journal.record("b", { taskID: "task-1" });
    await journal.close(forever);
    expect(storedEntries(w.store)).toEqual([{ ...intent("b"), outcome: { taskID: "task-1" } }]);
  });

  it("ends with its signal while the API server is away", async () => {
    const w = await journalWorld();
    const journal = journalOf(w);
    await journal.open(forever);
    await committed(w, journal, "a");
    w.api.answer(() => ({ status: 503, body: "down" }));
    journal.settle("a");
    const before = w.api.requests.length;
    await until(() => w.api.requests.length > before, { ...w, stepMs: 20 });
    const deadline = new AbortController();
    const closed = watched(journal.close(deadline.signal));
    await w.clock.advance(30_000);
    expect(closed.state).toBe("pending");
    deadline.abort(new Error("the process ends"));
    await until(() => closed.state !== "pending", w);
    expect(String(closed.error)).toContain("the process ends");
  });

  it("writes nothing for a journal that was never opened", async () => {
    const w = await journalWorld();
    await journalOf(w).close(forever);
    expect(w.api.requests).toEqual([]);
  });
});
