import type { LookupFunction } from "node:net";
import type { Logger } from "pino";
import { getCondition } from "../../api/v1alpha1/conditions.ts";
import { API_VERSION } from "../../api/v1alpha1/meta.ts";
import { leadsTo } from "../../base/address-guard.ts";
import { rfc3339 } from "../../base/clock.ts";
import { createMultiMap } from "../../base/multi-map.ts";
import { plainText } from "../../base/sanitizer.ts";
import { createSemaphore } from "../../base/semaphore.ts";
import type { WebhookOutcome } from "../../base/webhook.ts";
import { findObject } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";
import { serviceResource } from "../../kube/resource.ts";
import { type KubeObject, keyOf } from "../../kube/types.ts";
import { backoffDelay } from "../../runtime/backoff.ts";
import { boundKey } from "../account/binding.ts";
import { createValueReader } from "../references.ts";
import { messageOf } from "../verdict.ts";
import type { JobDeps } from "./deps.ts";
import type { Callbacks, Job, JobStatus } from "./types.ts";

type CallbackStatus = NonNullable<JobStatus["callback"]>;

/** Callbacks under way. A receiver that does not answer holds up those of its own namespace only. */
const AT_ONCE = { capacity: 64, perGroup: 8 };
/** How long after the end of the job a callback is retried. */
export const RETRIED_MS = 24 * 3_600_000;
const BACKOFF = { baseMs: 5_000, capMs: 3_600_000, jitter: 0.2 };
/** Re-check interval for a callback under way, in case a wake-up is lost. */
const CHECK_MS = 60_000;
const ERROR_LENGTH = 1_024;

export function createCallbacks({ send, lookups }: Pick<Callbacks, "send" | "lookups">): Callbacks {
  type Attempt = { key: string; outcome?: WebhookOutcome; ending: AbortController; ended: Promise<void> };
  const attempts = new Map<string, Attempt>();
  /** UIDs by the key of their job: when the job is gone, nobody knows its UID. */
  const keys = createMultiMap<string>();
  const pool = createSemaphore(AT_ONCE);

  function forget(uid: string): void {
    const { key = "", ending } = attempts.get(uid) ?? {};
    attempts.delete(uid);
    ending?.abort(new Error("the job is deleted"));
    keys.remove(key, uid);
  }

  return {
    send,
    lookups,
    find: (uid) => attempts.get(uid),
    begin(job, wake, run) {
      const { uid, namespace } = job.metadata;
      const key = `${job.kind}:${keyOf(job)}`;
      const ending = new AbortController();
      const attempt: Attempt = { key, ending, ended: Promise.resolve() };
      attempts.set(uid, attempt);
      keys.add(key, uid);
      const work = async () => {
        const release = await pool.take(namespace, 1, ending.signal);
        try {
          const outcome = await run(ending.signal);
          if (!ending.signal.aborted) attempt.outcome = outcome;
        } finally {
          release();
        }
        wake();
      };
      attempt.ended = work().catch(() => undefined); // aborted
    },
    forget,
    forgetFormer(key, uid) {
      for (const former of [...keys.of(key)]) if (former !== uid) forget(former);
    },
    async stop() {
      for (const { ending } of attempts.values()) ending.abort(new Error("the operator is stopping"));
      await Promise.all([...attempts.values()].map(({ ended }) => ended));
    },
  };
}

/** The callback of a job that ends now. It is in the same write as the end, so that none is lost. */
export function callbackAtEnd(shared: CallbackDeps, job: Job): Pick<JobStatus, "callback"> {
  if (targetOf(shared, job) === undefined || job.status?.callback !== undefined) return {};
  return { callback: { state: "Pending", attempts: 0 } };
}

type CallbackDeps = { accounts: Pick<JobDeps<Job>["shared"]["accounts"], "get"> };

