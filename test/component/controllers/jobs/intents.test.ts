import { describe, expect, it } from "vitest";
import type { VideoJob, VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import { hashOf, keyedHashOf } from "../../../../src/controllers/hash.ts";
import { videoRequest } from "../../../../src/controllers/jobs/requests/video.ts";
import type { JournalEntry } from "../../../../src/submission/journal.ts";
import { entryOf } from "../../../support/jobs.ts";
import { intended, jobWorld, other, UID } from "./intent-world.ts";

describe("the status of a job", () => {
  it("shows the intent before the request is sent, and the outcome after it", async () => {
    const w = await jobWorld({});
    await w.reconcile();
    expect(w.job()?.status?.submission).toMatchObject({ attempt: 1, state: "Intended", journal: w.journal.id(UID) });
    await w.woken();
    await w.reconcile();
    expect(w.steps).toEqual(["status Pending Intended", "request", "status Queued Accepted"]);
    expect(w.job()?.status?.submission).not.toHaveProperty("journal", expect.anything());
  });

  it("has a new intent, at the same account, for a request that an earlier process did not send", async () => {
    const w = await jobWorld({ status: intended });
    await w.reconcile();
    const { submission, account } = w.job()?.status ?? {};
    expect(submission).toMatchObject({ attempt: 1, state: "Intended", journal: w.journal.id(UID) });
    expect(submission?.id).not.toBe("intent-1");
    expect(account).toMatchObject({ kind: "ClusterAccount", name: "other" });
  });

  it("shows that a request without effect was not sent", async () => {
    const w = await jobWorld({ answer: () => ({ status: 429, body: { code: 429, reason: "RATE_LIMIT_EXCEEDED" } }) });
    await w.reconcile();
    await w.woken();
    await w.reconcile();
    expect(w.steps.at(-1)).toBe("status Pending NotSent");
  });
});

it("the hash of a request in the status needs the API key", async () => {
  const w = await jobWorld({});
  await w.reconcile();
  const shown = w.job()?.status?.submission?.specHash;
  const job = w.job();
  if (job === undefined) throw new Error("the job is gone");
  const { body } = await videoRequest(job);
  expect([shown === hashOf(body), shown === keyedHashOf(body, "sk-test")]).toEqual([false, true]);
});

it("nothing is sent when the API server drops the intent: its CRD is of an earlier version", async () => {
  const w = await jobWorld({ prunes: true });
  await expect(w.reconcile()).rejects.toThrow("upgrade the CRDs");
  expect(w.steps).toEqual(["status Pending Intended"]);
  expect(w.journal.entries()).toEqual([]);
});

it("a job that is older than a restore of etcd shows so, and is sent when the restore is confirmed", async () => {
  let held: string | undefined = "etcd was restored: run mooring confirm-restore";
  const w = await jobWorld({ heldByRestore: () => held });
  await w.reconcile();
  expect(w.steps).toEqual(["status Pending undefined"]);
  const shown = { status: "False", reason: "EtcdRestored", message: held };
  expect(w.job()?.status?.conditions).toContainEqual(expect.objectContaining({ type: "Ready", ...shown }));
  held = undefined;
  await w.reconcile();
  await w.woken();
  expect(w.steps).toContain("request");
});

describe("given a restored journal with the request of an earlier attempt", () => {
  const status = (phase: VideoJobStatus["phase"]): VideoJobStatus => ({
    conditions: [],
    phase,
    account: other,
    submission: { id: "intent-2", specHash: "0", attempt: 2, state: "Accepted", time: "2026-03-01T00:10:00Z" },
    taskID: "task-2",
    attempts: 2,
  });

  it.each<{ phase: VideoJobStatus["phase"]; entry: Partial<JournalEntry> }>([
    { phase: "Running", entry: {} },
    { phase: "Running", entry: { outcome: { taskID: "task-1" } } },
    { phase: "Succeeded", entry: {} },
    { phase: "Failed", entry: {} },
  ])("a job that is $phase stays so, nothing is sent, and the entry $entry goes", async ({ phase, entry }) => {
    const spec = { onSubmissionUnknown: "Resubmit", backoffLimit: 1 };
    const w = await jobWorld({ spec, status: () => status(phase), left: [entryOf(entry)] });
    for (let reconciles = 0; reconciles < 2; reconciles++) await w.reconcile();
    expect(w.job()?.status).toMatchObject({ phase, taskID: "task-2", attempts: 2, submission: { id: "intent-2" } });
    expect(w.steps).not.toContain("request");
    expect(w.journal.entries()).toEqual([]);
  });
});

describe("given an operator that ended while a request was in flight, the next one", () => {
  it.each<{ name: string; entry: Partial<JournalEntry>; phase: string }>([
    { name: "accepted", entry: { outcome: { taskID: "task-1" } }, phase: "Queued" },
    { name: "of unknown outcome", entry: {}, phase: "Halted" },
  ])(
    "shows the account that the request was sent to, not the default account of now: $name",
    async ({ entry, phase }) => {
      const w = await jobWorld({ left: [entryOf({ account: other, ...entry })] });
      await w.reconcile();
      expect(w.job()?.status).toMatchObject({ phase, account: other, attempts: 1 });
    },
  );

  it("halts the job when the journal is another one, and sends nothing", async () => {
    const w = await jobWorld({ status: () => intended("lost") });
    await w.reconcile();
    expect(w.job()?.status).toMatchObject({ phase: "Halted", account: other, attempts: 1 });
    expect(w.journal.entries()).toEqual([]);
    await w.reconcile();
    expect(w.steps).toEqual(["status Halted Unknown"]);
  });

  it("sends the request when the same journal does not have the intent: it was not sent", async () => {
    const w = await jobWorld({ status: intended });
    await w.reconcile();
    await w.woken();
    expect(w.steps).toContain("request");
  });
});

describe("given a deposed leader whose request was not taken", () => {
  const later = { id: "later", specHash: "0", attempt: 1, time: "2026-03-01T00:00:00Z" };

  it.each<{ state: "Intended" | "Accepted" }>([{ state: "Intended" }, { state: "Accepted" }])(
    "the request of the next leader stays in the status: $state",
    async ({ state }) => {
      const w = await jobWorld({ answer: () => ({ status: 429, body: { code: 429, reason: "RATE_LIMIT_EXCEEDED" } }) });
      await w.reconcile();
      await w.woken();
      const before = w.job();
      const status = { ...before?.status, taskID: "task-2", phase: "Queued", submission: { ...later, state } };
      w.kind.store.upsert({ ...before, metadata: { ...before?.metadata, resourceVersion: "99" }, status } as VideoJob);
      await w.reconcile();
      expect(w.steps).toEqual(["status Pending Intended", "request"]);
      expect(w.job()?.status).toMatchObject({ taskID: "task-2", submission: { id: "later", state } });
    },
  );
});

it("nothing is intended by a process that does not surely lead", async () => {
  const w = await jobWorld({ leads: false });
  await expect(w.reconcile()).rejects.toThrow("not leading");
  expect(w.steps).toEqual([]);
});

it("an earlier request whose acceptance another process records stops the next attempt", async () => {
  const first = { id: "intent-0", specHash: "0", attempt: 1, time: "2026-03-01T00:00:00Z" };
  const unknown: VideoJobStatus = { conditions: [], phase: "Pending", submission: { ...first, state: "Unknown" } };
  const w = await jobWorld({ status: () => unknown });
  const before = w.job();
  await w.reconcile();
  // The deposed leader writes what it received, before the second request leaves.
  const status = { ...before?.status, taskID: "task-0", phase: "Queued", submission: { ...first, state: "Accepted" } };
  w.kind.store.upsert({ ...before, metadata: { ...before?.metadata, resourceVersion: "99" }, status } as VideoJob);
  await w.woken();
  await w.reconcile();
  expect(w.steps).toEqual(["status Pending Intended"]);
  expect(w.journal.entries()).toEqual([]);
  expect(w.job()?.status).toMatchObject({ taskID: "task-0", submission: { id: "intent-0", state: "Accepted" } });
});
