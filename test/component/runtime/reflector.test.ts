import { describe, expect, it, onTestFinished } from "vitest";
import type { KubeClient } from "../../../src/kube/client.ts";
import type { RestoredError } from "../../../src/kube/etcd-history.ts";
import type { Resource } from "../../../src/kube/resource.ts";
import type { KubeObject } from "../../../src/kube/types.ts";
import { runReflector } from "../../../src/runtime/reflector.ts";
import { createFakeClock, type FakeClock, settle, until } from "../../support/fake-clock.ts";
import {
  type Answer,
  type ApiRequest,
  failure,
  type ScriptedApi,
  type Stream,
  scriptedApi,
  silentLog,
} from "../../support/scripted-api-server.ts";

const things: Resource = { group: "example.com", version: "v1", plural: "things", kind: "Thing", namespaced: true };

const thing = (name: string, version: number): KubeObject => ({
  metadata: { name, namespace: "team", uid: `uid-${name}`, resourceVersion: String(version) },
  spec: {},
});
/** The metadata as API servers write it. */
const inOrder = (name: string, version: number) => ({
  name,
  namespace: "team",
  resourceVersion: String(version),
  uid: `uid-${name}`,
});
const page = (version: number, names: string[], next?: string): Answer => ({
  body: {
    metadata: { resourceVersion: String(version), continue: next },
    items: names.map((name) => thing(name, version)),
  },
});
const isStreamedList = ({ query }: ApiRequest) => query.get("sendInitialEvents") === "true";
const isWatch = (request: ApiRequest) => request.query.get("watch") === "true" && !isStreamedList(request);

type World = {
  api: ScriptedApi;
  clock: FakeClock;
  seen: string[];
  streams: Stream[];
  lists: () => ApiRequest[];
  watches: () => ApiRequest[];
  restored: RestoredError[];
  /** Asks for a new list. */
  renew: () => void;
  stop: () => Promise<void>;
};

/** Runs a reflector against `lists` (the last one again and again) and `watches` (then streams that stay open). */
async function reflect(
  script: {
    lists?: Answer[];
    watches?: (Answer | undefined)[];
    inactivityMs?: number;
    /** Versions that the sink has, by name. */
    stored?: Readonly<Record<string, string>>;
  } = {},
): Promise<World> {
  const clock = createFakeClock();
  const seen: string[] = [];
  const streams: Stream[] = [];
  const lists = [...(script.lists ?? [page(10, ["a"])])];
  const watches = [...(script.watches ?? [])];
  const open: Answer = { stream: (stream) => void streams.push(stream) };
  const api = await scriptedApi((request) =>
    isStreamedList(request)
      ? failure(422, "Invalid", "sendInitialEvents is forbidden for watch")
      : isWatch(request)
        ? (watches.shift() ?? open)
        : ((lists.length > 1 ? lists.shift() : lists[0]) ?? "silence"),
  );
  const ended = new AbortController();
  const restored: RestoredError[] = [];
  let renewal = new AbortController();
  const { inactivityMs } = script;
  const impatient: KubeClient = {
    ...api.client,
    watch: (resource, place, options) =>
      api.client.watch(resource, place, { ...options, inactivityMs: inactivityMs ?? options.inactivityMs }),
  };
  const run = runReflector(
    {
      client: impatient,
      resource: things,
      clock,
      random: () => 0.5,
      log: silentLog,
      renewal: () => renewal.signal,
      onRestored: (error) => restored.push(error),
      sink: {
        listed(object) {
          seen.push(`listed ${object.metadata.name}`);
          return script.stored?.[object.metadata.name];
        },
        listEnded: (keys) => seen.push(`whole ${[...keys].join(" ")}`),
        changed: (type, object) => seen.push(`${type} ${object.metadata.name} ${object.metadata.resourceVersion}`),
        has: ({ resourceVersion }) => script.stored?.["a"] === resourceVersion,
      },
    },
    ended.signal,
  );
  const stop = async () => {
    ended.abort(new Error("stop"));
    await run;
  };
  onTestFinished(stop);
  return {
    api,
    clock,
    seen,
    streams,
    restored,
    renew() {
      renewal.abort();
      renewal = new AbortController();
    },
    stop,
    lists: () => api.requests.filter((request) => !isWatch(request) && !isStreamedList(request)),
    watches: () => api.requests.filter(isWatch),
  };
}

