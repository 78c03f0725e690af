import { describe, expect, it } from "vitest";
import { videoJobResource } from "../../../../src/api/v1alpha1/kinds.ts";
import type { VideoJob } from "../../../../src/api/v1alpha1/video-job.ts";
import type { AccountHandle } from "../../../../src/controllers/account/registry.ts";
import { type ControllerDeps, createKind } from "../../../../src/controllers/controller-deps.ts";
import { videoRequest } from "../../../../src/controllers/jobs/requests/video.ts";
import { submit } from "../../../../src/controllers/jobs/submit.ts";
import type { RequestOutcome } from "../../../../src/controllers/jobs/types.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { videoJobOf } from "../../../support/jobs.ts";
import {
  accountAt,
  type ServiceAnswer,
  type ServiceRequest,
  scriptedService,
  sessionAt,
} from "../../../support/service-account.ts";
import { NOTHING_READ, sharedOf } from "../../../support/shared.ts";
import { jobApi, type Meddle, writerOf } from "./world.ts";

const forever = new AbortController().signal;

type World = Awaited<ReturnType<typeof world>>;

async function world(answer: (request: ServiceRequest) => ServiceAnswer, meddle?: Meddle) {
  const job = videoJobOf("image");
  const api = await jobApi(job, meddle && { meddle });
  const service = await scriptedService(answer);
  const shared = sharedOf(api.client, videoJobResource);
  const kind = createKind(api.client, { resource: videoJobResource, store: createStore<VideoJob>() });
  kind.store.upsert(job);
  const send = async (
    url = service.url,
    more: Partial<ControllerDeps> = {},
    account: AccountHandle = accountAt(url),
    decidedOn: VideoJob = job,
  ): Promise<RequestOutcome> =>
    submit(
      { ...shared, ...more },
      {
        kind,
        job: decidedOn,
        account,
        attempt: 1,
        request: await videoRequest(job, NOTHING_READ),
        write: writerOf(kind),
        openArtifact: undefined,
        progress: { sent() {}, firstAudio() {} },
        signal: forever,
      },
    );
  /** What the status shows of the last request. */
  const recorded = () => api.stored().status?.submission;
  return { api, service, recorded, send, job, kind, shared };
}

/** Nothing was recorded, and nothing was sent. */
function expectNothing(w: World): void {
  expect([w.service.requests, w.recorded()]).toEqual([[], undefined]);
}

const changed = (job: VideoJob, change: Partial<VideoJob>): VideoJob => ({
  ...job,
  ...change,
  metadata: { ...job.metadata, resourceVersion: "8", generation: job.metadata.generation + (change.spec ? 1 : 0) },
});
const own = (status: number, reason: string, message = "m"): ServiceAnswer => ({
  status,
  body: { code: status, reason, message, metadata: {} },
});

