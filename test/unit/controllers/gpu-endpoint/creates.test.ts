import { describe, expect, it } from "vitest";
import type { GpuEndpoint } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { ANNOTATIONS, type Submission } from "../../../../src/api/v1alpha1/meta.ts";
import { createCreates, createRecordOf, unshownCreateOf } from "../../../../src/controllers/gpu-endpoint/creates.ts";
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
const { uid } = record;

/** What the process `one` remembers. */
function memory() {
  const clock = createFakeClock();
  return { clock, creates: createCreates({ clock, identity: "one" }) };
}

describe("the record of an object", () => {
  it.each<{ name: string; annotation: SubmissionRecord | string | undefined }>([
    { name: "there is none", annotation: undefined },
    { name: "it is of the object that this one was copied from", annotation: createOf({ uid: "another" }) },
    { name: "it is of another object and names this UID", annotation: createOf({ uid: "another", id: uid }) },
    { name: "it is broken", annotation: `{"uid":"${uid}",` },
    { name: "it is no object", annotation: JSON.stringify([uid]) },
    { name: "an ID is too long", annotation: createOf({ id: "i".repeat(257) }) },
    { name: "the sender is too long", annotation: createOf({ sender: "s".repeat(513) }) },
    { name: "the attempt is no count", annotation: createOf({ attempt: 0 }) },
    { name: "the time is none", annotation: createOf({ time: "yesterday" }) },
  ])("is ignored when $name", ({ annotation }) => {
    expect(createRecordOf(objectWith(annotation))).toBeUndefined();
    expect(memory().creates.find(objectWith(annotation)).entry).toBeUndefined();
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

describe("who sent it", () => {
  it("an open record of another process is a create whose outcome is unknown", () => {
    const theirs = createOf({ sender: "another" });
    const { creates } = memory();
    expect([creates.peek(objectWith(theirs)), creates.unsent(objectWith(theirs))]).toEqual([theirs, undefined]);
  });

  it("an open record of this process that it did not begin was never sent", () => {
    const { creates } = memory();
    expect([creates.peek(objectWith(record)), creates.unsent(objectWith(record))]).toEqual([undefined, record]);
  });

  it("a create that this process began is open, with its outcome, until the status shows it", () => {
    const { creates } = memory();
    creates.begin(objectWith(record), record);
    expect([creates.peek(objectWith(record)), creates.unsent(objectWith(record))]).toEqual([record, undefined]);
    creates.answered(uid, { endpointID: "ep-1" });
    expect(creates.peek(objectWith(record))).toEqual({ ...record, outcome: { endpointID: "ep-1" } });
    expect(creates.created("ep-1").map(({ metadata }) => metadata.uid)).toEqual([uid]);
    creates.observe(objectWith(record));
    expect(creates.created("ep-1")).toHaveLength(1);

    creates.observe(objectWith(record, { state: "Accepted" }));
    expect([creates.peek(objectWith(record, { state: "Accepted" })), creates.created("ep-1")]).toEqual([undefined, []]);
  });

  it("it stays known without the annotation, which users can remove", () => {
    const { creates } = memory();
    creates.begin(objectWith(record), record);
    expect(creates.peek(objectWith(undefined))).toEqual(record);
  });

  it("a status that loses an outcome does not make the create unsent", () => {
    const { creates } = memory();
    creates.begin(objectWith(record), record);
    creates.answered(uid, { endpointID: "ep-1" });
    creates.observe(objectWith(record, { state: "Accepted" }));
    expect([creates.unsent(objectWith(record)), creates.peek(objectWith(record))]).toEqual([undefined, record]);
  });

  it("one that had no effect is not open any more", () => {
    const { creates } = memory();
    creates.begin(objectWith(record), record);
    creates.end(uid);
    expect(creates.peek(objectWith(record))).toBeUndefined();
  });
});

it("objects that are gone while their create is open are those of the key, without the one that has it now", () => {
  const { creates } = memory();
  const gone = { ...record, uid: "gone" };
  const endpoint = objectWith(record);
  creates.begin(endpoint, record);
  creates.begin({ ...endpoint, metadata: { ...endpoint.metadata, uid: "gone" } }, gone);
  const uids = (key: string, present?: string) => creates.departed(key, present).map(({ metadata }) => metadata.uid);
  expect([uids("team/echo", uid), uids("team/echo"), uids("team/other")]).toEqual([["gone"], [uid, "gone"], []]);
  creates.end("gone");
  expect(uids("team/echo", uid)).toEqual([]);
});

describe("for how long an outcome is unknown", () => {
  const theirs = (id: string) => objectWith(createOf({ id, sender: "another", time: "2020-01-01T00:00:00Z" }));

  it("is counted from the first look on, however old the record is", async () => {
    const { clock, creates } = memory();
    expect(creates.find(theirs("a")).unknownForMs).toBe(0);
    await clock.advance(30_000);
    expect(creates.find(theirs("a")).unknownForMs).toBe(30_000);
    await clock.advance(30_000);
    expect(creates.find(theirs("a")).unknownForMs).toBe(60_000);
  });

  it("begins anew with another attempt, and after a time in which it was known", async () => {
    const { clock, creates } = memory();
    creates.find(theirs("a"));
    await clock.advance(30_000);
    expect(creates.find(theirs("b")).unknownForMs).toBe(0);
    await clock.advance(30_000);
    expect(creates.find(objectWith(undefined)).unknownForMs).toBe(0);
    expect(creates.find(theirs("b")).unknownForMs).toBe(0);
  });

  it("is no time when the endpoint is known", async () => {
    const { clock, creates } = memory();
    creates.begin(objectWith(record), record);
    creates.find(objectWith(record));
    await clock.advance(30_000);
    creates.answered(uid, { endpointID: "ep-1" });
    expect(creates.find(objectWith(record)).unknownForMs).toBe(0);
  });
});
