import { describe, expect, it } from "vitest";
import type { VideoJob, VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import { type RequestOutcome, workOf } from "../../../../src/controllers/jobs/types.ts";
import { settle } from "../../../support/fake-clock.ts";
import { recordOf, videoJobOf } from "../../../support/jobs.ts";
import type { Change } from "../../../support/manifests.ts";
import { scriptedApi } from "../../../support/scripted-api-server.ts";
import { jobReconciler } from "./world.ts";

const ACCOUNT = "Account/team/default";
const answer: RequestOutcome = {
  kind: "Accepted",
  accepted: { taskID: "task-1" },
  record: recordOf(),
};

/** An account that allows one task; the next job waits behind the one that is reconciled. */
async function setUp(spec: Change = {}, annotations: Record<string, string> = {}, status?: VideoJobStatus) {
  const stored = videoJobOf("image", spec, status);
  const job: VideoJob = { ...stored, metadata: { ...stored.metadata, annotations } };
  /** Runs while the API server writes a status. */
  const meanwhile = { write: async () => {} };
  const api = await scriptedApi(async ({ path }) => {
    if (path.includes("/events")) return { status: 201, body: {} };
    await meanwhile.write();
    return { body: job };
  });
  const world = jobReconciler(api.client, job, { maxTasks: 1 });
  const admitted: string[] = [];
  const ask = (uid: string) => {
    const work = { ...workOf(job), uid };
    if (world.admission.request(ACCOUNT, work, () => admitted.push(uid)).kind === "Admitted") admitted.push(uid);
  };
  return { ...world, meanwhile, admitted, ask, askForJob: () => ask(job.metadata.uid ?? "") };
}

describe("the place of a job that has not begun", () => {
  it.each<{ name: string; spec?: Change; annotations?: Record<string, string> }>([
    { name: "is blocked: it has no account" },
    { name: "is suspended", spec: { suspend: true } },
    { name: "is paused", annotations: { "mooring.dev/paused": "true" } },
    { name: "belongs to another controller", spec: { managedBy: "example.com/queue" } },
  ])("goes to the next when the job $name", async ({ spec, annotations }) => {
    const w = await setUp(spec, annotations);
    w.askForJob();
    w.ask("next");
    await w.reconcile();
    expect(w.admitted).toEqual([w.job.metadata.uid, "next"]);
  });
});

/** A job with a request under way, which `answer` ends. */
async function withRequest(status?: VideoJobStatus) {
  const w = await setUp({}, {}, status);
  const { uid = "" } = w.job.metadata;
  const answered = Promise.withResolvers<RequestOutcome>();
  w.askForJob();
  w.running.begin(
    uid,
    () => {},
    (progress) => {
      progress.sent();
      return answered.promise;
    },
  );
  w.ask("next");
  const end = async () => {
    answered.resolve(answer);
    await settle();
  };
  return { ...w, uid, end };
}

it("a deleted job keeps its place until its request is answered", async () => {
  const w = await withRequest();
  await w.reconcile();
  w.kind.store.remove(w.job);
  await w.reconcile();
  expect(w.admitted).toEqual([w.uid]);
  await w.end();
  await w.reconcile();
  expect([w.admitted, w.running.find(w.uid)]).toEqual([[w.uid, "next"], undefined]);
});

it("a request that is answered while the status is written keeps its place, and reserves its cost once", async () => {
  const w = await withRequest();
  w.allowance.budget = { kind: "Limited", headroom: 1_000_000n, message: "" };
  await w.clock.advance(2_000); // the status shows a request that takes long
  w.meanwhile.write = w.end;
  await w.reconcile();
  expect([w.admitted, w.admission.urgency(ACCOUNT)]).toEqual([[w.uid], "None"]);
});

it("a job whose last status write was stored, but not answered, gives its place back and holds up no shutdown", async () => {
  const w = await withRequest({ phase: "Failed", completionTime: "2026-03-01T00:00:00Z", conditions: [] });
  await w.end();
  await w.reconcile();
  expect([w.admitted, w.running.find(w.uid)]).toEqual([[w.uid, "next"], undefined]);
});

it.each<{ name: string; sent: boolean; ended: RequestOutcome; expected: string }>([
  { name: "did not leave", sent: false, ended: { ...answer, kind: "Withdrawn" }, expected: "None" },
  { name: "left", sent: true, ended: { ...answer, kind: "TooLarge", message: "" }, expected: "Settling" },
  {
    name: "was refused",
    sent: true,
    ended: { ...answer, kind: "Refused", reason: "InvalidSpec", message: "" },
    expected: "None",
  },
])(
  "a deleted job whose status shows a record may be charged only if the request took effect: it $name",
  async (row) => {
    const time = "2026-03-01T00:00:00Z";
    const submission = { id: "intent-1", specHash: "0", attempt: 1, state: "Intended", sender: "one", time } as const;
    const w = await setUp({}, {}, { conditions: [], submission });
    const { uid } = w.job.metadata;
    w.allowance.budget = { kind: "Limited", headroom: 1_000_000n, message: "" };
    await w.reconcile();
    w.askForJob();
    const answered = Promise.withResolvers<RequestOutcome>();
    w.running.begin(
      uid,
      () => {},
      (progress) => {
        if (row.sent) progress.sent();
        return answered.promise;
      },
    );
    w.kind.store.remove(w.job);
    answered.resolve(row.ended);
    await settle();
    await w.reconcile();
    expect(w.admission.urgency(ACCOUNT)).toBe(row.expected);
  },
);
