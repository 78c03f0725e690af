import { describe, expect, it } from "vitest";
import { clusterAccountSpecSchema } from "../../../../src/api/v1alpha1/account.ts";
import type { VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import { anyAddress } from "../../../../src/base/address-guard.ts";
import type { WebhookMessage, WebhookOutcome } from "../../../../src/base/webhook.ts";
import type { Callbacks } from "../../../../src/controllers/jobs/types.ts";
import { callbacksBy, SECRET } from "../../../support/callbacks.ts";
import { createFakeClock, START, settle, until } from "../../../support/fake-clock.ts";
import { videoJobOf } from "../../../support/jobs.ts";
import { type Change, manifest } from "../../../support/manifests.ts";
import { accountAt, WHOLE } from "../../../support/service-account.ts";
import { jobApi, jobReconciler } from "./world.ts";

const URL_OF_RECEIVER = "https://hooks.example.com/done";
const callback = (url = URL_OF_RECEIVER) => ({ url, secretRef: { name: "hook", key: "secret" } });
const endedAt = new Date(START).toISOString();
const ended: VideoJobStatus = {
  phase: "Succeeded",
  completionTime: endedAt,
  taskID: "task-1",
  results: [{ kind: "Video", url: "https://results.example.com/sea.mp4" }],
  conditions: [
    { type: "Complete", status: "True", reason: "Completed", message: "1 result", lastTransitionTime: endedAt },
  ],
  callback: { state: "Pending", attempts: 0 },
};

type Setting = {
  spec?: Change;
  objects?: Record<string, object>;
  answer?: (message: WebhookMessage) => WebhookOutcome | Promise<WebhookOutcome>;
  status?: VideoJobStatus;
};

/** A finished job whose callback is Pending, and operators that reconcile it one after the other. */
async function finishedJob({ spec = {}, objects = {}, status = ended, ...setting }: Setting = {}) {
  const clock = createFakeClock();
  const job = videoJobOf("image", { callback: callback(), ...spec }, status);
  const secret = { data: { secret: Buffer.from(SECRET).toString("base64") } };
  const api = await jobApi(job, { objects: { "/secrets/hook": secret, ...objects } });
  const messages: WebhookMessage[] = [];
  const lookups: Parameters<Callbacks["send"]>[1]["lookup"][] = [];
  let wakes = 0;
  const send: Callbacks["send"] = async (message, { lookup }) => {
    messages.push(message);
    lookups.push(lookup);
    return setting.answer?.(message) ?? { kind: "Delivered" };
  };
  const known = { public: anyAddress, service: anyAddress };

  function startOperator() {
    const w = jobReconciler(api.client, api.stored(), {
      clock,
      handles: [accountAt("https://api.example.com")],
      callbacks: callbacksBy(send, known),
      wake: () => void wakes++,
    });
    return {
      ...w,
      /** Reconciles once, and again when the attempt that it starts has ended. Returns the status. */
      async attempt() {
        const before = wakes;
        await w.reconcile();
        await until(() => wakes > before);
        await w.reconcile();
        return w.stored()?.status;
      },
    };
  }
  return { api, clock, messages, lookups, known, startOperator };
}

describe("the callback of a job that has ended", () => {
  it("is one CloudEvent with its results", async () => {
    const w = await finishedJob();
    expect((await w.startOperator().attempt())?.callback).toMatchObject({ state: "Delivered", attempts: 1 });
    expect(w.messages).toHaveLength(1);
    const [{ body = "", ...message } = {}] = w.messages;
    const { uid } = w.api.stored().metadata;
    expect(message).toEqual({
      url: URL_OF_RECEIVER,
      id: uid,
      contentType: "application/cloudevents+json",
      secret: SECRET,
    });
    expect(JSON.parse(body)).toEqual({
      specversion: "1.0",
      id: uid,
      source: "/apis/mooring.dev/v1alpha1/namespaces/team/videojobs/sea",
      type: "dev.mooring.job.succeeded",
      time: endedAt,
      datacontenttype: "application/json",
      data: {
        kind: "VideoJob",
        namespace: "team",
        name: "sea",
        uid,
        phase: "Succeeded",
        reason: "Completed",
        message: "1 result",
        completionTime: endedAt,
        taskID: "task-1",
        results: ended.results,
      },
    });
  });

  it("is Pending in the very write that shows the end, of a job that failed too", async () => {
    const statuses: VideoJobStatus[] = [];
    const job = videoJobOf(
      "image",
      { callback: callback(), activeDeadlineSeconds: 1 },
      {
        conditions: [],
        phase: "Pending",
        firstSubmitTime: "2020-01-01T00:00:00Z",
      },
    );
    const api = await jobApi(job, { onStored: (status) => void statuses.push(status) });
    await jobReconciler(api.client, job, { handles: [accountAt("https://api.example.com")] }).reconcile();
    expect(statuses.map(({ phase, callback: one }) => [phase, one?.state])).toEqual([["Failed", "Pending"]]);
  });

  it("reaches a receiver that was down for ten minutes, once, with the same ID in each attempt", async () => {
    const up = START + 10 * 60_000;
    const clock: { now?: () => number } = {};
    const w = await finishedJob({
      answer: () => ((clock.now?.() ?? 0) < up ? { kind: "Failed", message: "down" } : { kind: "Delivered" }),
    });
    clock.now = w.clock.now;
    let operator = w.startOperator();
    const pauses: number[] = [];
    for (
      let status = await operator.attempt();
      status?.callback?.state === "Pending";
      status = await operator.attempt()
    ) {
      expect(status).toMatchObject({ phase: "Succeeded", callback: { lastError: "down" } });
      const pauseMs = Date.parse(status.callback.nextAttemptTime ?? "") - w.clock.now();
      pauses.push(pauseMs);
      const sent = w.messages.length;
      await w.clock.advance(pauseMs - 1_000);
      operator = w.startOperator(); // the operator is killed between any two attempts
      await operator.reconcile();
      expect(w.messages).toHaveLength(sent);
      await w.clock.advance(1_000);
    }
    expect(w.api.stored().status?.callback).toMatchObject({ state: "Delivered", attempts: pauses.length + 1 });
    expect(w.clock.now() - up).toBeLessThan(11 * 60_000);
    expect(new Set(w.messages.map(({ id }) => id)).size).toBe(1);
    expect(pauses.every((pause, index) => index === 0 || pause > (pauses[index - 1] ?? 0))).toBe(true);
  });

  it("that a killed operator had delivered but not written is delivered again", async () => {
    const w = await finishedJob();
    await w.startOperator().reconcile();
    await until(() => w.messages.length === 1);
    expect((await w.startOperator().attempt())?.callback).toMatchObject({ state: "Delivered" });
    expect(w.messages).toHaveLength(2);
  });

  it("is given up after a day, with an event", async () => {
    const w = await finishedJob({ answer: () => ({ kind: "Failed", message: "down" }) });
    const operator = w.startOperator();
    let status = await operator.attempt();
    while (status?.callback?.state === "Pending") {
      await w.clock.advance(Date.parse(status.callback.nextAttemptTime ?? "") - w.clock.now());
      status = await operator.attempt();
    }
    expect(status).toMatchObject({ phase: "Succeeded", callback: { state: "Failed", lastError: "down" } });
    expect(w.clock.now() - START).toBeGreaterThanOrEqual(24 * 3_600_000);
    expect(w.clock.now() - START).toBeLessThan(26 * 3_600_000);
    expect(w.messages.length).toBeLessThan(50);
    await until(() => w.api.requests.some(({ body }) => JSON.stringify(body)?.includes("CallbackFailed") === true));
    await operator.reconcile();
    await settle();
    expect(w.messages).toHaveLength(status?.callback?.attempts ?? 0);
  });

  it("is given up at once when the receiver wants none (410)", async () => {
    const w = await finishedJob({ answer: () => ({ kind: "Failed", message: "gone", gone: true }) });
    expect((await w.startOperator().attempt())?.callback).toMatchObject({ state: "Failed", attempts: 1 });
  });

  it("keeps the object until it is delivered, whatever ttlSecondsAfterFinished says", async () => {
    let isUp = false;
    const w = await finishedJob({
      spec: { ttlSecondsAfterFinished: 0 },
      answer: () => (isUp ? { kind: "Delivered" } : { kind: "Failed", message: "down" }),
    });
    const operator = w.startOperator();
    await operator.attempt();
    const deletions = () => w.api.requests.filter(({ method }) => method === "DELETE").length;
    expect(deletions()).toBe(0);
    isUp = true;
    await w.clock.advance(10_000);
    await operator.attempt();
    expect(deletions()).toBe(1);
  });

  it("without a readable secret is not sent, and says why", async () => {
    const w = await finishedJob({ spec: { callback: { ...callback(), secretRef: { name: "none", key: "secret" } } } });
    const status = await w.startOperator().attempt();
    expect(status?.callback).toMatchObject({
      state: "Pending",
      lastError:
        "Secret team/none does not exist: create it: kubectl create secret generic none -n team --from-literal=secret=VALUE",
    });
    expect(w.messages).toEqual([]);
  });

  it("of a job that is deleted meanwhile is dropped", async () => {
    const never = new Promise<WebhookOutcome>(() => {});
    const w = await finishedJob({ answer: () => never });
    const operator = w.startOperator();
    await operator.reconcile();
    await until(() => w.messages.length === 1);
    operator.kind.store.remove(w.api.stored());
    await operator.reconcile();
    expect(operator.callbacks.find(w.api.stored().metadata.uid)).toBeUndefined();
  });
});

describe("the callback of a job whose account another process serves now", () => {
  it("is dropped here, whatever the receiver does, and sent there", async () => {
    const signals: AbortSignal[] = [];
    const clock = createFakeClock();
    const job = videoJobOf("image", { callback: callback() }, ended);
    const secret = { data: { secret: Buffer.from(SECRET).toString("base64") } };
    const api = await jobApi(job, { objects: { "/secrets/hook": secret } });
    const hanging = callbacksBy(
      (_, { signal }) =>
        new Promise<WebhookOutcome>((resolve) => {
          signals.push(signal);
          signal.addEventListener("abort", () => resolve({ kind: "Delivered" }));
        }),
    );
    const before = jobReconciler(api.client, job, { clock, callbacks: hanging });
    await before.reconcile();
    await until(() => signals.length === 1);
    before.forget();
    expect(signals[0]?.aborted).toBe(true);
    expect(before.callbacks.find(job.metadata.uid)).toBeUndefined();
    await settle();
    // Its outcome is not written: the next process knows nothing of it, and sends it again.
    expect(api.stored().status?.callback).toEqual({ state: "Pending", attempts: 0 });
    const taken: WebhookMessage[] = [];
    const after = jobReconciler(api.client, api.stored(), {
      clock,
      callbacks: callbacksBy(async (message) => {
        taken.push(message);
        return { kind: "Delivered" };
      }),
    });
    await after.reconcile();
    await until(() => taken.length === 1);
    await settle();
    await after.reconcile();
    expect(after.stored()?.status?.callback).toMatchObject({ state: "Delivered", attempts: 1 });
  });
});

describe("the callback of a share", () => {
  const hook = { url: "https://platform.example.com/ended", secretRef: { name: "hook", key: "secret" } };
  const [share] =
    clusterAccountSpecSchema.parse(
      manifest("clusterAccount", { shares: [{ name: "film", namespaceSelector: {}, callback: hook }] }).spec,
    ).shares ?? [];
  const shared = { kind: "ClusterAccount", name: "shared", baseURL: "https://api.example.com" } as const;
  const handle = () =>
    accountAt(shared.baseURL, {
      key: "ClusterAccount/shared",
      secretNamespace: "platform",
      sharing: { ...WHOLE, known: () => share },
    });
  const secret = { data: { secret: Buffer.from(SECRET).toString("base64") } };

  /** A job that has ended without a callback of its own, unless `spec` has one. */
  async function attempt(spec: Change, outcome: WebhookOutcome) {
    const job = videoJobOf("image", spec, { ...ended, account: shared });
    const api = await jobApi(job, { objects: { "/secrets/hook": secret } });
    const messages: WebhookMessage[] = [];
    const send: Callbacks["send"] = async (message) => {
      messages.push(message);
      return outcome;
    };
    const w = jobReconciler(api.client, job, { handles: [handle()], callbacks: callbacksBy(send) });
    await w.reconcile();
    await until(() => messages.length > 0);
    await settle();
    await w.reconcile();
    const secrets = api.requests.flatMap(({ path }) => (path.includes("/secrets/") ? [path] : []));
    return { messages, secrets, status: w.stored()?.status?.callback };
  }

  it("is that of jobs without one, signed with a Secret that the namespace does not have", async () => {
    const { messages, secrets, status } = await attempt({}, { kind: "Delivered" });
    expect(messages).toMatchObject([{ url: hook.url, secret: SECRET }]);
    expect(secrets).toEqual(["/api/v1/namespaces/platform/secrets/hook"]);
    expect(status).toMatchObject({ state: "Delivered" });
  });

  it("is not that of jobs with a callback of their own", async () => {
    const { messages, secrets } = await attempt({ callback: callback() }, { kind: "Delivered" });
    expect(messages).toMatchObject([{ url: URL_OF_RECEIVER }]);
    expect(secrets).toEqual(["/api/v1/namespaces/team/secrets/hook"]);
  });

  it("does not show the namespace where it goes", async () => {
    const { status } = await attempt({}, { kind: "Failed", message: "connect ECONNREFUSED platform.example.com" });
    expect(JSON.stringify(status)).not.toContain("platform.example.com");
    expect(status?.lastError).toBe(
      "the receiver of share film did not take it: its administrator finds the cause in the operator's log",
    );
  });

  it("is Pending in the very write that shows the end", async () => {
    const statuses: VideoJobStatus[] = [];
    const job = videoJobOf(
      "image",
      { activeDeadlineSeconds: 1 },
      { conditions: [], phase: "Pending", firstSubmitTime: "2020-01-01T00:00:00Z", account: shared },
    );
    const api = await jobApi(job, { onStored: (status) => void statuses.push(status) });
    await jobReconciler(api.client, job, { handles: [handle()] }).reconcile();
    expect(statuses.map(({ phase, callback: one }) => [phase, one?.state])).toEqual([["Failed", "Pending"]]);
  });
});

describe("the receiver of a callback", () => {
  const service = (spec: object) => ({ "/namespaces/team/services/hook": { metadata: {}, spec } });
  const at = (url: string) => ({ callback: callback(url) });

  it("may be a Service of the job's namespace", async () => {
    const w = await finishedJob({
      spec: at("http://hook.team.svc:8080/done"),
      objects: service({ type: "ClusterIP", clusterIP: "10.0.0.7" }),
    });
    await w.startOperator().attempt();
    const found = Promise.withResolvers<unknown>();
    w.lookups[0]?.("hook.team.svc", { all: true }, (_, addresses) => found.resolve(addresses));
    expect(await found.promise).toEqual([{ address: "10.0.0.7", family: 4 }]);
  });

  it.each([
    { name: "leads elsewhere (ExternalName)", spec: { type: "ExternalName", externalName: "kubernetes.default.svc" } },
    { name: "has no cluster IP", spec: { type: "ClusterIP", clusterIP: "None" } },
  ])("is no Service that $name", async ({ spec }) => {
    const w = await finishedJob({ spec: at("http://hook.team.svc.cluster.local/"), objects: service(spec) });
    expect((await w.startOperator().attempt())?.callback?.lastError).toContain("no cluster IP");
    expect(w.messages).toEqual([]);
  });

  it("elsewhere is judged as the source of a result: that of another namespace too", async () => {
    const results = Object.assign((...args: Parameters<typeof anyAddress>) => anyAddress(...args), {});
    const w = await finishedJob({ spec: at("http://hook.other.svc/done"), status: { ...ended, account: bound } });
    const operator = w.startOperator();
    operator.shared.accounts.set("Account/team/default", {
      state: { kind: "Ready" },
      handle: accountAt(bound.baseURL, { resultLookup: results }),
    });
    await operator.attempt();
    expect(w.lookups).toEqual([results]);
    expect(w.api.requests.some(({ path }) => path.includes("/services/"))).toBe(false);
  });

  it("without its account any more is a public one", async () => {
    const w = await finishedJob();
    await w.startOperator().attempt();
    expect(w.lookups).toEqual([w.known.public]);
  });
});

const bound = { kind: "Account", name: "default", baseURL: "https://api.example.com" } as const;