const from = ({ watches }: World) => watches().map(({ query }) => query.get("resourceVersion"));
const ends: Answer = { stream: (stream) => stream.end() };

/** The reflector waits `ms`, to the millisecond, before its next request. */
async function expectPause(w: World, ms: number): Promise<void> {
  await until(() => w.clock.timers() === 1);
  const before = w.api.requests.length;
  await w.clock.advance(ms - 1);
  await settle();
  expect(w.api.requests.length).toBe(before);
  await w.clock.advance(1);
  await until(() => w.api.requests.length > before);
}

describe("a list that is asked for", () => {
  it("is made at once during a watch", async () => {
    const w = await reflect();
    await until(() => w.streams.length === 1);
    w.renew();
    await until(() => w.streams.length === 2);
    expect(w.lists()).toHaveLength(2);
  });

  it("is made after the pause that a failed watch makes", async () => {
    const w = await reflect({ watches: [failure(500, "InternalError")] });
    await until(() => w.clock.timers() === 1);
    w.renew();
    await expectPause(w, 800);
    await until(() => w.streams.length === 1);
    expect(w.lists()).toHaveLength(2);
  });
});

describe("the list", () => {
  it("comes in pages of 500, and is whole only with the last", async () => {
    const w = await reflect({ lists: [page(10, ["a", "b"], "t1"), page(10, ["c"], "t2"), page(10, ["d"])] });
    await until(() => w.streams.length === 1);
    expect(w.lists().map(({ path, query }) => [path, query.get("limit"), query.get("continue")])).toEqual([
      ["/apis/example.com/v1/things", "500", null],
      ["/apis/example.com/v1/things", "500", "t1"],
      ["/apis/example.com/v1/things", "500", "t2"],
    ]);
    expect(w.lists().every(({ query }) => !query.has("resourceVersion"))).toBe(true);
    expect(w.seen).toEqual(["listed a", "listed b", "listed c", "listed d", "whole team/a team/b team/c team/d"]);
  });

  it("begins anew when its token has run out, and nothing is taken for gone", async () => {
    const w = await reflect({ lists: [page(10, ["a"], "t1"), failure(410, "Expired"), page(20, ["a", "b"])] });
    await expectPause(w, 800);
    await until(() => w.streams.length === 1);
    expect(w.seen).toEqual(["listed a", "listed a", "listed b", "whole team/a team/b"]);
    expect(from(w)).toEqual(["20"]);
  });

  it("is asked for again while the API server is away", async () => {
    const w = await reflect({ lists: ["cut", { status: 500, body: "down" }, page(10, ["a"])] });
    await expectPause(w, 800);
    await expectPause(w, 1_600);
    await until(() => w.streams.length === 1);
  });
});

