import type { MediaBatch, MediaBatchStatus } from "../../api/v1alpha1/media-batch.ts";
import type { ArtifactStoreHandle } from "../../artifacts/types.ts";
import { rfc3339 } from "../../base/clock.ts";
import { formatYuan, type Money, parseYuan } from "../../base/money.ts";
import type { KubeObject } from "../../kube/types.ts";
import { keyOf } from "../../kube/types.ts";
import type { Operation } from "../../provider/operations.ts";
import { boundTo } from "../account/registry.ts";
import { operationMeter } from "../billing/meters.ts";
import { visibleCosts } from "../billing/object-cost.ts";
import type { Job } from "../jobs/types.ts";
import { forgetCheck, type ItemsState, withWhole } from "./checking.ts";
import { childOf, childState, jobResourceOf } from "./child.ts";
import {
  childrenOf,
  createChildren,
  removeChildren,
  surelyMissing,
  suspendChildren,
  withdrawUnsent,
} from "./children.ts";
import type { BatchContext, BatchDeps } from "./deps.ts";
import type { BatchMemory } from "./memory.ts";
import { type BatchPlan, type Observation, type Progress, planBatch, progressAfter } from "./plan.ts";
import { progressOf, shownProgress } from "./progress.ts";
import { resultLine } from "./results.ts";
import { ItemsChangedError, sourceOf } from "./source.ts";
import { type BatchOutcome, batchStatusOf } from "./status.ts";

type Written = Partial<Record<keyof MediaBatchStatus, unknown>>;

/** What a round did. `batch`: with its last status. `fresh`: the API server confirmed in it that the status is the newest. */
export type Round = { batch: MediaBatch; plan: BatchPlan; fresh: boolean; young: boolean };

/** What a round works with. */
type RoundParts = {
  deps: BatchDeps;
  memory: BatchMemory;
  context: BatchContext;
  items: ItemsState;
  store: ArtifactStoreHandle;
};

/**
 * One round: observes the jobs, records in the status what ended and what starts, and then removes and creates jobs. The order is what
 * makes each item paid for once:
 * 1. The lines of the items that ended are stored.
 * 2. The status shows what ended, and which jobs are about to exist (`creatingIndexes`). Their requests are held (progress.ts, maySend).
 * 3. The jobs that ended are removed, and the new ones are created.
 * 4. The status shows that the new jobs exist. From now on they are never created again, and they may send.
 */
export async function runRound(parts: RoundParts): Promise<Round> {
  const { deps, memory, context, items } = parts;
  const { batch, signal } = context;
  const progress = progressOf(batch.status);
  const children = childrenOf(deps, batch);
  forgetShown(memory, progress, children);
  await suspendChildren(deps, context, children.values());

  const observation = observe(deps, batch, { progress, children, items });
  let plan = planBatch(observation);
  if (plan.stopped !== undefined) await withdrawUnsent(deps, context, children.values());
  const lost = await lostOf(parts, plan);
  let manifests: Map<number, KubeObject>;
  try {
    manifests = await manifestsOf(parts, plan);
  } catch (error) {
    if (!(error instanceof ItemsChangedError)) throw error;
    forgetCheck(memory);
    plan = planBatch({ ...observation, suspended: true });
    manifests = new Map();
  }

  const after = progressAfter(progress, plan, lost);
  const ended = { ...parts, progress, after, children, plan, lost };
  const written = await recordedIn(ended);
  const outcome = outcomeOf(parts, { children, after, plan });
  let shown = await write(parts, batch, written, outcome);
  const changes = manifests.size > 0 || plan.remove.length > 0 || plan.ended;
  const fresh = shown !== batch || !changes || (await isNewest(deps, batch, signal));
  const round = { plan, fresh, young: plan.missing.length > lost.length };
  if (!fresh) return { ...round, batch: shown };

  await removeChildren(
    deps,
    memory,
    context,
    plan.remove.flatMap((index) => children.get(index) ?? []),
  );
  const exist = await createChildren(deps, memory, { ...context, batch: shown }, manifests);
  if (exist.length > 0) {
    const record = { completed: [], failed: [], started: [], adopted: [], seen: exist };
    shown = await write(parts, shown, shownProgress(progressAfter(after, { record }, [])), outcome);
  }
  wake(deps, shown, [...exist, ...plan.record.seen, ...plan.record.adopted]);
  return { ...round, batch: shown };
}

