import { describe, expect, it } from "vitest";
import { FencedError } from "../../../src/submission/journal.ts";
import { until } from "../../support/fake-clock.ts";
import { intent, JOURNAL_PATH, journalOf, journalWorld, outcomeOf } from "../../support/journal.ts";

const forever = new AbortController().signal;

const isNamed = (body: unknown, name: string) => JSON.stringify(body).includes(`"name":"${name}"`);

describe("the next leader", () => {
  it("begins with epoch 1 and nothing left", async () => {
    const w = await journalWorld();
    const first = journalOf(w, "one");
    expect(await first.open(forever)).toEqual([]);
    expect(first.epoch()).toBe(1);
    expect(w.store.objects.get(JOURNAL_PATH)?.data).toEqual({ epoch: "1", holder: "one", intents: "[]" });
  });

  it("finds an intent whose outcome nobody knows, and one whose outcome was recorded", async () => {
    const w = await journalWorld();
    const first = journalOf(w, "one");
    await first.open(forever);
    await outcomeOf(w, Promise.all([first.commit(intent("lost"), forever), first.commit(intent("told"), forever)]));
    first.record("told", { endpointID: "ep-1" });
    await w.clock.advance(2_000);
    await until(() => w.store.objects.get(JOURNAL_PATH)?.data?.["intents"]?.includes("ep-1") === true, w);

    const second = journalOf(w, "two");
    expect(await second.open(forever)).toEqual([
      intent("lost"),
      { ...intent("told"), outcome: { endpointID: "ep-1" } },
    ]);
    expect(second.epoch()).toBe(2);
    expect(second.find(intent("lost").uid)).toEqual(intent("lost"));
    expect(second.find(intent("told").uid)?.outcome).toEqual({ endpointID: "ep-1" });
    expect(second.find(intent("other").uid)).toBeUndefined();
  });

  it("keeps what it found through its own commits, until it settles it", async () => {
    const w = await journalWorld();
    const first = journalOf(w, "one");
    await first.open(forever);
    await outcomeOf(w, first.commit(intent("lost"), forever));
    const second = journalOf(w, "two");
    await second.open(forever);
    await outcomeOf(w, second.commit(intent("own"), forever));
    expect(w.store.objects.get(JOURNAL_PATH)?.data?.["intents"]).toContain("uid-lost");
    second.settle("lost");
    await outcomeOf(w, second.commit(intent("more"), forever));
    expect(w.store.objects.get(JOURNAL_PATH)?.data?.["intents"]).not.toContain("uid-lost");
  });

  it("keeps an intent that it restores from a status", async () => {
    const w = await journalWorld();
    const first = journalOf(w, "one");
    await first.open(forever);
    first.restore(intent("lost"));
    expect(first.find(intent("lost").uid)).toEqual({ ...intent("lost"), restored: true });
    await first.close(forever);
    expect(await journalOf(w, "two").open(forever)).toEqual([{ ...intent("lost"), restored: true }]);
  });

  it.each(["create", "update"])("goes above the other epoch when two open at once (%s)", async (kind) => {
    const w = await journalWorld();
    if (kind === "update") await journalOf(w, "zero").open(forever);
    const rival = journalOf(w, "rival");
    let raced = false;
    w.api.answer(async (request) => {
      if (!raced && request.method !== "GET" && isNamed(request.body, "mooring-journal")) {
        raced = true; // the rival is faster, and leaves an intent
        await rival.open(forever);
        const object = w.store.objects.get(JOURNAL_PATH);
        if (object === undefined) throw new Error("no journal");
        w.store.put(JOURNAL_PATH, { ...object, data: { ...object.data, intents: JSON.stringify([intent("rivals")]) } });
      }
      return w.store.script(request);
    });
    const ours = journalOf(w, "ours");
    expect(await ours.open(forever)).toEqual([intent("rivals")]);
    expect(ours.epoch()).toBe(rival.epoch() + 1);
  });
});

