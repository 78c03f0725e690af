import { describe, expect, it } from "vitest";
import type { Resource } from "../../../src/kube/resource.ts";
import type { KubeObject } from "../../../src/kube/types.ts";
import {
  createEventMemory,
  createEventRecorder,
  type EventRecorder,
  MOST_REMEMBERED,
} from "../../../src/runtime/recorder.ts";
import { createFakeClock, type FakeClock, until } from "../../support/fake-clock.ts";
import { failure, type Script, type ScriptedApi, scriptedApi, silentLog } from "../../support/scripted-api-server.ts";

const things: Resource = { group: "example.com", version: "v1", plural: "things", kind: "Thing", namespaced: true };
const forever = new AbortController().signal;

const thing = (uid = "uid-a"): KubeObject => ({
  kind: "Thing",
  metadata: { name: "a", namespace: "team", uid, resourceVersion: "7" },
  spec: {},
});

type World = { api: ScriptedApi; clock: FakeClock; recorder: EventRecorder };

async function world(script: Script = () => ({ status: 201 })): Promise<World> {
  const api = await scriptedApi(script);
  const clock = createFakeClock();
  const recorder = createEventRecorder({
    client: api.client,
    clock,
    log: silentLog,
    controller: "mooring.dev/operator",
    instance: "one",
    resourceOf: () => things,
  });
  return { api, clock, recorder };
}

describe("an event", () => {
  it("says what happened to which object, in events.k8s.io/v1 with microseconds", async () => {
    const { api, recorder } = await world();
    recorder.warning(thing(), "Refused", "Update", "no such product");
    await recorder.flush(forever);
    expect(api.requests).toMatchObject([
      {
        method: "POST",
        path: "/apis/events.k8s.io/v1/namespaces/team/events",
        body: {
          apiVersion: "events.k8s.io/v1",
          kind: "Event",
          metadata: { name: expect.stringMatching(/^a\.[0-9a-f]+$/), namespace: "team" },
          eventTime: "2026-03-01T00:00:00.000000Z",
          reportingController: "mooring.dev/operator",
          reportingInstance: "one",
          type: "Warning",
          reason: "Refused",
          action: "Update",
          note: "no such product",
          regarding: {
            apiVersion: "example.com/v1",
            kind: "Thing",
            name: "a",
            namespace: "team",
            uid: "uid-a",
            resourceVersion: "7",
          },
        },
      },
    ]);
  });

  it("of a cluster-scoped object goes to the namespace default", async () => {
    const { api, recorder } = await world();
    recorder.normal({ metadata: { name: "a", uid: "u" }, spec: {} }, "R", "A", "n");
    await recorder.flush(forever);
    expect(api.requests[0]?.path).toBe("/apis/events.k8s.io/v1/namespaces/default/events");
    expect(api.requests[0]?.body).toMatchObject({ regarding: { name: "a" } });
    expect(api.requests[0]?.body).not.toHaveProperty("regarding.namespace");
  });

  it.each([
    ["plain", "x".repeat(5_000), 1_021],
    ["three bytes each", "账户余额不足".repeat(300), 340],
    ["two units each", "🚢".repeat(2_000), 510],
  ])("is cut to the 1,024 bytes that the API takes, by whole characters: %s", async (_name, text, units) => {
    const { api, recorder } = await world();
    recorder.normal(thing(), "R", "A", text);
    await recorder.flush(forever);
    const cut = `${text.slice(0, units)}…`;
    expect(api.requests[0]?.body).toMatchObject({ note: cut });
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(1_024);
  });

  it("has a name of its own, also within one millisecond", async () => {
    const { api, recorder } = await world();
    for (const note of ["one", "two"]) recorder.normal(thing(), "R", "A", note);
    await recorder.flush(forever);
    const names = api.requests.map(({ body }) => (body as KubeObject).metadata.name);
    expect(new Set(names).size).toBe(2);
  });
});

describe("the same event again", () => {
  it("counts up a series", async () => {
    const { api, clock, recorder } = await world();
    for (let i = 0; i < 3; i++) {
      recorder.normal(thing(), "R", "A", "n");
      await clock.advance(60_000);
    }
    await recorder.flush(forever);
    const [name] = api.requests.map(({ body }) => (body as KubeObject).metadata?.name);
    const patches = api.requests.slice(1);
    expect(patches.map(({ method, path, body }) => [method, path, body])).toEqual(
      [2, 3].map((count) => [
        "PATCH",
        `/apis/events.k8s.io/v1/namespaces/team/events/${name}`,
        { series: { count, lastObservedTime: `2026-03-01T00:0${count - 1}:00.000000Z` } },
      ]),
    );
  });

  it("is a new event after six quiet minutes", async () => {
    const { api, clock, recorder } = await world();
    recorder.normal(thing(), "R", "A", "n");
    await clock.advance(360_001);
    recorder.normal(thing(), "R", "A", "n");
    await recorder.flush(forever);
    expect(api.requests.map(({ method }) => method)).toEqual(["POST", "POST"]);
  });

  it.each<{ name: string; emit: (recorder: EventRecorder) => void }>([
    { name: "another object", emit: ({ normal }) => normal(thing("uid-b"), "R", "A", "n") },
    { name: "another type", emit: ({ warning }) => warning(thing(), "R", "A", "n") },
    { name: "another reason", emit: ({ normal }) => normal(thing(), "R2", "A", "n") },
    { name: "another action", emit: ({ normal }) => normal(thing(), "R", "A2", "n") },
    { name: "another note", emit: ({ normal }) => normal(thing(), "R", "A", "n2") },
  ])("is not what differs in $name", async ({ emit }) => {
    const { api, recorder } = await world();
    recorder.normal(thing(), "R", "A", "n");
    emit(recorder);
    await recorder.flush(forever);
    expect(api.requests.map(({ method }) => method)).toEqual(["POST", "POST"]);
  });
});

