import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/base/clock.ts";
import { type Delivery, ServiceError } from "../../../src/provider/errors.ts";
import type { Intent, JournalEntry } from "../../../src/submission/journal.ts";
import { createJournal } from "../../../src/submission/sharded-journal.ts";
import { type SubmitOnceRequest, submitOnce } from "../../../src/submission/submit-once.ts";
import { storedEntries } from "../../support/journal.ts";
import { createObjectStore } from "../../support/object-store.ts";
import { scriptedApi, silentLog } from "../../support/scripted-api-server.ts";

const intent: Omit<Intent, "time"> = {
  id: "intent-1",
  kind: "GpuEndpoint",
  key: "team/echo",
  uid: "u",
  operation: "createEndpoint",
  attempt: 1,
  specHash: "0",
  account: { kind: "Account", name: "default", baseURL: "https://api.example.com" },
};
const forever = new AbortController().signal;
const NO_ENTRY: JournalEntry[] = [];
const UNKNOWN = [expect.not.objectContaining({ outcome: expect.anything() })];
const OUTCOME = [expect.objectContaining({ outcome: { endpointID: "ep-1" } })];

const serviceError = (delivery: Delivery) =>
  new ServiceError({ operation: "createEndpoint", kind: "ServerError", delivery, message: delivery });

/** Things that go wrong, each at a time of its own. */
type Trouble = {
  /** Thrown before `commit` is called: the rate limit, the rules of the interface. */
  beforeCommit?: Error;
  /** Calls of a check that pass before it throws. */
  leaseLostAfter?: number;
  unwantedAfter?: number;
  abortedAfterCommit?: boolean;
  fenced?: boolean;
  commitMs?: number;
  /** Thrown after `beforeSend`. */
  response?: Error;
};

async function run(trouble: Trouble = {}) {
  const objects = createObjectStore();
  const api = await scriptedApi(objects.script);
  const parts = { client: api.client, namespace: "mooring", name: "mooring-journal", clock: systemClock };
  const journalOf = (identity: string) =>
    createJournal({ ...parts, identity, random: () => 0.5, log: silentLog, onCommit: () => {} });
  const journal = journalOf("one");
  await journal.open(forever);
  if (trouble.fenced === true) await journalOf("two").open(forever);

  const throwsAfter = (calls: number | undefined, message: string) => () => {
    if (calls !== undefined && calls-- <= 0) throw new Error(message);
  };
  const ending = new AbortController();
  let now = 0;
  const requests: JournalEntry[][] = [];
  const request: SubmitOnceRequest<{ id: string }> = {
    intent,
    assertWanted: throwsAfter(trouble.unwantedAfter, "deleted"),
    async send({ commit, beforeSend }) {
      if (trouble.beforeCommit !== undefined) throw trouble.beforeCommit;
      await commit();
      now += trouble.commitMs ?? 0;
      if (trouble.abortedAfterCommit === true) ending.abort(new Error("stopping"));
      beforeSend();
      requests.push(storedEntries(objects));
      if (trouble.response !== undefined) throw trouble.response;
      return { id: "ep-1" };
    },
    outcomeOf: ({ id }) => ({ endpointID: id }),
    maxCommitMs: 30_000,
    signal: ending.signal,
  };
  const clock = { ...systemClock, monotonic: () => now };
  const assertLeading = throwsAfter(trouble.leaseLostAfter, "lease lost");
  const result = await submitOnce({ journal, clock, assertLeading }, request);
  return { result, requests, left: journal.entries() };
}

describe("a request that is sent at most once", () => {
  it("leaves only after its intent is in etcd", async () => {
    const { result, requests } = await run();
    expect(requests).toEqual([[result.entry]]);
  });

  it.each<{ name: string; trouble: Trouble; kind: string; requests: number; left: unknown[] }>([
    { name: "nothing goes wrong", trouble: {}, kind: "Accepted", requests: 1, left: OUTCOME },
    {
      name: "the call fails before the commit",
      trouble: { beforeCommit: serviceError("NotSent") },
      kind: "NotSent",
      requests: 0,
      left: NO_ENTRY,
    },
    {
      name: "the lease is lost at first",
      trouble: { leaseLostAfter: 0 },
      kind: "NotSent",
      requests: 0,
      left: NO_ENTRY,
    },
    {
      name: "the lease is lost during the commit",
      trouble: { leaseLostAfter: 1 },
      kind: "NotSent",
      requests: 0,
      left: NO_ENTRY,
    },
    { name: "the object goes at first", trouble: { unwantedAfter: 0 }, kind: "NotSent", requests: 0, left: NO_ENTRY },
    {
      name: "the object goes during the commit",
      trouble: { unwantedAfter: 1 },
      kind: "NotSent",
      requests: 0,
      left: NO_ENTRY,
    },
    {
      name: "the signal aborts after the commit",
      trouble: { abortedAfterCommit: true },
      kind: "NotSent",
      requests: 0,
      left: NO_ENTRY,
    },
    { name: "another leader has the journal", trouble: { fenced: true }, kind: "NotSent", requests: 0, left: NO_ENTRY },
    { name: "the commit takes too long", trouble: { commitMs: 30_001 }, kind: "NotSent", requests: 0, left: NO_ENTRY },
    { name: "the commit takes long", trouble: { commitMs: 30_000 }, kind: "Accepted", requests: 1, left: OUTCOME },
    {
      name: "no connection comes about",
      trouble: { response: serviceError("NotSent") },
      kind: "NotSent",
      requests: 1,
      left: NO_ENTRY,
    },
    {
      name: "the service refuses",
      trouble: { response: serviceError("Refused") },
      kind: "Refused",
      requests: 1,
      left: NO_ENTRY,
    },
    {
      name: "the response proves nothing",
      trouble: { response: serviceError("Unknown") },
      kind: "Unknown",
      requests: 1,
      left: UNKNOWN,
    },
    {
      name: "another error follows the request",
      trouble: { response: new Error("disk full") },
      kind: "Unknown",
      requests: 1,
      left: UNKNOWN,
    },
  ])("is $kind when $name", async ({ trouble, kind, requests, left }) => {
    const { result, ...after } = await run(trouble);
    expect([result.kind, after.requests.length]).toEqual([kind, requests]);
    expect(after.left).toEqual(left);
  });

  it("writes no intent when a check fails before the commit", async () => {
    const objects = createObjectStore();
    const api = await scriptedApi(objects.script);
    const journal = createJournal({
      client: api.client,
      namespace: "mooring",
      name: "mooring-journal",
      identity: "one",
      clock: systemClock,
      random: () => 0.5,
      log: silentLog,
    });
    await journal.open(forever);
    const before = objects.writes.length;
    const assertLeading = () => {
      throw new Error("lease lost");
    };
    const { kind } = await submitOnce(
      { journal, clock: systemClock, assertLeading },
      {
        intent,
        assertWanted: () => {},
        send: ({ commit }) => commit(),
        outcomeOf: () => ({}),
        signal: forever,
      },
    );
    expect([kind, objects.writes.length - before, journal.entries()]).toEqual(["NotSent", 0, []]);
  });
});