describe("the watch", () => {
  it("begins at the list's version, with bookmarks and a time limit of 5 to 10 minutes", async () => {
    const w = await reflect();
    await until(() => w.streams.length === 1);
    const query = w.watches()[0]?.query;
    expect(Object.fromEntries(query ?? [])).toEqual({
      watch: "true",
      allowWatchBookmarks: "true",
      resourceVersion: "10",
      timeoutSeconds: "450",
    });
  });

  it("tells changes in order", async () => {
    const w = await reflect();
    await until(() => w.streams.length === 1);
    for (const [type, version] of [
      ["ADDED", 11],
      ["MODIFIED", 12],
      ["DELETED", 13],
    ] as const) {
      w.streams[0]?.send({ type, object: thing("b", version) });
    }
    await until(() => w.seen.length === 5);
    expect(w.seen.slice(2)).toEqual(["ADDED b 11", "MODIFIED b 12", "DELETED b 13"]);
  });

  it.each([
    ["an end", (stream: Stream) => stream.end()],
    [
      "a bookmark and an end",
      (stream: Stream) => stream.end(),
      { type: "BOOKMARK", object: { metadata: { resourceVersion: "50" } } },
    ],
  ])(
    "goes on from the last version that it saw after %s, without a new list",
    async (_name, end, bookmark?: { type: string; object: unknown }) => {
      const w = await reflect();
      await until(() => w.streams.length === 1);
      w.streams[0]?.send({ type: "MODIFIED", object: thing("a", 11) });
      if (bookmark !== undefined) w.streams[0]?.send(bookmark);
      if (w.streams[0] !== undefined) end(w.streams[0]);
      await until(() => w.streams.length === 2);
      expect(from(w)).toEqual(["10", bookmark === undefined ? "11" : "50"]);
      expect(w.lists()).toHaveLength(1);
      expect(w.seen).toEqual(["listed a", "whole team/a", "MODIFIED a 11"]);
    },
  );

  it("does not parse a change that the sink has, and goes on from its version", async () => {
    const w = await reflect({ stored: { a: "11" } });
    await until(() => w.streams.length === 1);
    const line = JSON.stringify({ type: "MODIFIED", object: { metadata: inOrder("a", 11), spec: {} } });
    w.streams[0]?.raw(`${line.replace('"spec":{}', '"spec":{no JSON}')}\n`);
    w.streams[0]?.end();
    await until(() => w.streams.length === 2);
    expect([from(w), w.lists().length, w.seen]).toEqual([["10", "11"], 1, ["listed a", "whole team/a"]]);
  });

  it("is not taken back by a bookmark that others have overtaken: what is gone would be shown again", async () => {
    const w = await reflect();
    await until(() => w.streams.length === 1);
    w.streams[0]?.send({ type: "DELETED", object: thing("a", 11) });
    w.streams[0]?.send({ type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } });
    w.streams[0]?.end();
    await until(() => w.streams.length === 2);
    expect(from(w)).toEqual(["10", "11"]);
  });

  it("goes on after a cut connection, and never delivers half a line", async () => {
    const w = await reflect();
    await until(() => w.streams.length === 1);
    w.streams[0]?.send({ type: "MODIFIED", object: thing("a", 11) });
    w.streams[0]?.raw(JSON.stringify({ type: "MODIFIED", object: thing("a", 12) }).slice(0, -1));
    await until(() => w.seen.length === 3);
    w.streams[0]?.cut();
    await expectPause(w, 800);
    await until(() => w.streams.length === 2);
    expect([from(w), w.seen.at(-1)]).toEqual([["10", "11"], "MODIFIED a 11"]);
  });

  it("never delivers a line whose end is missing, even if the stream ends well", async () => {
    const w = await reflect();
    await until(() => w.streams.length === 1);
    w.streams[0]?.send({ type: "MODIFIED", object: thing("a", 11) });
    w.streams[0]?.raw(JSON.stringify({ type: "MODIFIED", object: thing("a", 12) }));
    w.streams[0]?.end();
    await until(() => w.streams.length === 2);
    expect([from(w), w.seen.at(-1)]).toEqual([["10", "11"], "MODIFIED a 11"]);
  });

  it("takes a line that comes in pieces", async () => {
    const w = await reflect();
    await until(() => w.streams.length === 1);
    const line = `${JSON.stringify({ type: "MODIFIED", object: { ...thing("a", 11), spec: { text: "große Überraschung 🚢" } } })}\n`;
    for (const piece of line.match(/.{1,7}/gsu) ?? []) {
      w.streams[0]?.raw(piece);
      await settle();
    }
    await until(() => w.seen.at(-1) === "MODIFIED a 11");
  });
});

