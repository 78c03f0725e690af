import { expect, it } from "vitest";
import { videoJobResource } from "../../../../src/api/v1alpha1/kinds.ts";
import type { VideoJob, VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import { createAccountRegistry } from "../../../../src/controllers/account/registry.ts";
import { createStoreRegistry } from "../../../../src/controllers/artifact-store/registry.ts";
import { createKind } from "../../../../src/controllers/controller-deps.ts";
import { createJobReconciler } from "../../../../src/controllers/jobs/controller.ts";
import { createCopies } from "../../../../src/controllers/jobs/copies.ts";
import { videoJobAdapter } from "../../../../src/controllers/jobs/requests/video.ts";
import { createRunningRequests } from "../../../../src/controllers/jobs/running.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { videoJobOf } from "../../../support/jobs.ts";
import { scriptedApi, silentLog } from "../../../support/scripted-api-server.ts";
import { accountAt, scriptedService } from "../../../support/service-account.ts";
import { sharedOf } from "../../../support/shared.ts";

const REQUEST = { key: "team/sea", namespace: "team", name: "sea" };
const context = { signal: new AbortController().signal, log: silentLog };

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

  const clock = createFakeClock();
  const accounts = createAccountRegistry(
    () => true,
    () => {},
  );
  accounts.set("Account/team/default", { state: { kind: "Ready" }, handle: accountAt(service.url) });
  const kind = { resource: videoJobResource, store: createStore<VideoJob>() };
  kind.store.upsert(videoJobOf("image"));
  const shared = sharedOf(api.client, videoJobResource, { clock, accounts });
  const running = createRunningRequests({ clock, random: () => 0.5, admission: shared.admission });
  const run = createJobReconciler(
    shared,
    videoJobAdapter(createKind(api.client, kind)),
    { running, copies: createCopies({ clock, random: () => 0.5 }), stores: createStoreRegistry(() => false) },
    () => {
      if (running.find(videoJobOf("image").metadata.uid ?? "")?.answer !== undefined) answered.open();
    },
  );

  await run(REQUEST, context);
  await sent.opened;
  await clock.advance(2_000);
  await run(REQUEST, context); // writes Submitting, while the refusal arrives
  expect(statuses.map(({ phase }) => phase)).toEqual(["Pending", "Submitting"]);
  await run(REQUEST, context);
  expect(statuses.map(({ phase }) => phase)).toEqual(["Pending", "Submitting", "Failed"]);
  await run(REQUEST, context);
  expect(service.requests).toHaveLength(1);
});