describe("too many events", () => {
  it("of one object are held back after 25, then one in five minutes; others are not", async () => {
    const { api, clock, recorder } = await world();
    for (let i = 0; i < 40; i++) recorder.normal(thing(), "R", "A", `n${i}`);
    await recorder.flush(forever);
    expect(api.requests).toHaveLength(25);
    recorder.normal(thing("uid-b"), "R", "A", "n");
    await recorder.flush(forever);
    expect(api.requests).toHaveLength(26);
    await clock.advance(300_000);
    for (let i = 0; i < 5; i++) recorder.normal(thing(), "R", "A", `m${i}`);
    await recorder.flush(forever);
    expect(api.requests).toHaveLength(27);
  });

  it("never fill the memory while the API server is slow: the oldest go", async () => {
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const { api, recorder } = await world(() => opened.then(() => ({ status: 201 })));
    for (let i = 0; i < 1_500; i++) recorder.normal(thing(`uid-${i}`), "R", "A", `n${i}`);
    open();
    await recorder.flush(forever);
    const notes = api.requests.map(({ body }) => (body as { note: string }).note);
    expect(notes).toHaveLength(1_001);
    expect([notes[0], notes[1], notes.at(-1)]).toEqual(["n0", "n500", "n1499"]);
  });

  it("of one namespace neither delay nor replace those of another", async () => {
    const { api, clock, recorder } = await world();
    const busy = (i: number) => {
      const object = thing(`uid-${i}`);
      recorder.normal({ ...object, metadata: { ...object.metadata, namespace: "busy" } }, "R", "A", `n${i}`);
    };
    const sent = () => api.requests.filter(({ path }) => path.includes("/namespaces/team/")).length;
    for (let i = 0; i < 2_000; i++) busy(i);
    recorder.warning(thing(), "R", "A", "of a quiet namespace");
    // 1,000 events in a line take 50 s.
    await until(() => sent() === 1, { clock, stepMs: 10 });
    expect(api.requests.length).toBeLessThan(100);
    // An event that waits goes neither when the queue is full.
    for (let i = 0; i < 20; i++) recorder.normal(thing(`quiet-${i}`), "R", "A", `m${i}`);
    for (let i = 2_000; i < 4_000; i++) busy(i);
    await recorder.flush(forever);
    expect(sent()).toBe(21);
  });

  it("of type Normal neither delay nor replace Warnings of the same namespace", async () => {
    const { api, clock, recorder } = await world();
    const warnings = () => api.requests.filter(({ body }) => (body as { type?: string }).type === "Warning").length;
    for (let i = 0; i < 500; i++) recorder.normal(thing(`uid-${i}`), "R", "A", `n${i}`);
    recorder.warning(thing("uid-w"), "R", "A", "of a failure");
    await until(() => warnings() === 1, { clock, stepMs: 10 });
    expect(api.requests.length).toBeLessThan(100);
    recorder.warning(thing("uid-v"), "R", "A", "of another failure");
    for (let i = 500; i < 2_500; i++) recorder.normal(thing(`uid-${i}`), "R", "A", `n${i}`);
    await recorder.flush(forever);
    expect(warnings()).toBe(2);
  });

  it("do not hold up the end of the process", async () => {
    const { recorder } = await world(() => "silence");
    recorder.normal(thing(), "R", "A", "n");
    const stop = new AbortController();
    const flushed = recorder.flush(stop.signal);
    stop.abort();
    await flushed;
  });
});

it("an event that cannot be written harms nobody: the next is sent", async () => {
  let failed = 0;
  const { api, recorder } = await world(() => (failed++ === 0 ? failure(403, "Forbidden") : { status: 201 }));
  recorder.normal(thing(), "R", "A", "first");
  recorder.normal(thing(), "R", "A", "second");
  await recorder.flush(forever);
  expect(api.requests.map(({ body }) => (body as { note: string }).note)).toEqual(["first", "second"]);
});

it("given events without an end, what is older than six minutes is forgotten", async () => {
  const clock = createFakeClock();
  const memory = createEventMemory(clock);
  const sizes: number[] = [];
  for (let minute = 0; minute < 30; minute++) {
    for (let i = 0; i < 100; i++) {
      const key = `${minute}-${i}`;
      memory.countUp(key);
      memory.allows(key);
      memory.begin(key, { name: key, namespace: "team" });
    }
    sizes.push(memory.size());
    await clock.advance(60_000);
  }
  expect(Math.max(...sizes)).toBeLessThanOrEqual(8 * 100 + 6 * 100);
});

it("given more events than it remembers, those that happened last count up their series", () => {
  const memory = createEventMemory(createFakeClock());
  const begin = (key: string) => memory.begin(key, { name: key, namespace: "team" });
  begin("again");
  for (let at = 0; at < 3 * MOST_REMEMBERED; at++) {
    memory.allows(`uid-${at}`);
    begin(`once ${at}`);
    if (at % 100 === 0) memory.countUp("again");
  }
  expect(memory.size()).toBe(2 * MOST_REMEMBERED);
  expect(memory.countUp("again")).toMatchObject({ name: "again", count: 2 + 3 * (MOST_REMEMBERED / 100) });
  expect(memory.countUp("once 0")).toBeUndefined();
});