describe("a version that is gone", () => {
  const error = (code: number, message: string): Answer => ({
    stream: (stream) => {
      stream.send({ type: "ERROR", object: { kind: "Status", code, message } });
      stream.end();
    },
  });
  it.each<[string, Answer]>([
    ["410 as a status", failure(410, "Expired", "too old resource version")],
    ["410 in the stream", error(410, "too old resource version: 10 (99)")],
    ["too large, as a status", failure(504, "Timeout", "Too large resource version: 10, current: 5")],
    ["too large, in the stream", error(504, "Too large resource version: 10, current: 5")],
  ])("makes a new list necessary: %s", async (_name, watch) => {
    const w = await reflect({ lists: [page(10, ["a", "b"]), page(20, ["b"])], watches: [watch] });
    await expectPause(w, 800);
    await until(() => w.streams.length === 1);
    expect(w.seen).toEqual(["listed a", "listed b", "whole team/a team/b", "listed b", "whole team/b"]);
    expect(from(w)).toEqual(["10", "20"]);
  });

  it.each<[string, Answer]>([
    ["another error in the stream", error(500, "etcd leader changed")],
    ["a refusal", failure(403, "Forbidden")],
    ["a failing server", { status: 502, body: "<html>bad gateway" }],
    ["a line that is not JSON", { stream: (stream) => stream.raw("{]\n") }],
  ])("is not what %s says: the watch goes on from where it was", async (_name, watch) => {
    const w = await reflect({ watches: [watch] });
    await expectPause(w, 800);
    await until(() => w.streams.length === 1);
    expect([from(w), w.lists().length]).toEqual([["10", "10"], 1]);
  });

  it("ends the stream with any error: nothing after it is believed", async () => {
    const w = await reflect();
    await until(() => w.streams.length === 1);
    w.streams[0]?.send({ type: "ERROR", object: { kind: "Status", code: 500 } });
    w.streams[0]?.send({ type: "DELETED", object: thing("a", 99) });
    await expectPause(w, 800);
    expect(w.seen).toEqual(["listed a", "whole team/a"]);
  });
});

describe("pauses", () => {
  const slow: Answer = { status: 429, headers: { "retry-after": "7" }, body: "slow down" };

  it("are what a 429 asks for, up to a fifth longer", async () => {
    const w = await reflect({ watches: [slow, slow] });
    await expectPause(w, 7_700);
    await expectPause(w, 7_700);
    await until(() => w.streams.length === 1);
  });

  it("are never shorter than the own backoff", async () => {
    const hasty: Answer = { status: 429, headers: { "retry-after": "0" }, body: "at once" };
    const w = await reflect({ watches: [...Array.from({ length: 7 }, () => hasty), slow] });
    for (const ms of [800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]) await expectPause(w, ms);
    await until(() => w.streams.length === 1);
  });

  it("grow from 0.8 s to 30 s while watches end at once without an event", async () => {
    const w = await reflect({ watches: Array.from({ length: 8 }, () => ends) });
    for (const ms of [800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]) await expectPause(w, ms);
    await until(() => w.streams.length === 1);
    expect(w.lists()).toHaveLength(1);
  });

  it("are forgotten after two healthy minutes", async () => {
    const w = await reflect({ watches: [ends, ends] });
    await expectPause(w, 800);
    await expectPause(w, 1_600);
    await until(() => w.streams.length === 1);
    await w.clock.advance(121_000);
    w.streams[0]?.end();
    await until(() => w.streams.length === 2);
    w.streams[1]?.cut();
    await expectPause(w, 800);
  });

  it("are forgotten after two healthy minutes that a broken connection ends", async () => {
    const w = await reflect({ watches: [ends, ends] });
    await expectPause(w, 800);
    await expectPause(w, 1_600);
    await until(() => w.streams.length === 1);
    await w.clock.advance(121_000);
    w.streams[0]?.cut();
    await expectPause(w, 800);
  });

  it("are not forgotten sooner", async () => {
    const w = await reflect({ watches: [ends, ends] });
    await expectPause(w, 800);
    await expectPause(w, 1_600);
    await until(() => w.streams.length === 1);
    await w.clock.advance(60_000);
    w.streams[0]?.end();
    await until(() => w.streams.length === 2);
    w.streams[1]?.cut();
    await expectPause(w, 3_200);
  });
});

