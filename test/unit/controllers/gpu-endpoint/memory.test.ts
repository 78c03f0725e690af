import { describe, expect, it } from "vitest";
import type { GpuEndpoint } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { ANNOTATIONS, type Submission } from "../../../../src/api/v1alpha1/meta.ts";
import {
  createEndpointMemories,
  createRecordOf,
  textOf,
  unshownCreateOf,
} from "../../../../src/controllers/gpu-endpoint/memory.ts";
import { dropUnreadMetadata } from "../../../../src/runtime/shortened.ts";
import type { SubmissionRecord } from "../../../../src/submission/record.ts";
import { createOf, endpointOf } from "../../../support/endpoints.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

type Shown = { state: Submission["state"]; id?: string; attempt?: number };

/** The object with the record of a create. `status`: what it shows of its last create. */
function objectWith(annotation: SubmissionRecord | string | undefined, status?: Shown): GpuEndpoint {
  const { id, attempt, specHash, time } = createOf();
  const text = typeof annotation === "object" ? JSON.stringify(annotation) : annotation;
  return endpointOf(
    {},
    {
      ...(text === undefined ? {} : { annotations: { [ANNOTATIONS.create]: text } }),
      ...(status && { status: { conditions: [], submission: { id, attempt, specHash, time, ...status } } }),
    },
  );
}

const record = createOf();

/** What the process `one` remembers. */
function memory() {
  const clock = createFakeClock();
  return { clock, memories: createEndpointMemories({ clock, identity: "one" }) };
}

describe("the record of an object", () => {
  it.each<{ name: string; annotation: SubmissionRecord | string | undefined }>([
    { name: "there is none", annotation: undefined },
    { name: "it is of the object that this one was copied from", annotation: createOf({ uid: "another" }) },
    { name: "it is of another object and names this UID", annotation: createOf({ uid: "another", id: record.uid }) },
    { name: "it is broken", annotation: `{"uid":"${record.uid}",` },
    { name: "it is no object", annotation: JSON.stringify([record.uid]) },
    { name: "an ID is too long", annotation: createOf({ id: "i".repeat(257) }) },
    { name: "the sender is too long", annotation: createOf({ sender: "s".repeat(513) }) },
    { name: "the attempt is no count", annotation: createOf({ attempt: 0 }) },
    { name: "the time is none", annotation: createOf({ time: "yesterday" }) },
  ])("is ignored when $name", ({ annotation }) => {
    expect(createRecordOf(objectWith(annotation))).toBeUndefined();
    expect(memory().memories.findCreate(objectWith(annotation)).entry).toBeUndefined();
  });

  it.each<{ name: string; status: Shown | undefined; open: boolean }>([
    { name: "no create", status: undefined, open: true },
    { name: "its outcome", status: { state: "Accepted" }, open: false },
    { name: "that it was not sent", status: { state: "NotSent" }, open: false },
    { name: "an earlier one", status: { state: "Accepted", id: "earlier", attempt: 1 }, open: true },
    {
      name: "a later one: somebody restored the record",
      status: { state: "Refused", id: "x", attempt: 3 },
      open: false,
    },
    { name: "another one of this attempt", status: { state: "Refused", id: "x", attempt: 2 }, open: false },
  ])("is open, $open, when the status shows $name", ({ status, open }) => {
    const second = createOf({ attempt: 2 });
    const endpoint = objectWith(second, status && { attempt: 2, ...status });
    expect(unshownCreateOf(endpoint)).toEqual(open ? second : undefined);
  });
});

it("the longest record is read back from what the process keeps of an object", () => {
  const longest = createOf({
    id: "\u0001".repeat(256),
    operation: "o".repeat(64),
    specHash: "h".repeat(128),
    account: { kind: "ClusterAccount", name: "n".repeat(253), baseURL: "\u0001".repeat(2048) },
    keyVersion: "k".repeat(64),
    sender: "s".repeat(512),
  });
  const endpoint = objectWith(longest);
  dropUnreadMetadata(endpoint);
  expect(createRecordOf(endpoint)).toEqual(longest);
});

it("a record is parsed once, also while other objects are asked for theirs", () => {
  const objects = Array.from({ length: 64 }, (_, at) => objectWith(createOf({ id: `create-${at}` })));
  const first = objects.map(createRecordOf);
  expect(first[0]).toMatchObject({ id: "create-0" });
  for (const [at, object] of objects.entries()) expect(createRecordOf(object)).toBe(first[at]);
});

it("a record that this process writes is not parsed", () => {
  const written = createOf({ id: "written here" });
  expect(createRecordOf(objectWith(textOf(written)))).toBe(written);
});