describe("a paid request", () => {
  it("leaves only after its record is in etcd", async () => {
    let before: VideoJob | undefined;
    const w: World = await world(() => {
      before = w.api.stored();
      return { body: { task_id: "task-1" } };
    });
    const submitted = await w.send();
    const account = { kind: "Account", name: "default", baseURL: w.service.url };
    const record = {
      id: expect.any(String),
      attempt: 1,
      specHash: expect.stringMatching(/^[0-9a-f]{16}$/),
      keyVersion: "0123456789abcdef",
      sender: "one",
      time: expect.any(String),
    };
    expect(submitted).toMatchObject({
      kind: "Accepted",
      accepted: { taskID: "task-1" },
      record: { ...record, account, uid: w.job.metadata.uid, operation: "submitImageToVideo" },
    });
    expect(before?.metadata.uid).toBe(w.job.metadata.uid);
    expect(before?.status).toMatchObject({ account });
    expect(before?.status?.submission).toEqual({ ...record, id: submitted.record.id, state: "Intended" });
    expect(w.service.requests).toHaveLength(1);
  });

  it.each<[string, ServiceAnswer, RequestOutcome["kind"]]>([
    ["an accepted task", { body: { task_id: "t" } }, "Accepted"],
    ["a refusal of the parameters", own(400, "INVALID_REQUEST_BODY", "bad prompt"), "Refused"],
    ["a refusal for want of verification", own(403, "NEED_REAL_NAME_VERIFY"), "Refused"],
    ["a path that does not exist", own(404, "RESOURCE_NOT_FOUND"), "NotTaken"],
    ["a gateway without a route", { status: 404, body: { message: "no Route matched with those values" } }, "NotTaken"],
    ["a method that the path does not take", { status: 405, body: { message: "Method Not Allowed" } }, "NotTaken"],
    ["a path that is gone", own(410, "GONE"), "NotTaken"],
    ["a rate limit", own(429, "RATE_LIMIT_EXCEEDED"), "NotTaken"],
    ["a refused key", own(401, "UNAUTHORIZED"), "NotTaken"],
    ["an empty account", own(400, "INSUFFICIENT_BALANCE"), "NotTaken"],
    ["a used up quota", own(403, "QUOTA_EXCEEDED"), "NotTaken"],
    ["an operation that the key may not use", own(403, "ACCESS_DENIED"), "NotTaken"],
    ["the service's own failure", own(500, "INTERNAL_ERROR"), "Unknown"],
    ["the service's own timeout", own(408, "REQUEST_TIMEOUT"), "Unknown"],
    ["a request that the service saw end", own(499, "CLIENT_CLOSED_REQUEST"), "Unknown"],
    ["a gateway's page", { status: 502, body: "<html>bad gateway</html>" }, "Unknown"],
    ["a gateway's timeout", { status: 504, body: "<html>timeout</html>" }, "Unknown"],
    ["an answer that cannot be read", { body: "<html>hello</html>" }, "Unusable"],
    ["an answer without a task", { body: { ok: true } }, "Unusable"],
    ["a connection that breaks after the request was written", "cut", "Unknown"],
  ])("met by %s", async (_name, answer, kind) => {
    const w = await world(() => answer);
    const submitted = await w.send();
    expect(submitted.kind).toBe(kind);
    expect(w.service.requests).toHaveLength(1); // never sent again by itself
    expect(w.recorded()).toMatchObject({ id: submitted.record.id, state: "Intended" });
  });

  it.each<[string, ServiceAnswer, RequestOutcome["kind"], times: number]>([
    ["holds the account on a 401 in any form", { status: 401, body: "<html>no</html>" }, "NotTaken", 1],
    ["holds nothing on a 403, which concerns the operation", own(403, "ACCESS_DENIED"), "NotTaken", 0],
    ["holds nothing on a 403 that names the key: the probe decides", own(403, "API_KEY_DISABLED"), "NotTaken", 0],
    [
      "holds nothing on a 403 in plain text, which proves nothing of the request",
      { status: 403, body: "Forbidden", headers: { "content-type": "text/plain" } },
      "Unknown",
      0,
    ],
  ])("%s", async (_name, answer, kind, times) => {
    const w = await world(() => answer);
    const held: string[] = [];
    const shared = { accounts: { ...w.shared.accounts, unauthorized: (key: string) => void held.push(key) } };
    expect((await w.send(w.service.url, shared)).kind).toBe(kind);
    expect(held).toHaveLength(times);
  });

  it("that the key may not send stalls the job, which tries again with backoff or when the circuit does", async () => {
    const w = await world(() => own(403, "ACCESS_DENIED", "video is not allowed"));
    const account = accountAt(w.service.url);
    const answers: RequestOutcome[] = [];
    for (let i = 0; i < 4; i++) answers.push(await w.send(w.service.url, {}, account, w.kind.store.get("team/sea")));
    expect(w.service.requests).toHaveLength(3);
    expect(answers[0]).toMatchObject({
      block: { reason: "OperationForbidden", stalled: true, message: expect.stringContaining("video is not allowed") },
      retryAfterMs: undefined,
    });
    expect(answers[3]).toMatchObject({ block: { reason: "OperationForbidden", stalled: true } });
    expect(answers[3]?.kind === "NotTaken" ? answers[3].retryAfterMs : 0).toBeGreaterThan(20_000);
  });

  it("to a path that does not exist stalls the job, which tries again with backoff or when the circuit does", async () => {
    const w = await world(() => ({ status: 404, body: { message: "no Route matched with those values" } }));
    const account = accountAt(w.service.url);
    const answers: RequestOutcome[] = [];
    for (let i = 0; i < 40; i++) answers.push(await w.send(w.service.url, {}, account, w.kind.store.get("team/sea")));
    expect(w.service.requests).toHaveLength(3);
    for (const answer of answers) {
      expect(answer).toMatchObject({
        kind: "NotTaken",
        block: { reason: "PathNotFound", stalled: true, message: expect.stringContaining("spec.paths") },
      });
    }
    expect(answers[0]).toMatchObject({
      block: { message: expect.stringContaining("no Route matched") },
      retryAfterMs: undefined,
    });
    expect(answers[39]?.kind === "NotTaken" ? answers[39].retryAfterMs : 0).toBeGreaterThan(20_000);
  });

  it("that never left was not taken, and the answer names its record, so that the status can say so", async () => {
    const w = await world(() => ({}));
    const answer = await w.send("http://127.0.0.1:1");
    expect(answer).toMatchObject({ kind: "NotTaken", block: { reason: "Unreachable", stalled: false } });
    expect(w.recorded()).toMatchObject({ id: answer.record.id, state: "Intended" });
  });

  it("does not leave when the lease is not surely held", async () => {
    const w = await world(() => ({ body: { task_id: "t" } }));
    const assertServing = () => {
      throw new Error("the lease is not surely held");
    };
    const account = accountAt(w.service.url, {}, sessionAt(w.service.url, { assertServing }));
    expect(await w.send(w.service.url, {}, account)).toMatchObject({
      kind: "NotTaken",
      block: { message: expect.stringContaining("not surely held") },
    });
    expectNothing(w);
  });

  it.each<[string, (job: VideoJob) => VideoJob | undefined]>([
    ["is gone", () => undefined],
    [
      "is being deleted",
      (job) => ({ ...job, metadata: { ...job.metadata, deletionTimestamp: "2026-03-01T00:00:00Z" } }),
    ],
    ["was made anew under its name", (job) => ({ ...job, metadata: { ...job.metadata, uid: "another" } })],
    ["is paused", (job) => ({ ...job, metadata: { ...job.metadata, annotations: { "mooring.dev/paused": "true" } } })],
    ["is suspended", (job) => changed(job, { spec: { ...job.spec, suspend: true } })],
    ["is another controller's", (job) => changed(job, { spec: { ...job.spec, managedBy: "example.com/queue" } })],
    ["has ended", (job) => changed(job, { status: { conditions: [], phase: "Failed" } })],
    [
      "has an attempt already",
      (job) =>
        changed(job, {
          status: {
            conditions: [],
            submission: { id: "other", specHash: "0", attempt: 1, state: "Accepted", time: "2026-03-01T00:00:00Z" },
          },
        }),
    ],
  ])("does not leave when its job %s by then", async (_name, then) => {
    const w = await world(() => ({ body: { task_id: "t" } }));
    w.kind.store.remove(w.job);
    const now = then(w.job);
    if (now !== undefined) w.kind.store.upsert(now);
    expect((await w.send()).kind).toBe("Withdrawn");
    expectNothing(w);
  });

  it("does not leave when its job is paused while it waits for the rate limit", async () => {
    const w = await world(() => ({ body: { task_id: "t" } }));
    const slow = sessionAt(w.service.url, { rate: { requestsPerSecond: 4, burst: 1 } });
    const account = accountAt(w.service.url, {}, slow);
    await slow.tasks.read("takes the burst", forever).catch(() => {});
    const sent = w.send(w.service.url, {}, account);
    const annotations = { "mooring.dev/paused": "true" };
    w.kind.store.upsert({ ...w.job, metadata: { ...w.job.metadata, resourceVersion: "8", annotations } });
    expect((await sent).kind).toBe("Withdrawn");
    expect([w.service.requests.map(({ method }) => method), w.recorded()]).toEqual([["GET"], undefined]);
  });

  it("does not leave when its account is another one by then", async () => {
    const w = await world(() => ({ body: { task_id: "t" } }));
    const { accounts } = w.shared;
    accounts.set("Account/team/default", { state: { kind: "Ready" }, handle: accountAt(w.service.url) });
    expect((await w.send()).kind).toBe("Withdrawn");
    expectNothing(w);
  });

  it("does not leave when a restore of etcd is noticed while it waits for its turn", async () => {
    const w = await world(() => ({ body: { task_id: "t" } }));
    expect(await w.send(w.service.url, { heldByRestore: () => "etcd was restored" })).toMatchObject({
      kind: "Withdrawn",
    });
    expectNothing(w);
  });

  it("does not leave with another key than its record names", async () => {
    let version = "a";
    const w: World = await world(
      () => ({ body: { task_id: "t" } }),
      () => {
        version = "b";
        return undefined;
      },
    );
    const account = accountAt(w.service.url, { keyVersion: () => version });
    expect((await w.send(w.service.url, {}, account)).kind).toBe("Withdrawn");
    expect([w.service.requests, w.recorded()?.keyVersion]).toEqual([[], "a"]);
  });

  it("does not leave a former server whose successor has changed the job", async () => {
    const w = await world(() => ({ body: { task_id: "t" } }));
    const later = { id: "later", specHash: "0", attempt: 1, time: "2026-03-01T00:00:00Z" };
    w.api.put({ status: { conditions: [], submission: { ...later, state: "Intended", sender: "two" } } });
    expect((await w.send()).kind).toBe("Withdrawn");
    expect([w.service.requests, w.recorded()]).toMatchObject([[], { id: "later", sender: "two" }]);
    expect(w.kind.store.get("team/sea")?.status?.submission?.id).toBe("later");
  });
});