describe("stopping", () => {
  it("ends an open watch at once", async () => {
    const w = await reflect();
    await until(() => w.streams.length === 1);
    await w.stop();
    expect(w.clock.timers()).toBe(0);
  });

  it("ends a pause at once", async () => {
    const w = await reflect({ lists: ["cut"] });
    await until(() => w.clock.timers() === 1);
    await w.stop();
    expect(w.clock.timers()).toBe(0);
  });
});

describe("a streamed list", () => {
  const ended = (version: number) => ({
    type: "BOOKMARK",
    object: {
      metadata: { resourceVersion: String(version), annotations: { "k8s.io/initial-events-end": "true" } },
    },
  });

  /** A reflector whose server streams lists; `streams` are its watches in order. */
  async function streamed(stored: Readonly<Record<string, string>> = {}) {
    const restored: RestoredError[] = [];
    const clock = createFakeClock();
    const seen: string[] = [];
    const streams: Stream[] = [];
    const api = await scriptedApi(() => ({ stream: (stream) => void streams.push(stream) }));
    const stop = new AbortController();
    const run = runReflector(
      {
        client: api.client,
        resource: things,
        clock,
        random: () => 0.5,
        log: silentLog,
        onRestored: (error) => restored.push(error),
        sink: {
          listed(object) {
            seen.push(`listed ${object.metadata.name}`);
            return stored[object.metadata.name];
          },
          listEnded: (keys) => seen.push(`whole ${[...keys].join(" ")}`),
          changed: (type, object) => seen.push(`${type} ${object.metadata.name}`),
          has: () => false,
        },
      },
      stop.signal,
    );
    onTestFinished(async () => {
      stop.abort(new Error("stop"));
      await run;
    });
    await until(() => streams.length === 1);
    const next = async (count: number) => {
      await until(() => streams.length === count || clock.timers() > 0);
      if (streams.length < count) await clock.advance(60_000);
      await until(() => streams.length === count);
      const stream = streams[count - 1];
      if (stream === undefined) throw new Error("no stream");
      return stream;
    };
    return { api, seen, restored, first: await next(1), next };
  }

  it("is consistent, is whole at its bookmark, and goes on as a watch on the same stream", async () => {
    const w = await streamed();
    expect(Object.fromEntries(w.api.requests[0]?.query ?? [])).toMatchObject({
      watch: "true",
      sendInitialEvents: "true",
      resourceVersionMatch: "NotOlderThan",
      allowWatchBookmarks: "true",
    });
    expect(w.api.requests[0]?.query.has("resourceVersion")).toBe(false);
    w.first.send({ type: "ADDED", object: thing("a", 3) });
    w.first.send({ type: "ADDED", object: thing("b", 4) });
    w.first.send(ended(9));
    w.first.send({ type: "MODIFIED", object: thing("a", 10) });
    await until(() => w.seen.length === 4);
    expect(w.seen).toEqual(["listed a", "listed b", "whole team/a team/b", "MODIFIED a"]);
    w.first.cut();
    await w.next(2);
    expect(w.api.requests[1]?.query.get("resourceVersion")).toBe("10");
    expect(w.api.requests[1]?.query.has("sendInitialEvents")).toBe(false);
  });

  it("that breaks before its end proves nothing gone, and is asked for again", async () => {
    const w = await streamed();
    w.first.send({ type: "ADDED", object: thing("a", 3) });
    await until(() => w.seen.length === 1);
    w.first.cut();
    const second = await w.next(2);
    expect(w.api.requests[1]?.query.get("sendInitialEvents")).toBe("true");
    second.send({ type: "ADDED", object: thing("b", 5) });
    second.send(ended(9));
    await until(() => w.seen.length === 3);
    expect(w.seen).toEqual(["listed a", "listed b", "whole team/b"]);
  });

  it("comes again when the version is gone, and finds the deletions", async () => {
    const w = await streamed();
    w.first.send({ type: "ADDED", object: thing("a", 3) });
    w.first.send(ended(9));
    w.first.send({
      type: "ERROR",
      object: { kind: "Status", status: "Failure", code: 410, reason: "Expired", message: "too old resource version" },
    });
    const second = await w.next(2);
    expect(w.api.requests[1]?.query.get("sendInitialEvents")).toBe("true");
    second.send(ended(12));
    await until(() => w.seen.length === 3);
    expect(w.seen[2]).toBe("whole ");
  });

  it("that shows an object older than the stored one, though the stored version is not later than the list, shows a restore", async () => {
    const w = await streamed({ a: "7" });
    w.first.send({ type: "ADDED", object: thing("a", 3) });
    w.first.send(ended(9));
    await until(() => w.restored.length === 1);
    expect(String(w.restored[0])).toContain("the list of things of version 9 has team/a older than 7, seen before");
    expect(w.seen).toEqual(["listed a"]);
  });

  it.each([
    { what: "of a server that lags behind the write", end: 6, later: [] },
    { what: "during which the object was written", end: 9, later: [thing("a", 7)] },
  ])("$what shows no restore", async ({ end, later }) => {
    const w = await streamed({ a: "7" });
    for (const object of [thing("a", 3), ...later]) w.first.send({ type: "ADDED", object });
    w.first.send(ended(end));
    await until(() => w.seen.at(-1) === "whole team/a");
    expect(w.restored).toEqual([]);
  });
});