function observe(
  { shared }: BatchDeps,
  { spec, status }: MediaBatch,
  { progress, children, items }: { progress: Progress; children: ReadonlyMap<number, Job>; items: ItemsState },
): Observation {
  const started = status?.startTime === undefined ? undefined : Date.parse(status.startTime);
  const seconds = spec.activeDeadlineSeconds;
  return {
    total: items.kind === "Usable" ? items.end.total : (status?.total ?? 0),
    parallelism: spec.parallelism,
    maxFailedIndexes: spec.maxFailedIndexes,
    maxHaltedIndexes: spec.maxHaltedIndexes,
    suspended: spec.suspend || items.kind !== "Usable",
    pastDeadline: seconds !== undefined && started !== undefined && shared.clock.now() >= started + seconds * 1000,
    progress,
    children: new Map([...children].map(([index, job]) => [index, childState(job)])),
  };
}

/** The store shows these jobs by now, or does not show them any more. */
function forgetShown(memory: BatchMemory, { active }: Progress, children: ReadonlyMap<number, Job>): void {
  for (const index of memory.created.keys()) {
    if (children.has(index) || !active.has(index)) memory.created.delete(index);
  }
  const uids = new Set([...children.values()].map(({ metadata }) => metadata.uid));
  for (const uid of memory.removed) if (!uids.has(uid)) memory.removed.delete(uid);
}

/** Active items that surely have no job: a user deleted it. When the batch stops, also those whose job was never created. */
async function lostOf({ deps, memory, context }: RoundParts, plan: BatchPlan): Promise<number[]> {
  const uncreated = plan.stopped === undefined ? [] : plan.create;
  return surelyMissing(deps, memory, context, [...plan.missing, ...uncreated]);
}

/** The jobs to create. @throws ItemsChangedError */
async function manifestsOf(
  { deps, memory, context: { batch, account, signal } }: RoundParts,
  plan: BatchPlan,
): Promise<Map<number, KubeObject>> {
  const manifests = new Map<number, KubeObject>();
  if (plan.stopped !== undefined) return manifests;
  const wanted = plan.create.filter((index) => !memory.created.has(index)).sort((a, b) => a - b);
  if (wanted.length === 0) return manifests;
  const bound = {
    ...batch,
    status: { conditions: [], ...batch.status, account: batch.status?.account ?? boundTo(account) },
  };
  await withWhole(deps, bound, signal, async (whole) => {
    const source = sourceOf(whole, { ...deps, kube: deps.shared.kube });
    for (const index of wanted) {
      const item = await memory.reader.take(source, index, signal);
      manifests.set(index, childOf({ ...whole, status: bound.status }, item));
    }
  });
  return manifests;
}

/** What the status shows of the items that ended, after their lines are stored. */
async function recordedIn({
  deps,
  memory,
  context,
  items,
  store,
  ...round
}: RoundParts & {
  progress: Progress;
  after: Progress;
  children: ReadonlyMap<number, Job>;
  plan: BatchPlan;
  lost: readonly number[];
}): Promise<Written> {
  const { batch, account, signal } = context;
  const { progress, after, children, plan, lost } = round;
  const ended = [...plan.record.completed, ...plan.record.failed, ...lost];
  const lines = ended.map((index) => resultLine(index, children.get(index)));
  const isRecorded = (index: number) => progress.completed.has(index) || progress.failed.has(index);
  const parts = await memory.log.add(store, { batch, lines, isRecorded }, signal);
  const costs = ended.flatMap((index) => children.get(index)?.status?.estimatedCost ?? []);
  const costSoFar = costs.reduce<Money>(
    (sum, cost) => sum + parseYuan(cost),
    parseYuan(batch.status?.costSoFar ?? "0"),
  );
  return {
    ...shownProgress(after),
    account: batch.status?.account ?? boundTo(account),
    ...(ended.length > 0 ? { parts } : {}),
    ...(costs.length > 0 ? { costSoFar: formatYuan(costSoFar) } : {}),
    ...(items.kind === "Usable" ? await checkedItems(deps, context, items.end) : {}),
  };
}

