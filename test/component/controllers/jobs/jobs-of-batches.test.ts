import { expect, it } from "vitest";
import { getCondition } from "../../../../src/api/v1alpha1/conditions.ts";
import { mediaBatchResource } from "../../../../src/api/v1alpha1/kinds.ts";
import type { VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import { ArtifactError } from "../../../../src/artifacts/errors.ts";
import type { ArtifactStoreHandle, StoredArtifact } from "../../../../src/artifacts/types.ts";
import { controllerReference } from "../../../../src/kube/resource.ts";
import { START, until } from "../../../support/fake-clock.ts";
import { fakeTasks } from "../../../support/fake-tasks.ts";
import { taskOf, video, videoJobOf } from "../../../support/jobs.ts";
import { accountAt } from "../../../support/service-account.ts";
import { storedMeta } from "../../../support/stored-meta.ts";
import { jobApi, jobReconciler } from "./world.ts";

const baseURL = "http://127.0.0.1:1";
const at = { lastTransitionTime: "2026-02-28T22:00:00Z" };
const submitted: VideoJobStatus = {
  phase: "Queued",
  observedGeneration: 1,
  conditions: [{ type: "Ready", status: "False", reason: "Queued", message: "Task task-1 is submitted", ...at }],
  taskID: "task-1",
  account: { kind: "Account", name: "default", baseURL },
  submission: { id: "i", specHash: "0", attempt: 1, state: "Accepted", time: "2026-02-28T22:00:00Z" },
  attempts: 1,
  submitTime: "2026-02-28T22:00:00Z",
  firstSubmitTime: "2026-02-28T22:00:00Z",
};
const artifact: StoredArtifact = { uri: "s3://results/film/000000.mp4", bytes: 1, sha256: "a" };

/** A job of a batch whose task runs, and a store whose copy ends when the test says so. */
async function setUp() {
  const owner = controllerReference(mediaBatchResource, storedMeta({ namespace: "team", name: "film", uid: "film" }));
  const made = videoJobOf("image", { output: { storeRef: { name: "results" }, name: "000000" } }, submitted);
  const job = { ...made, metadata: { ...made.metadata, name: "film-0", ownerReferences: [owner] } };
  const api = await jobApi(job);
  let latest = taskOf("TASK_STATUS_PROCESSING");
  const { tasks } = fakeTasks({ latest: () => ({ result: latest, at: START }) });
  const w = jobReconciler(api.client, job, {
    maxTasks: 1,
    handles: [accountAt(baseURL, { key: "Account/team/default", tasks })],
    hasStore: () => true,
  });
  const copy = Promise.withResolvers<StoredArtifact>();
  const handle = { copy: () => copy.promise, abandon: async () => {} } as unknown as ArtifactStoreHandle;
  w.stores.set("team/results", { state: { kind: "Ready" }, handle });
  const { uid } = job.metadata;
  return {
    ...w,
    copy,
    writes: () => api.requests.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path}`),
    event: () => api.requests.find(({ path }) => path.includes("/events"))?.body as { reason: string; note: string },
    async copies() {
      latest = taskOf("TASK_STATUS_SUCCEED", { videos: [video] });
      await w.reconcile();
    },
    /** The copy has ended, and the job is reconciled. */
    async copied() {
      await until(() => w.copies.find(uid)?.end !== undefined);
      await w.reconcile();
    },
    copyOf: () => w.copies.find(uid),
    remove: () => void w.kind.store.remove(w.stored() ?? job),
  };
}

it("a job of a batch writes one status from its task to its end, without an event", async () => {
  const w = await setUp();
  await w.reconcile();
  expect(w.nextIsAdmitted()).toBe(false);
  await w.copies();
  await w.reconcile();
  expect(w.writes()).toEqual([]);
  expect(w.nextIsAdmitted()).toBe(false); // its status shows that it is in flight
  w.copy.resolve(artifact);
  await w.copied();
  expect(w.writes()).toEqual([expect.stringMatching(/^PUT .*\/videojobs\/film-0\/status$/)]);
  expect(w.stored()?.status).toMatchObject({
    phase: "Succeeded",
    remoteStatus: "TASK_STATUS_SUCCEED",
    results: [{ artifact }],
  });
  expect(w.copyOf()).toBeUndefined();
  expect(w.nextIsAdmitted()).toBe(true);
});

it("a copy that fails is shown, and repeated", async () => {
  const w = await setUp();
  await w.copies();
  w.copy.reject(new ArtifactError("SourceUnreachable", "no answer"));
  await w.copied();
  await w.reconcile();
  expect(w.stored()?.status?.phase).toBe("Storing");
  expect(getCondition(w.stored()?.status?.conditions, "Ready")).toMatchObject({ reason: "Retrying" });
});

it("results that are copied when the job is deleted are stored", async () => {
  const w = await setUp();
  await w.copies();
  w.remove();
  await w.reconcile();
  expect(w.copyOf()).toMatchObject({ urgent: true });
  w.copy.resolve(artifact);
  await w.copied();
  expect(w.copyOf()).toBeUndefined();
  await until(() => w.event() !== undefined);
  expect(w.event()).toMatchObject({ reason: "Stored", note: `The results are stored at ${artifact.uri}` });
});