describe("an API server that was restored from a backup", () => {
  it("shows an object older than the stored one in a list that is later than both", async () => {
    const body = { metadata: { resourceVersion: "20" }, items: [thing("a", 3)] };
    const w = await reflect({ lists: [{ body }], stored: { a: "7" } });
    await until(() => w.restored.length === 1, w);
    expect(w.seen).toEqual(["listed a"]);
  });

  const tooLarge: Answer = failure(504, "Timeout", "Too large resource version: 10, current: 7");

  it("ends the reflector before it shows an object of the older list", async () => {
    const w = await reflect({ lists: [page(10, ["a"]), page(7, ["a", "b"])], watches: [tooLarge] });
    await until(() => w.restored.length === 1, w);
    expect(w.seen).toEqual(["listed a", "whole team/a"]);
    expect(String(w.restored[0])).toContain("resource version 7, lower than 10");
    const requests = w.api.requests.length;
    await w.clock.advance(60_000);
    expect(w.api.requests.length).toBe(requests);
  });

  it("counts the versions that a watch has shown", async () => {
    const w = await reflect({ lists: [page(10, ["a"]), page(11, ["a"])] });
    await until(() => w.streams.length === 1, w);
    w.streams[0]?.send({ type: "MODIFIED", object: thing("a", 12) });
    w.streams[0]?.send({ type: "ERROR", object: { code: 410, reason: "Expired" } });
    await until(() => w.restored.length === 1, w);
    expect(String(w.restored[0])).toContain("resource version 11, lower than 12");
  });

  it("is noticed when a watch stays silent, because its version is still to come", async () => {
    const w = await reflect({ lists: [page(10, ["a"]), page(7, ["b"])], inactivityMs: 50 });
    await until(() => w.restored.length === 1, w);
    expect(w.seen).toEqual(["listed a", "whole team/a"]);
    expect(w.watches()).toHaveLength(1);
  });

  it("is not suspected when a list shows no change", async () => {
    const w = await reflect({ lists: [page(10, ["a"]), page(10, ["a"])], watches: [tooLarge] });
    await until(() => w.streams.length === 1, w);
    expect(w.restored).toEqual([]);
  });
});
