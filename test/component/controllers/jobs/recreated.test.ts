import { expect, it } from "vitest";
import type { VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import { until } from "../../../support/fake-clock.ts";
import { videoJobOf } from "../../../support/jobs.ts";
import { capturedLog, scriptedApi } from "../../../support/scripted-api-server.ts";
import { accountAt, scriptedService } from "../../../support/service-account.ts";
import { jobReconciler } from "./world.ts";

const OLD = videoJobOf("image").metadata.uid ?? "";
const NEW = "cccccccc-0000-0000-0000-000000000002";

type EventBody = { reason: string; note: string; regarding: { uid: string } };

/** A job whose request is on its way, replaced by another job under its name. `ends`: how the request ends. */
async function replaced(ends: { status: number; body: object }) {
  const sent = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  let version = 20;
  const api = await scriptedApi((request) => {
    if (request.path.includes("/events")) return { status: 201, body: request.body };
    const stored = kind.store.get("team/sea");
    if (stored === undefined) throw new Error("no job");
    if (request.method === "GET") return { body: stored };
    const { status } = request.body as { status: VideoJobStatus };
    version++;
    const metadata = { ...stored.metadata, resourceVersion: String(version) };
    return { body: { ...stored, metadata, status: { ...stored.status, ...status } } };
  });
  const service = await scriptedService(async () => {
    sent.resolve();
    await answered.promise;
    return ends;
  });
  const { log, lines } = capturedLog("warn");
  const job = videoJobOf("image");
  const handles = [accountAt(service.url)];
  const { kind, running, reconcile } = jobReconciler(api.client, job, { maxTasks: 1, handles, log });
  await reconcile();
  await sent.promise;
  // The deletion and the creation arrive together: the queue merges them to one reconcile of the key.
  kind.store.upsert({ ...job, metadata: { ...job.metadata, uid: NEW, resourceVersion: "9" } });
  await reconcile();
  await reconcile();
  return {
    running,
    lines,
    service,
    async end() {
      answered.resolve();
      await until(() => running.find(OLD)?.answer !== undefined);
      await reconcile();
      await reconcile();
    },
    job: () => kind.store.get("team/sea"),
    events: () => api.requests.flatMap(({ path, body }) => (path.includes("/events") ? [body as EventBody] : [])),
  };
}

const ACCEPTED = { status: 200, body: { task_id: "task-1" } };

it("given a job that is deleted and created again while its request is on its way, the request is known until its response", async () => {
  const w = await replaced(ACCEPTED);
  expect(w.running.find(OLD)).toMatchObject({ sent: true });
  await w.end();
  expect(w.running.find(OLD)).toBeUndefined();
});

it.each([
  {
    name: "was accepted",
    ends: ACCEPTED,
    note: "Deleted after it was submitted: task task-1 continues at the service and is charged",
  },
  {
    name: "has an unknown outcome",
    ends: { status: 500, body: { code: 500, reason: "INTERNAL", message: "m", metadata: {} } },
    note: "Deleted after its request was sent: it may be charged, and its result is lost",
  },
])(
  "the former request, which $name, is reported for the former object, and gives its slot back",
  async ({ ends, note }) => {
    const w = await replaced(ends);
    await w.end();
    await until(() => w.events().length > 0);
    expect(w.events().map((event) => [event.reason, event.note, event.regarding.uid])).toEqual([
      ["TaskRunsOn", note, OLD],
    ]);
    expect(w.lines.map(({ uid, msg }) => [uid, msg])).toEqual([[OLD, note]]);
    expect(w.running.find(OLD)).toBeUndefined();
    // Nothing of the former attempt is at the new object, and its own request is sent next.
    await until(() => w.service.requests.length === 2);
    const { metadata, status } = w.job() ?? {};
    expect([metadata?.uid, status?.taskID]).toEqual([NEW, undefined]);
    expect(status?.submission).toMatchObject({ attempt: 1, state: "Intended" });
  },
);
