import { describe, expect, it } from "vitest";
import { createJournal, FencedError, type Intent, type Journal } from "../../../src/submission/journal.ts";
import { createFakeClock, type FakeClock, until } from "../../support/fake-clock.ts";
import { createObjectStore, type ObjectStore } from "../../support/object-store.ts";
import { type ScriptedApi, scriptedApi, silentLog } from "../../support/scripted-api-server.ts";

const PATH = "/api/v1/namespaces/mooring/configmaps/mooring-journal";
const forever = new AbortController().signal;

type World = { api: ScriptedApi; store: ObjectStore; clock: FakeClock; fenced: FencedError[] };

async function world(): Promise<World> {
  const store = createObjectStore();
  return { store, api: await scriptedApi(store.script), clock: createFakeClock(), fenced: [] };
}

function leader({ api, clock, fenced }: World, identity: string): Journal {
  return createJournal({
    client: api.client,
    namespace: "mooring",
    name: "mooring-journal",
    identity,
    clock,
    random: () => 0.5,
    log: silentLog,
    onFenced: (error) => fenced.push(error),
  });
}

const intent = (id: string): Intent => ({
  id,
  kind: "GpuEndpoint",
  key: `team/${id}`,
  uid: `uid-${id}`,
  operation: "createEndpoint",
  attempt: 1,
  specHash: "0123456789abcdef",
  time: "2026-03-01T00:00:00Z",
});

async function outcomeOf(w: World, promise: Promise<unknown>): Promise<unknown> {
  let outcome: { value: unknown } | undefined;
  promise.then(
    () => {
      outcome = { value: "resolved" };
    },
    (error: unknown) => {
      outcome = { value: error };
    },
  );
  await until(() => outcome !== undefined, w);
  return outcome?.value;
}

describe("the next leader", () => {
  it("begins with epoch 1 and nothing left", async () => {
    const w = await world();
    const first = leader(w, "one");
    expect(await first.open(forever)).toEqual([]);
    expect(first.epoch()).toBe(1);
    expect(w.store.objects.get(PATH)?.data).toEqual({ epoch: "1", holder: "one", intents: "[]" });
  });

  it("finds an intent whose outcome nobody knows, and one whose outcome was recorded", async () => {
    const w = await world();
    const first = leader(w, "one");
    await first.open(forever);
    await outcomeOf(w, Promise.all([first.commit(intent("lost"), forever), first.commit(intent("told"), forever)]));
    first.record("told", { endpointID: "ep-1" });
    await w.clock.advance(2_000);
    await until(() => w.store.objects.get(PATH)?.data?.["intents"]?.includes("ep-1") === true, w);

    const second = leader(w, "two");
    expect(await second.open(forever)).toEqual([
      intent("lost"),
      { ...intent("told"), outcome: { endpointID: "ep-1" } },
    ]);
    expect(second.epoch()).toBe(2);
    expect(second.find("uid-lost")).toEqual(intent("lost"));
    expect(second.find("uid-told")?.outcome).toEqual({ endpointID: "ep-1" });
    expect(second.find("uid-other")).toBeUndefined();
  });

  it("keeps what it found through its own commits, until it settles it", async () => {
    const w = await world();
    const first = leader(w, "one");
    await first.open(forever);
    await outcomeOf(w, first.commit(intent("lost"), forever));
    const second = leader(w, "two");
    await second.open(forever);
    await outcomeOf(w, second.commit(intent("own"), forever));
    expect(w.store.objects.get(PATH)?.data?.["intents"]).toContain("uid-lost");
    second.settle("lost");
    await outcomeOf(w, second.commit(intent("more"), forever));
    expect(w.store.objects.get(PATH)?.data?.["intents"]).not.toContain("uid-lost");
  });

  it.each(["create", "update"])("goes above the other epoch when two open at once (%s)", async (kind) => {
    const w = await world();
    if (kind === "update") await leader(w, "zero").open(forever);
    const rival = leader(w, "rival");
    let raced = false;
    w.api.answer(async (request) => {
      if (!raced && request.method !== "GET") {
        raced = true; // the rival is faster, and leaves an intent
        await rival.open(forever);
        const object = w.store.objects.get(PATH);
        if (object === undefined) throw new Error("no journal");
        w.store.put(PATH, { ...object, data: { ...object.data, intents: JSON.stringify([intent("rivals")]) } });
      }
      return w.store.script(request);
    });
    const ours = leader(w, "ours");
    expect(await ours.open(forever)).toEqual([intent("rivals")]);
    expect(ours.epoch()).toBe(rival.epoch() + 1);
  });
});

describe("a deposed leader", () => {
  it("cannot commit an intent any more, and is told once", async () => {
    const w = await world();
    const [first, second] = [leader(w, "one"), leader(w, "two")];
    await first.open(forever);
    await second.open(forever);
    const error = await outcomeOf(w, first.commit(intent("late"), forever));
    expect(error).toBeInstanceOf(FencedError);
    expect(String(error)).toContain("epoch 2 of two has replaced our epoch 1");
    const requests = w.api.requests.length;
    await expect(first.commit(intent("later"), forever)).rejects.toThrow(FencedError);
    expect(w.api.requests.length).toBe(requests);
    expect(w.fenced).toHaveLength(1);
    expect(w.store.objects.get(PATH)?.data).toMatchObject({ holder: "two", intents: "[]" });
  });

  it("cannot commit either when the next leader has its own identity but a higher epoch", async () => {
    const w = await world();
    const first = leader(w, "same");
    await first.open(forever);
    await leader(w, "same").open(forever);
    expect(await outcomeOf(w, first.commit(intent("late"), forever))).toBeInstanceOf(FencedError);
  });

  it("cannot commit after the journal was deleted", async () => {
    const w = await world();
    const first = leader(w, "one");
    await first.open(forever);
    w.store.objects.delete(PATH);
    expect(await outcomeOf(w, first.commit(intent("late"), forever))).toBeInstanceOf(FencedError);
    expect(w.store.objects.has(PATH)).toBe(false);
  });

  it("refuses also the commits that were waiting behind the write that found out", async () => {
    const w = await world();
    const [first, second] = [leader(w, "one"), leader(w, "two")];
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
    const w = await world();
    const [first, second] = [leader(w, "one"), leader(w, "two")];
    await first.open(forever);
    await outcomeOf(w, first.commit(intent("a"), forever));
    await second.open(forever);
    await outcomeOf(w, first.commit(intent("late"), forever));
    const before = w.store.objects.get(PATH);
    await first.close(forever);
    expect(w.store.objects.get(PATH)).toBe(before);
  });
});