async function checkedItems(
  { shared }: BatchDeps,
  { batch, account }: BatchContext,
  { total, hash, quantities }: Extract<ItemsState, { kind: "Usable" }>["end"],
): Promise<Written> {
  const visible = await visibleCosts(shared, account.key, batch.metadata.namespace);
  const costs = quantities.map(({ operation, quantity }) =>
    visible.kind === "Shown" ? visible.priceOf(operationMeter(operation as Operation), quantity) : undefined,
  );
  const known = costs.filter((cost) => cost !== undefined);
  const expected =
    known.length === costs.length && costs.length > 0 ? known.reduce((sum, cost) => sum + cost, 0n) : undefined;
  return {
    total,
    items: batch.status?.items ?? { hash, quantities },
    startTime: batch.status?.startTime ?? rfc3339(shared.clock.now()),
    ...(expected === undefined ? {} : { expectedCost: formatYuan(expected) }),
  };
}

function outcomeOf(
  { items, context: { batch } }: RoundParts,
  { children, after, plan }: { children: ReadonlyMap<number, Job>; after: Progress; plan: BatchPlan },
): BatchOutcome {
  const halted = [...children].filter(
    ([index, job]) => after.active.has(index) && job.status?.phase === "Halted",
  ).length;
  if (items.kind === "Held" && plan.stopped === undefined) return items;
  if (batch.spec.suspend && plan.stopped === undefined) return { kind: "Suspended" };
  const started = after.completed.size() + after.failed.size() + after.active.size();
  const startsMore = plan.stopped === undefined && started < (batch.status?.total ?? Number.POSITIVE_INFINITY);
  const waits = !startsMore || halted > batch.spec.maxHaltedIndexes;
  const onlyHalted = halted > 0 && halted === after.active.size() && waits;
  return { kind: "Running", halted, onlyHalted };
}

async function write(
  { deps: { kind, shared }, memory, context: { signal } }: RoundParts,
  batch: MediaBatch,
  written: Written,
  outcome: BatchOutcome,
): Promise<MediaBatch> {
  const status = batchStatusOf(batch, written, outcome, shared.clock.now());
  const after = await kind.patchStatus(batch, status, signal);
  const { activeIndexes, creatingIndexes } = after.status ?? {};
  if (activeIndexes !== status.activeIndexes || creatingIndexes !== status.creatingIndexes) {
    throw new Error(
      `the API server dropped fields of the status of MediaBatch ${keyOf(batch)}: install the CRDs of this version`,
    );
  }
  if (after !== batch) memory.wroteAt = shared.clock.monotonic();
  return after;
}

/** Nothing was written, so nothing has shown yet that no other process changed the status. */
async function isNewest({ shared, kind }: BatchDeps, batch: MediaBatch, signal: AbortSignal): Promise<boolean> {
  const found = await shared.reader.read<MediaBatch>(kind.resource, keyOf(batch), signal);
  return found.kind === "Found" && found.object.metadata.resourceVersion === batch.metadata.resourceVersion;
}

/** Their batch shows now that these jobs exist: they may send. */
function wake({ enqueue }: BatchDeps, batch: MediaBatch, indexes: readonly number[]): void {
  const { namespace, name } = batch.metadata;
  for (const index of new Set(indexes)) enqueue(jobResourceOf(batch), `${namespace}/${name}-${index}`);
}
