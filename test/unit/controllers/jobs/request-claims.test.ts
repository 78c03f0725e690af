import { describe, expect, it } from "vitest";
import { createRequestClaims, isUnderWay, requestIndex } from "../../../../src/controllers/jobs/request-claims.ts";
import type { Job, JobStatus } from "../../../../src/controllers/jobs/types.ts";
import { videoJobOf } from "../../../support/jobs.ts";

function job(name: string, status?: Partial<JobStatus>, store = "results"): Job {
  const one = videoJobOf("image", { output: { storeRef: { name: store } } }, status && { conditions: [], ...status });
  return { ...one, metadata: { ...one.metadata, name, uid: `uid-${name}` } };
}

const submission = { id: "1", specHash: "h", attempt: 1, time: "2026-03-01T00:00:00Z" };

describe("a request whose results are reused", () => {
  it("is sent by one job: the others wait until it gives up its claim", () => {
    const claims = createRequestClaims(() => []);
    expect(claims.claim("hash", job("one"))).toBeUndefined();
    expect(claims.claim("hash", job("one"))).toBeUndefined();
    expect(claims.claim("hash", job("two"))).toBe("one");
    claims.release("uid-one");
    expect(claims.claim("hash", job("two"))).toBeUndefined();
    expect(claims.claim("hash", job("one"))).toBe("two");
  });

  it("is another one in another store", () => {
    const claims = createRequestClaims(() => []);
    claims.claim("hash", job("one"));
    expect(claims.claim("hash", job("two", undefined, "other"))).toBeUndefined();
  });

  it("is free when its job asks for another one by now", () => {
    const claims = createRequestClaims(() => []);
    claims.claim("hash", job("one"));
    claims.claim("changed", job("one"));
    expect(claims.claim("hash", job("two"))).toBeUndefined();
  });

  it("belongs to a job whose status shows that it was sent, also one of an earlier process", () => {
    const sent = job("one", { phase: "Queued", reuseKey: "hash" });
    const claims = createRequestClaims((index) => (index === requestIndex(sent, "hash") ? [sent] : []));
    expect(claims.claim("hash", job("two"))).toBe("one");
    expect(claims.claim("hash", sent)).toBeUndefined();
  });
});

it.each<[string, Partial<JobStatus>, boolean]>([
  ["waits", { phase: "Pending", reuseKey: "hash" }, false],
  [
    "is about to be sent",
    { phase: "Pending", reuseKey: "hash", submission: { ...submission, state: "Intended" } },
    true,
  ],
  ["was not taken", { phase: "Pending", reuseKey: "hash", submission: { ...submission, state: "NotSent" } }, false],
  ["has a task", { phase: "Running", reuseKey: "hash" }, true],
  [
    "has a task, and the API server refused the rest of the status",
    { phase: "Pending", reuseKey: "hash", taskID: "task-1", submission: { ...submission, state: "Accepted" } },
    true,
  ],
  [
    "is sent again after its task has failed",
    { phase: "Pending", reuseKey: "hash", submission: { ...submission, state: "Accepted" } },
    false,
  ],
  ["is being copied", { phase: "Storing", reuseKey: "hash" }, true],
  ["has an unknown outcome", { phase: "Halted", reuseKey: "hash" }, true],
  ["has its results", { phase: "Succeeded", reuseKey: "hash" }, false],
  ["failed", { phase: "Failed", reuseKey: "hash" }, false],
  ["is not reused", { phase: "Running" }, false],
])("a request that %s may still bring results to the store: %#", (_name, status, expected) => {
  expect(isUnderWay(job("one", status))).toBe(expected);
});
