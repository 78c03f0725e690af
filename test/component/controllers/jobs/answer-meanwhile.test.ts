import { expect, it } from "vitest";
import type { VideoJob, VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import { videoJobOf } from "../../../support/jobs.ts";
import { scriptedApi } from "../../../support/scripted-api-server.ts";
import { accountAt, scriptedService } from "../../../support/service-account.ts";
import { jobReconciler, UID } from "./world.ts";

/** A promise, and what resolves it. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

it("a refusal that comes while the status says Submitting is written down, and nothing is sent again", async () => {
  const [sent, writing, answered] = [gate(), gate(), gate()];
  const statuses: VideoJobStatus[] = [];
  const api = await scriptedApi(async (request) => {
    if (request.path.includes("/events")) return { status: 201, body: request.body };
    const { status } = request.body as { status: VideoJobStatus };
    statuses.push(status);
    if (status.phase !== "Pending") {
      writing.open();
      await answered.opened;
    }
    const before = kind.store.get("team/sea");
    const changed = { ...before, status: { ...before?.status, ...status } } as VideoJob;
    return { body: { ...changed, metadata: { ...changed.metadata, resourceVersion: String(10 + statuses.length) } } };
  });
  const service = await scriptedService(async () => {
    sent.open();
    await writing.opened;
    return { status: 403, body: { code: 403, reason: "NEED_REAL_NAME_VERIFY", message: "no", metadata: {} } };
  });

  const { kind, clock, running, reconcile } = jobReconciler(api.client, videoJobOf("image"), {
    handles: [accountAt(service.url)],
    wake: () => {
      if (running.find(UID)?.answer !== undefined) answered.open();
    },
  });

  await reconcile();
  await sent.opened;
  await clock.advance(2_000);
  await reconcile(); // writes Submitting, while the refusal arrives
  expect(statuses.map(({ phase }) => phase)).toEqual(["Pending", "Submitting"]);
  await reconcile();
  expect(statuses.map(({ phase }) => phase)).toEqual(["Pending", "Submitting", "Failed"]);
  await reconcile();
  expect(service.requests).toHaveLength(1);
});
