import { expect, it } from "vitest";
import { speechJobResource } from "../../../src/api/v1alpha1/kinds.ts";
import { KubeError } from "../../../src/kube/errors.ts";
import type { KubeObject } from "../../../src/kube/types.ts";
import { type RecordedObject, storeRecord } from "../../../src/submission/store-record.ts";
import { createOf } from "../../support/endpoints.ts";
import { createFakeClock, until } from "../../support/fake-clock.ts";

type Stored = { version: number; record?: string };
type Recorded = KubeObject<Stored>;
type Answer = "Stored" | "StoredLate" | "Pruned" | number;

const refusal = (status: number) =>
  new KubeError(`status ${status}`, { status, reason: status === 409 ? "Conflict" : "" });
const UNCLEAR = [0, 408, 429, 500, 503];

/**
 * An object at version 7, whose record `ours` is written. The API server answers each write as `answers` say, then stores it. A number
 * refuses the write with this status; `StoredLate` stores it and answers 504.
 */
function world(answers: Answer[], found: (stored: Stored) => Stored | undefined = (stored) => stored) {
  const clock = createFakeClock();
  let stored: Stored = { version: 7 };
  let storedTime: string | undefined;
  const written: number[] = [];
  const objectOf = (spec: Stored): Recorded => ({ metadata: { name: "intro", namespace: "team", uid: "uid" }, spec });
  const recorded: RecordedObject<Recorded> = {
    resource: speechJobResource,
    latest: () => objectOf(stored),
    async write({ spec: { version } }, { time }) {
      written.push(version);
      const answer = answers.shift() ?? "Stored";
      if (typeof answer === "number") throw refusal(answer);
      if (version !== stored.version) throw refusal(409);
      stored = { version: version + 1, ...(answer === "Pruned" ? {} : { record: "ours" }) };
      storedTime = time;
      if (answer === "StoredLate") throw refusal(504);
      return objectOf(stored);
    },
    shown: ({ spec }) => (spec.record === undefined ? undefined : { id: spec.record, sender: "one", time: storedTime }),
    mayWrite: ({ spec }) => spec.record === undefined,
  };
  async function read() {
    const shown = found(stored);
    // The reader knows no kind: its caller names the type.
    return shown === undefined
      ? { kind: "NotFound" as const }
      : { kind: "Found" as const, object: objectOf(shown) as never };
  }
  const ending = new AbortController();
  const change = (next: Stored) => {
    stored = next;
  };
  const record = createOf({ id: "ours", uid: "uid" });
  const store = async () => {
    let outcome: { stored: Stored } | { error: unknown } | undefined;
    const deps = { clock, random: () => 0.5, reader: { read } };
    storeRecord(deps, recorded, record, ending.signal).then(
      ({ spec }) => {
        outcome = { stored: spec };
      },
      (error: unknown) => {
        outcome = { error };
      },
    );
    await until(() => outcome !== undefined, { clock, stepMs: 1_000 });
    return outcome;
  };
  return { store, written, ending, change, record, storedTime: () => storedTime };
}

it.each([{ answers: [] }, { answers: UNCLEAR }])(
  "a record is written with the same version until the answer is clear: $answers",
  async ({ answers }) => {
    const w = world([...answers]);
    expect(await w.store()).toEqual({ stored: { version: 8, record: "ours" } });
    expect(w.written).toEqual([...answers, "Stored"].map(() => 7));
  },
);

it("a write that took effect without an answer is not written again: a read after the conflict shows the record", async () => {
  const w = world(["StoredLate"]);
  expect(await w.store()).toEqual({ stored: { version: 8, record: "ours" } });
  expect(w.written).toEqual([7, 7]);
});

it("after a change that is no other request, the record is written to the later version", async () => {
  let changed = false;
  const w = world([409], () => {
    if (!changed) w.change({ version: 9 });
    changed = true;
    return { version: 9 };
  });
  expect(await w.store()).toEqual({ stored: { version: 10, record: "ours" } });
  expect(w.written).toEqual([7, 9]);
});

it("a read after a conflict is repeated too until it is clear", async () => {
  let reads = 0;
  const w = world(["StoredLate"], (stored) => {
    if (++reads < 3) throw refusal(503);
    return stored;
  });
  expect(await w.store()).toEqual({ stored: { version: 8, record: "ours" } });
  expect([w.written, reads]).toEqual([[7, 7, 7, 7], 3]);
});

it.each<{ name: string; found: Stored | undefined }>([
  { name: "has another record", found: { version: 9, record: "theirs" } },
  { name: "is gone", found: undefined },
])("a conflict with an object that $name ends the attempt", async ({ found }) => {
  const w = world([409], () => found);
  expect(await w.store()).toMatchObject({ error: { status: 409 } });
  expect(w.written).toEqual([7]);
});

it.each([400, 403, 404, 422])("a refusal with status %s ends the attempt at once", async (status) => {
  const w = world([status]);
  expect(await w.store()).toMatchObject({ error: { status } });
  expect(w.written).toEqual([7]);
});

it("an API server that drops the record ends the attempt, and the message says what to do", async () => {
  const w = world(["Pruned"]);
  const message =
    "the API server does not store the record of the request in SpeechJob team/intro, so nothing is sent: upgrade the CRDs to the version of the operator";
  expect(await w.store()).toMatchObject({ error: { message } });
  expect(w.written).toEqual([7]);
});

it("the signal ends the attempts", async () => {
  const w = world(Array.from({ length: 100 }, () => 503));
  const stopping = new Error("stopping");
  setTimeout(() => w.ending.abort(stopping), 10);
  expect(await w.store()).toMatchObject({ error: stopping });
  expect(w.written.length).toBeGreaterThan(0);
});

it.each<{ what: string; answers: Answer[]; time: string }>([
  { what: "the write that is stored", answers: Array(8).fill(500), time: "2026-03-01T00:00:11Z" },
  { what: "an earlier write, whose answer was lost", answers: ["StoredLate"], time: "2026-03-01T00:00:00Z" },
])("the record has the time of $what", async ({ answers, time }) => {
  const w = world(answers);
  expect(await w.store()).toEqual({ stored: { version: 8, record: "ours" } });
  expect([w.storedTime(), w.record.time]).toEqual([time, time]);
});
