import { describe, expect, it } from "vitest";
import { setConditions } from "../../../../src/api/v1alpha1/conditions.ts";
import type { VideoJob, VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import { videoJobOf } from "../../../support/jobs.ts";
import { shown } from "../../../support/kstatus.ts";
import type { Change } from "../../../support/manifests.ts";
import { type Answer, failure, scriptedApi } from "../../../support/scripted-api-server.ts";
import { jobReconciler } from "./world.ts";

const now = "2026-03-01T00:00:00Z";
const PATH = "/apis/mooring.dev/v1alpha1/namespaces/team/videojobs/sea";

/** Finished at the clock's start; the results can be fetched for one hour. */
const succeeded: VideoJobStatus = {
  phase: "Succeeded",
  observedGeneration: 1,
  startTime: now,
  completionTime: now,
  resultsExpireAt: "2026-03-01T01:00:00Z",
  conditions: setConditions(
    [],
    [
      { type: "ResultsAvailable", status: "True", reason: "Available", message: "" },
      { type: "Ready", status: "True", reason: "Completed", message: "" },
    ],
    now,
  ),
};

/** One reconcile of a finished job, `afterSeconds` after it finished. */
async function reconcile(
  spec: Change,
  afterSeconds: number,
  options: {
    status?: VideoJobStatus;
    answer?: Answer;
    annotations?: Record<string, string>;
    finalizers?: string[];
    generation?: number;
  } = {},
) {
  const { status = succeeded, annotations = {}, finalizers = [] } = options;
  const stored = videoJobOf("image", spec, status);
  const { generation = stored.metadata.generation } = options;
  const job: VideoJob = { ...stored, metadata: { ...stored.metadata, annotations, finalizers, generation } };
  const api = await scriptedApi(() => options.answer ?? { body: job });
  const world = jobReconciler(api.client, job);
  await world.clock.advance(afterSeconds * 1_000);
  const result = await world.reconcile();
  const requests = api.requests.filter(({ path }) => !path.includes("/events"));
  return { result, requests: requests.map(({ method, path, body }) => ({ method, path, body })) };
}

describe("a finished job", () => {
  it("without a time to live is looked at again when a quarter of its URLs' life is left, and is kept", async () => {
    expect(await reconcile({}, 60)).toEqual({ result: { requeueAfterMs: 2_640_000 }, requests: [] });
  });

  it("warns when a quarter of its URLs' life is left, and is looked at again at their end", async () => {
    const { result, requests } = await reconcile({}, 2_700);
    expect(result).toEqual({ requeueAfterMs: 900_000 });
    const [status] = requests.map(({ body }) => (body as { status: VideoJobStatus }).status);
    expect(shown(status?.conditions ?? [])).toEqual(["Ready=True/Completed", "ResultsAvailable=True/Expiring"]);
  });

  it("whose copy ended is held by no finalizer any more", async () => {
    const { requests } = await reconcile({}, 60, { finalizers: ["example.com/other", "mooring.dev/finalizer"] });
    expect(requests).toMatchObject([
      { method: "PATCH", path: PATH, body: { metadata: { finalizers: ["example.com/other"] } } },
    ]);
  });

  it("whose spec changed says that the change was observed, so that GitOps tools do not wait for it", async () => {
    const { requests } = await reconcile({ suspend: true }, 60, { generation: 2 });
    expect(requests).toMatchObject([
      {
        method: "PUT",
        path: `${PATH}/status`,
        body: {
          metadata: { resourceVersion: "7" },
          status: { observedGeneration: 2, conditions: [{ observedGeneration: 2 }, { observedGeneration: 2 }] },
        },
      },
    ]);
  });

  it("is looked at when its time to live ends, if that is sooner", async () => {
    expect(await reconcile({ ttlSecondsAfterFinished: 600 }, 60)).toEqual({
      result: { requeueAfterMs: 540_000 },
      requests: [],
    });
  });

  it.each([
    ["its time to live has ended", 600, 600],
    ["its time to live is nothing", 0, 0],
  ])("is deleted when %s: this very object, as it was seen", async (_name, ttlSecondsAfterFinished, after) => {
    expect(await reconcile({ ttlSecondsAfterFinished }, after)).toEqual({
      result: undefined,
      requests: [
        {
          method: "DELETE",
          path: PATH,
          body: {
            preconditions: { uid: "bbbbbbbb-0000-0000-0000-000000000001", resourceVersion: "7" },
            propagationPolicy: "Background",
          },
        },
      ],
    });
  });

  it("that somebody deleted first is no error", async () => {
    const { result } = await reconcile({ ttlSecondsAfterFinished: 0 }, 0, { answer: failure(404, "NotFound") });
    expect(result).toBeUndefined();
  });

  it("that was changed meanwhile is not deleted, but looked at again", async () => {
    const answer = failure(409, "Conflict", "the resourceVersion in the precondition does not match");
    await expect(reconcile({ ttlSecondsAfterFinished: 0 }, 0, { answer })).rejects.toMatchObject({ status: 409 });
  });

  it("says that its URLs ran out, once, with the version that was seen as the lock", async () => {
    const { result, requests } = await reconcile({}, 3_600);
    expect(result).toBeUndefined();
    expect(requests).toMatchObject([
      {
        method: "PUT",
        path: `${PATH}/status`,
        body: {
          metadata: { resourceVersion: "7" },
          status: { ...succeeded, conditions: expect.any(Array) },
        },
      },
    ]);
    const [status] = requests.map(({ body }) => (body as { status: VideoJobStatus }).status);
    expect(shown(status?.conditions ?? [])).toEqual(["Ready=True/Completed", "ResultsAvailable=False/Expired"]);
    expect((await reconcile({}, 7_200, { status: { ...succeeded, ...status } })).requests).toEqual([]);
  });

  it("that failed is deleted after its time to live as well", async () => {
    const status: VideoJobStatus = { phase: "Failed", completionTime: now, conditions: [] };
    expect((await reconcile({ ttlSecondsAfterFinished: 5 }, 5, { status })).requests).toMatchObject([
      { method: "DELETE" },
    ]);
    expect(await reconcile({}, 5, { status })).toEqual({ result: undefined, requests: [] });
  });

  it.each<[string, Change, Record<string, string>]>([
    ["is paused", {}, { "mooring.dev/paused": "true" }],
    ["another controller runs", { managedBy: "example.com/queue" }, {}],
  ])("that %s is left alone", async (_name, spec, annotations) => {
    const { requests } = await reconcile({ ttlSecondsAfterFinished: 0, ...spec }, 60, { annotations });
    expect(requests).toEqual([]);
  });
});
