import { specProblem } from "../../api/manifest/spec-problem.ts";
import type { AccountShare } from "../../api/v1alpha1/account-shares.ts";
import { getCondition } from "../../api/v1alpha1/conditions.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import { ArtifactError } from "../../artifacts/errors.ts";
import { formatYuan, type Money, parseYuan } from "../../base/money.ts";
import { keyOf } from "../../kube/types.ts";
import { isShortened } from "../../runtime/shortened.ts";
import type { Wait } from "../../submission/account-line.ts";
import type { AccountHandle } from "../account/registry.ts";
import { forbiddenCost } from "../account/share-rules.ts";
import type { ResolvedStore } from "../artifact-store/registry.ts";
import { operationMeter } from "../billing/meters.ts";
import { visibleCosts } from "../billing/object-cost.ts";
import { createValueReader, StalledError, type ValueReader } from "../references.ts";
import { artifactVerdict, type Cause } from "../verdict.ts";
import type { JobDeps } from "./deps.ts";
import type { Observation, ObserveContext } from "./observations.ts";
import { longestKeyOf } from "./result-key.ts";
import { type Block, InvalidJobError, type Job, type PaidRequest, paidOperation } from "./types.ts";

type StoreInUse = Extract<ResolvedStore, { kind: "Usable" }> | undefined;
/** Re-check interval for a job whose price is too high or unknown. */
const PRICE_MS = 5 * 60_000;

type Invalid = Observation<"InvalidSpec">;

/** Checks what takes no request: the spec, and whether a result can be stored. Undefined: nothing is wrong. */
export function checkJob<T extends Job>({ deps, job }: ObserveContext<T>, store: StoreInUse): Invalid | undefined {
  try {
    const problem = specProblem(deps.adapter.kind.resource, job.spec);
    if (problem !== undefined) throw new InvalidJobError(problem);
    checkResultKey(job, store);
    return undefined;
  } catch (error) {
    return invalid(error);
  }
}

/** Reads what jobs refer to. */
export function readerOf<T extends Job>({ shared, stores, sources }: JobDeps<T>, signal: AbortSignal): ValueReader {
  return createValueReader(shared.kube, signal, { stores, jobs: sources });
}

/** The paid request of a job that `checkJob` accepts. Reads what the job refers to. */
export async function prepare<T extends Job>(
  { deps, job, signal }: ObserveContext<T>,
  account: AccountHandle,
): Promise<{ kind: "Prepared"; request: PaidRequest } | Invalid | Observation<"MissingReference">> {
  const whole = isShortened(job) ? await deps.wholes.read(job, signal) : undefined;
  try {
    const reader = readerOf(deps, signal);
    return {
      kind: "Prepared",
      request: await deps.adapter.prepare(wholeJob(deps, job, whole?.object), account, reader),
    };
  } catch (error) {
    const cause = missing(error);
    if (cause === undefined) return invalid(error);
    return { kind: "MissingReference", ...cause, references: deps.adapter.references(job) };
  } finally {
    whole?.release();
  }
}

/** Why something that the spec refers to cannot be read now. Undefined: the error says something else. */
function missing(error: unknown): Cause | undefined {
  if (error instanceof StalledError) return { reason: error.reason, message: error.message };
  if (!(error instanceof ArtifactError) || error.kind === "Aborted") return undefined;
  const verdict = artifactVerdict(error);
  if (verdict.kind === "Done") return undefined;
  const action = verdict.reason === "InvalidSpec" ? ": change the object.key of the input" : "";
  return { reason: verdict.reason, message: `the input cannot be read: ${verdict.message}${action}` };
}

/** The spec that the request is made from. @throws InvalidJobError */
function wholeJob<T extends Job>({ adapter }: JobDeps<T>, job: T, read: T | undefined): T {
  if (!isShortened(job)) return job;
  if (read === undefined) throw new Error(`${adapter.kind.resource.kind} ${keyOf(job)} was deleted: nothing is sent`);
  const problem = specProblem(adapter.kind.resource, read.spec);
  if (problem !== undefined) throw new InvalidJobError(problem);
  return read;
}

/** Whether the next attempt may make the job cost more than `spec.maxCost`, or than its share ever allows. Undefined: nothing is wrong. */
export async function checkCost<T extends Job>(
  { deps: { shared }, job }: ObserveContext<T>,
  { key }: AccountHandle,
  { quantity, share }: { quantity: number; share: AccountShare | undefined },
): Promise<Block | undefined> {
  const meter = operationMeter(paidOperation(job));
  const unfit = share && forbiddenCost(share, shared.estimates.priceOf(key, meter, quantity));
  if (unfit !== undefined) return { ...unfit, stalled: true, againMs: PRICE_MS };
  if (job.spec.maxCost === undefined) return undefined;
  const attempt = (job.status?.attempts ?? 0) + 1;
  const cost = shared.estimates.priceOf(key, meter, quantity * attempt);
  const visible = await visibleCosts(shared, key, job.metadata.namespace);
  const problem = costProblem(job, attempt, cost, visible.kind === "Shown");
  return problem && { ...problem, stalled: true, againMs: PRICE_MS };
}

/** Why `spec.maxCost` holds an attempt with this cost (undefined: unknown). Undefined: it does not. `isShown`: whether amounts may be told. */
export function costProblem(job: Job, attempt: number, cost: Money | undefined, isShown: boolean): Cause | undefined {
  const { maxCost } = job.spec;
  if (maxCost === undefined) return undefined;
  if (cost === undefined) {
    const message = `spec.maxCost needs the price of ${paidOperation(job)}, which no bill has shown yet: create a job without maxCost first`;
    return { reason: "PriceUnknown", message };
  }
  if (cost <= parseYuan(maxCost)) return undefined;
  const amount = isShown ? `about ${formatYuan(cost)} yuan` : "more";
  const message = `Attempt ${attempt} would make the job cost ${amount}, spec.maxCost is ${maxCost}: create a job with a higher maxCost`;
  return { reason: "CostTooHigh", message };
}

const LINE_REASONS: readonly Reason[] = [
  "ConcurrencyLimited",
  "RateLimited",
  "BudgetExceeded",
  "BudgetUnknown",
  "InsufficientBalance",
  "ShareLimited",
] satisfies Wait["reason"][];

/**
 * Whether the status shows that the job waits for a slot: it was prepared with this spec. It is prepared again when it has the slot, so
 * that thousands of waiting jobs read nothing.
 */
export function isInLine({ metadata, status }: Job): boolean {
  const ready = getCondition(status?.conditions, "Ready");
  if (status?.phase !== "Pending" || ready?.observedGeneration !== metadata.generation) return false;
  return LINE_REASONS.some((reason) => reason === ready?.reason);
}

/** @throws any other error */
function invalid(error: unknown): Invalid {
  if (!(error instanceof InvalidJobError)) throw error;
  return { kind: "InvalidSpec", reason: "InvalidSpec", message: error.message };
}

/** A result that cannot be stored is not paid for. @throws InvalidJobError */
function checkResultKey(job: Job, store: StoreInUse): void {
  if (store === undefined) return;
  try {
    store.store.checkKey(longestKeyOf(job));
  } catch (error) {
    if (!(error instanceof ArtifactError)) throw error;
    throw new InvalidJobError(`output.prefix: ${error.message}: change output.prefix or the prefix of the store`);
  }
}