describe("who sent it", () => {
  it("an open record of another process is a create whose outcome is unknown", () => {
    const theirs = createOf({ sender: "another" });
    const { memories } = memory();
    expect([memories.peek(objectWith(theirs)), memories.unsent(objectWith(theirs))]).toEqual([theirs, undefined]);
  });

  it("an open record of this process that it did not begin was never sent", () => {
    const { memories } = memory();
    expect([memories.peek(objectWith(record)), memories.unsent(objectWith(record))]).toEqual([undefined, record]);
  });

  it("a create that this process began is open, with its outcome, until the status shows it", () => {
    const { memories } = memory();
    memories.begin(objectWith(record), record);
    expect([memories.peek(objectWith(record)), memories.unsent(objectWith(record))]).toEqual([record, undefined]);
    memories.answered(objectWith(record), { endpointID: "ep-1" });
    expect(memories.peek(objectWith(record))).toEqual({ ...record, outcome: { endpointID: "ep-1" } });
    expect(memories.created("ep-1").map(({ metadata }) => metadata.uid)).toEqual([record.uid]);
    memories.observe(objectWith(record));
    expect(memories.created("ep-1")).toHaveLength(1);

    memories.observe(objectWith(record, { state: "Accepted" }));
    expect([memories.peek(objectWith(record, { state: "Accepted" })), memories.created("ep-1")]).toEqual([
      undefined,
      [],
    ]);
  });

  it("it stays known without the annotation, which users can remove", () => {
    const { memories } = memory();
    memories.begin(objectWith(record), record);
    expect(memories.peek(objectWith(undefined))).toEqual(record);
  });

  it("a status that loses an outcome does not make the create unsent", () => {
    const { memories } = memory();
    memories.begin(objectWith(record), record);
    memories.answered(objectWith(record), { endpointID: "ep-1" });
    memories.observe(objectWith(record, { state: "Accepted" }));
    expect([memories.unsent(objectWith(record)), memories.peek(objectWith(record))]).toEqual([undefined, record]);
  });

  it("one that had no effect is not open any more", () => {
    const { memories } = memory();
    memories.begin(objectWith(record), record);
    memories.end(objectWith(record));
    expect(memories.peek(objectWith(record))).toBeUndefined();
  });
});

describe("given another object of the same name", () => {
  const another = (uid: string) => ({ ...objectWith(record), metadata: { ...objectWith(record).metadata, uid } });

  it("what is remembered of each is its own", () => {
    const { memories } = memory();
    memories.begin(objectWith(record), record);
    memories.of(another("b")).unready = true;
    expect([memories.of(objectWith(record)).unready, memories.of(another("b")).own]).toEqual([undefined, undefined]);
    expect(memories.of(another("b")).unready).toBe(true);
  });

  it("the former objects are those of the key, without the one that has it now, and are forgotten one by one", () => {
    const { memories } = memory();
    memories.begin(objectWith(record), record);
    memories.answered(objectWith(record), { endpointID: "ep-1" });
    const gone = memories.of(another("gone"));
    const uids = (key: string, present?: string) => memories.former(key, present).map(({ uid }) => uid);
    expect([uids("team/echo", record.uid), uids("team/echo"), uids("team/other")]).toEqual([
      ["gone"],
      [record.uid, "gone"],
      [],
    ]);
    memories.forget(gone);
    expect(uids("team/echo")).toEqual([record.uid]);
    memories.forget(memories.of(objectWith(record)));
    expect([uids("team/echo"), memories.created("ep-1")]).toEqual([[], []]);
  });
});

describe("for how long an outcome is unknown", () => {
  const theirs = (id: string) => objectWith(createOf({ id, sender: "another", time: "2020-01-01T00:00:00Z" }));

  it("is counted from the first look on, however old the record is", async () => {
    const { clock, memories } = memory();
    expect(memories.findCreate(theirs("a")).unknownForMs).toBe(0);
    await clock.advance(30_000);
    expect(memories.findCreate(theirs("a")).unknownForMs).toBe(30_000);
    await clock.advance(30_000);
    expect(memories.findCreate(theirs("a")).unknownForMs).toBe(60_000);
  });

  it("begins anew with another attempt, and after a time in which it was known", async () => {
    const { clock, memories } = memory();
    memories.findCreate(theirs("a"));
    await clock.advance(30_000);
    expect(memories.findCreate(theirs("b")).unknownForMs).toBe(0);
    await clock.advance(30_000);
    expect(memories.findCreate(objectWith(undefined)).unknownForMs).toBe(0);
    expect(memories.findCreate(theirs("b")).unknownForMs).toBe(0);
  });

  it("is no time when the endpoint is known", async () => {
    const { clock, memories } = memory();
    memories.begin(objectWith(record), record);
    memories.findCreate(objectWith(record));
    await clock.advance(30_000);
    memories.answered(objectWith(record), { endpointID: "ep-1" });
    expect(memories.findCreate(objectWith(record)).unknownForMs).toBe(0);
  });
});