describe("a deposed leader", () => {
  it("cannot commit an intent any more, and is told once", async () => {
    const w = await journalWorld();
    const [first, second] = [journalOf(w, "one"), journalOf(w, "two")];
    await first.open(forever);
    await second.open(forever);
    const error = await outcomeOf(w, first.commit(intent("late"), forever));
    expect(error).toBeInstanceOf(FencedError);
    expect(String(error)).toContain("epoch 2 of two has replaced our epoch 1");
    const requests = w.api.requests.length;
    await expect(first.commit(intent("later"), forever)).rejects.toThrow(FencedError);
    expect(w.api.requests.length).toBe(requests);
    expect(w.fenced).toHaveLength(1);
    expect(w.store.objects.get(JOURNAL_PATH)?.data).toMatchObject({ holder: "two", intents: "[]" });
  });

  it("cannot commit either when the next leader has its own identity but a higher epoch", async () => {
    const w = await journalWorld();
    const first = journalOf(w, "same");
    await first.open(forever);
    await journalOf(w, "same").open(forever);
    expect(await outcomeOf(w, first.commit(intent("late"), forever))).toBeInstanceOf(FencedError);
  });

  it("cannot commit after the journal was deleted", async () => {
    const w = await journalWorld();
    const first = journalOf(w, "one");
    await first.open(forever);
    w.store.objects.delete(JOURNAL_PATH);
    expect(await outcomeOf(w, first.commit(intent("late"), forever))).toBeInstanceOf(FencedError);
    expect(w.store.objects.has(JOURNAL_PATH)).toBe(false);
  });

  it.each([
    ["created again by the next leader", {}],
    ["restored with its epoch and its holder", { epoch: "1", holder: "one" }],
  ])("cannot commit after the journal was deleted and %s", async (_name, data) => {
    const w = await journalWorld();
    const first = journalOf(w, "one");
    await first.open(forever);
    const deleted = first.shards()[0].id;
    const object = w.store.objects.get(JOURNAL_PATH);
    w.store.objects.delete(JOURNAL_PATH);
    const second = journalOf(w, "two");
    await second.open(forever);
    const { uid } = w.store.objects.get(JOURNAL_PATH)?.metadata ?? {};
    if (object === undefined || uid === undefined) throw new Error("no journal");
    w.store.put(JOURNAL_PATH, { ...object, metadata: { ...object.metadata, uid }, data: { ...object.data, ...data } });
    expect(second.shards()[0].id).not.toBe(deleted);
    const error = await outcomeOf(w, first.commit(intent("late"), forever));
    expect(error).toBeInstanceOf(FencedError);
    expect(String(error)).toContain("it is another journal");
  });

  it("refuses also the commits that were waiting behind the write that found out", async () => {
    const w = await journalWorld();
    const [first, second] = [journalOf(w, "one"), journalOf(w, "two")];
    await first.open(forever);
    await second.open(forever);
    let behind: Promise<unknown> | undefined;
    w.api.answer((request) => {
      if (request.method === "PUT") behind ??= outcomeOf(w, first.commit(intent("behind"), forever));
      return w.store.script(request);
    });
    expect(await outcomeOf(w, first.commit(intent("ahead"), forever))).toBeInstanceOf(FencedError);
    expect(await behind).toBeInstanceOf(FencedError);
  });

  it("leaves the journal as it is when it closes", async () => {
    const w = await journalWorld();
    const [first, second] = [journalOf(w, "one"), journalOf(w, "two")];
    await first.open(forever);
    await outcomeOf(w, first.commit(intent("a"), forever));
    await second.open(forever);
    await outcomeOf(w, first.commit(intent("late"), forever));
    const before = w.store.objects.get(JOURNAL_PATH);
    await first.close(forever);
    expect(w.store.objects.get(JOURNAL_PATH)).toBe(before);
  });
});
