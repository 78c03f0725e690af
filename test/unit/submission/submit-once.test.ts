import { describe, expect, it } from "vitest";
import { gpuEndpointResource } from "../../../src/api/v1alpha1/kinds.ts";
import type { KubeObject } from "../../../src/kube/types.ts";
import { type Delivery, ServiceError } from "../../../src/provider/errors.ts";
import type { SubmissionRecord } from "../../../src/submission/record.ts";
import { AcceptedError, type SubmitOnceRequest, submitOnce } from "../../../src/submission/submit-once.ts";
import { createOf } from "../../support/endpoints.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const KEY = "version-of-key";
const { id, time: _time, sender, ...request } = createOf();
const record = { ...request, id, sender, keyVersion: KEY };
const resource = gpuEndpointResource;

type Recorded = KubeObject<unknown, SubmissionRecord>;
const object: Recorded = { metadata: { name: "echo", namespace: "team", uid: record.uid }, spec: {} };

const serviceError = (delivery: Delivery) =>
  new ServiceError({ operation: "createEndpoint", kind: "ServerError", delivery, message: delivery });

/** Things that go wrong, each at a time of its own. */
type Trouble = {
  /** Thrown before `commit` is called: the rate limit, the rules of the interface. */
  beforeCommit?: Error;
  /** Calls of a check that pass before it throws. */
  unwantedAfter?: number;
  keyChangedAfter?: number;
  abortedAfterStore?: boolean;
  notStored?: boolean;
  withoutCommit?: boolean;
  /** A read shows that another installation serves the account. */
  servedElsewhere?: boolean;
  storeMs?: number;
  /** Thrown after `beforeSend`. */
  response?: Error;
};

/** `stored`: the records that the object has, one after the other. `sent`: what was stored at the first byte of each request. */
async function run(trouble: Trouble = {}) {
  const throwsAfter = (calls: number | undefined, message: string) => () => {
    if (calls !== undefined && calls-- <= 0) throw new Error(message);
  };
  const ending = new AbortController();
  const clock = createFakeClock();
  const stored: SubmissionRecord[] = [];
  const sent: SubmissionRecord[][] = [];
  let { keyChangedAfter = 9 } = trouble;
  const options: SubmitOnceRequest<Recorded, { id: string }> = {
    ...request,
    // The first call is that of the record.
    keyVersion: () => (keyChangedAfter-- < 0 ? "another" : KEY),
    object: {
      resource,
      latest: () => object,
      async write(latest, next) {
        await clock.advance(trouble.storeMs ?? 0);
        if (trouble.notStored === true) throw new Error("not stored");
        stored.push({ ...next });
        return { ...latest, status: { ...next } };
      },
      shown: ({ status }) => status,
      mayWrite: () => true,
    },
    confirmServing: async () => throwsAfter(trouble.servedElsewhere === true ? 0 : undefined, "served elsewhere")(),
    assertWanted: throwsAfter(trouble.unwantedAfter, "deleted"),
    async send({ commit, beforeSend }) {
      if (trouble.beforeCommit !== undefined) throw trouble.beforeCommit;
      await clock.advance(60_000); // the rate limit
      if (trouble.withoutCommit !== true) await commit();
      if (trouble.abortedAfterStore === true) ending.abort(new Error("stopping"));
      beforeSend();
      sent.push([...stored]);
      if (trouble.response !== undefined) throw trouble.response;
      return { id: "ep-1" };
    },
    maxStoreMs: 30_000,
    signal: ending.signal,
  };
  const deps = {
    clock,
    random: () => 0.5,
    reader: { read: async () => ({ kind: "NotFound" as const }) },
    newID: () => id,
    identity: sender,
  };
  const result = await submitOnce(deps, options);
  return { result, stored, sent };
}

describe("a request that is sent at most once", () => {
  it("leaves only after its record is stored, with the time of the write", async () => {
    const { result, sent } = await run();
    expect(result).toMatchObject({ kind: "Accepted", value: { id: "ep-1" } });
    expect(sent).toEqual([[{ ...record, time: "2026-03-01T00:01:00Z" }]]);
    expect(sent).toEqual([[result.record]]);
  });

  it.each<{ name: string; trouble: Trouble; stored: number; recorded: boolean }>([
    {
      name: "the call fails before the record",
      trouble: { beforeCommit: serviceError("NotSent") },
      stored: 0,
      recorded: false,
    },
    { name: "the object goes before the record", trouble: { unwantedAfter: 0 }, stored: 0, recorded: false },
    { name: "the object goes during the write", trouble: { unwantedAfter: 1 }, stored: 1, recorded: true },
    { name: "the key changes before the record", trouble: { keyChangedAfter: 0 }, stored: 0, recorded: false },
    { name: "the key changes during the write", trouble: { keyChangedAfter: 1 }, stored: 1, recorded: true },
    { name: "the signal aborts after the write", trouble: { abortedAfterStore: true }, stored: 1, recorded: true },
    { name: "the record is not surely stored", trouble: { notStored: true }, stored: 0, recorded: true },
    { name: "the write takes too long", trouble: { storeMs: 30_001 }, stored: 1, recorded: true },
    { name: "another installation serves the account", trouble: { servedElsewhere: true }, stored: 0, recorded: false },
    { name: "the call skips the record", trouble: { withoutCommit: true }, stored: 0, recorded: false },
  ])("does not leave when $name", async ({ trouble, stored, recorded }) => {
    const { result, ...seen } = await run(trouble);
    expect(result).toMatchObject({ kind: "NotSent", recorded });
    expect([seen.stored.length, seen.sent.length]).toEqual([stored, 0]);
  });

  it.each<{ name: string; trouble: Trouble; kind: string }>([
    { name: "the write takes long", trouble: { storeMs: 30_000 }, kind: "Accepted" },
    { name: "no connection comes about", trouble: { response: serviceError("NotSent") }, kind: "NotSent" },
    { name: "the service refuses", trouble: { response: serviceError("Refused") }, kind: "Refused" },
    { name: "the response proves nothing", trouble: { response: serviceError("Unknown") }, kind: "Unknown" },
    { name: "another error follows the request", trouble: { response: new Error("disk full") }, kind: "Unknown" },
    {
      name: "the service accepts, and its response cannot be used",
      trouble: { response: new AcceptedError(new Error("no ID")) },
      kind: "Unusable",
    },
  ])("is $kind, and not sent again, when $name", async ({ trouble, kind }) => {
    const { result, stored, sent } = await run(trouble);
    expect([result.kind, stored.length, sent.length]).toEqual([kind, 1, 1]);
  });
});