/** Where the end of a job is told. `place`: the namespace of the secret and of Services. `share`: of which it is the default. */
type Target = Pick<NonNullable<Job["spec"]["callback"]>, "url" | "secretRef"> & { place: string; share?: string };

/** The callback of the job, else of the share of its namespace. By the labels that were read last: it delays nothing. */
function targetOf({ accounts }: CallbackDeps, job: Job): Target | undefined {
  const { namespace } = job.metadata;
  if (job.spec.callback !== undefined) return { ...job.spec.callback, place: namespace };
  const account = boundKey(job);
  const handle = account === undefined ? undefined : accounts.get(account)?.handle;
  const share = handle?.sharing.known(namespace);
  const place = handle?.secretNamespace;
  return share?.callback === undefined || place === undefined
    ? undefined
    : { ...share.callback, place, share: share.name };
}

/** Sends what is due, and writes what came of it. `isPending`: the job has to stay. */
export async function callBack<T extends Job>(
  deps: JobDeps<T>,
  job: T,
  signal: AbortSignal,
): Promise<{ job: T; isPending: boolean; againMs?: number }> {
  const { shared, adapter, callbacks, metrics } = deps;
  const { callback, completionTime = "" } = job.status ?? {};
  if (callback?.state !== "Pending") return { job, isPending: false };
  const { uid } = job.metadata;
  const { kind } = adapter.kind.resource;
  const { outcome } = callbacks.find(uid) ?? {};
  const now = shared.clock.now();
  if (outcome !== undefined) {
    const next = afterAttempt(callback, outcome, { now, endedAt: Date.parse(completionTime), random: shared.random });
    const status = { ...job.status, callback: next };
    const written = await adapter.kind.patchStatus(job, status as T["status"], signal);
    callbacks.forget(uid);
    metrics?.called(kind, job, outcome.kind);
    if (next.state === "Failed") {
      shared.recorder.warning(job, "CallbackFailed", "Callback", `Not delivered: ${next.lastError}`);
    }
    return { job: written, isPending: next.state === "Pending", againMs: dueIn(next, now) };
  }
  if (callbacks.find(uid) !== undefined) return { job, isPending: true, againMs: CHECK_MS };
  const againMs = dueIn(callback, now);
  if (againMs > 0) return { job, isPending: true, againMs };
  callbacks.begin(
    { ...job, kind },
    () => deps.wake(job),
    (ending) => deliver(deps, job, ending),
  );
  return { job, isPending: true, againMs: CHECK_MS };
}

const dueIn = ({ nextAttemptTime }: CallbackStatus, now: number) =>
  nextAttemptTime === undefined ? 0 : Math.max(0, Date.parse(nextAttemptTime) - now);

/** What the status shows after an attempt. `endedAt`: the end of the job. Times in ms since the epoch. */
export function afterAttempt(
  { attempts: before }: CallbackStatus,
  outcome: WebhookOutcome,
  { now, endedAt, random }: { now: number; endedAt: number; random: () => number },
): CallbackStatus {
  const attempts = before + 1;
  const time = rfc3339(now);
  if (outcome.kind === "Delivered") return { state: "Delivered", attempts, time };
  const lastError = plainText(outcome.message, ERROR_LENGTH);
  if (outcome.gone === true || now - endedAt >= RETRIED_MS) return { state: "Failed", attempts, lastError, time };
  const pauseMs = Math.min(outcome.retryAfterMs ?? 0, BACKOFF.capMs);
  const nextAttempt = now + Math.max(pauseMs, backoffDelay(attempts, { ...BACKOFF, random }));
  return { state: "Pending", attempts, lastError, nextAttemptTime: rfc3339(Math.ceil(nextAttempt / 1000) * 1000) };
}

async function deliver<T extends Job>(
  { shared, adapter, callbacks }: JobDeps<T>,
  job: T,
  signal: AbortSignal,
): Promise<WebhookOutcome> {
  try {
    const target = targetOf(shared, job);
    if (target === undefined) return { kind: "Failed", message: "the job has no callback any more", gone: true };
    const { uid } = job.metadata;
    const { url, place } = target;
    const secret = await createValueReader(shared.kube, signal).secretKey(place, target.secretRef);
    const account = boundKey(job);
    const results = account === undefined ? undefined : shared.accounts.get(account)?.handle?.resultLookup;
    const lookup = await serviceLookup(
      shared.kube,
      { url, namespace: place, guard: callbacks.lookups.service },
      signal,
    );
    const body = JSON.stringify(endEvent(adapter.kind.resource, job));
    const message = { url, id: uid, contentType: "application/cloudevents+json", body, secret };
    const outcome = await callbacks.send(message, { lookup: lookup ?? results ?? callbacks.lookups.public, signal });
    return withoutPlace(shared.log, target, outcome);
  } catch (error) {
    return withoutPlace(shared.log, targetOf(shared, job), { kind: "Failed", message: messageOf(error) });
  }
}

/** The receiver of a share is not shown to the namespaces of the share: the log has the cause. */
function withoutPlace(log: Pick<Logger, "warn">, target: Target | undefined, outcome: WebhookOutcome): WebhookOutcome {
  if (target?.share === undefined || outcome.kind === "Delivered") return outcome;
  log.warn({ share: target.share, reason: outcome.message }, "the callback of a share was not delivered");
  return {
    ...outcome,
    message: `the receiver of share ${target.share} did not take it: its administrator finds the cause in the operator's log`,
  };
}

type Service = KubeObject<{ type?: string; clusterIP?: string }>;
type Receiver = { url: string; namespace: string; guard: LookupFunction };

/**
 * Leads to the cluster IP of a Service of the namespace: whatever its name resolves to may be elsewhere, as with an ExternalName. Undefined:
 * the URL names none.
 * @throws Error when the Service does not exist or has no cluster IP
 */
async function serviceLookup(
  kube: Parameters<typeof findObject>[0],
  { url, namespace, guard }: Receiver,
  signal: AbortSignal,
): Promise<LookupFunction | undefined> {
  const [, name, of] = /^([a-z0-9-]+)\.([a-z0-9-]+)\.svc(?:\.cluster\.local)?\.?$/.exec(new URL(url).hostname) ?? [];
  if (name === undefined || of !== namespace) return undefined;
  const found = await findObject<Service>(kube, serviceResource, { namespace, name }, { signal }).catch((error) => {
    if (!isForbidden(error)) throw error;
    throw new Error(`the operator may not read Service ${namespace}/${name}: grant it get on services`);
  });
  if (found === undefined) throw new Error(`Service ${namespace}/${name} does not exist`);
  const { type, clusterIP = "" } = found.spec;
  if (type === "ExternalName" || clusterIP === "" || clusterIP === "None") {
    throw new Error(`Service ${namespace}/${name} has no cluster IP: a callback goes to Services with one only`);
  }
  return leadsTo(clusterIP, guard);
}

/** The CloudEvent of the end of a job. A receiver tells repeated ones by `id`. */
export function endEvent({ kind, plural }: { kind: string; plural: string }, { metadata, status }: Job) {
  const { namespace, name, uid } = metadata;
  const { phase, completionTime, taskID, attempts, estimatedCost, results = [], conditions } = status ?? {};
  const { reason, message } = getCondition(conditions, phase === "Succeeded" ? "Complete" : "Failed") ?? {};
  return {
    specversion: "1.0",
    id: uid,
    source: `/apis/${API_VERSION}/namespaces/${namespace}/${plural}/${name}`,
    type: `dev.mooring.job.${phase === "Succeeded" ? "succeeded" : "failed"}`,
    time: completionTime,
    datacontenttype: "application/json",
    data: {
      kind,
      namespace,
      name,
      uid,
      phase,
      reason,
      message,
      completionTime,
      taskID,
      attempts,
      estimatedCost,
      results,
    },
  };
}
