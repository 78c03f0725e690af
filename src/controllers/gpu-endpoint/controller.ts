import { specProblem } from "../../api/manifest/spec-problem.ts";
import { getCondition } from "../../api/v1alpha1/conditions.ts";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { gpuEndpointResource } from "../../api/v1alpha1/kinds.ts";
import { FINALIZER } from "../../api/v1alpha1/meta.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import { keyOf } from "../../kube/types.ts";
import type { ReconcileContext, Request, Result, SharedReconciler } from "../../runtime/controller.ts";
import type { EventRecorder } from "../../runtime/recorder.ts";
import { submissionOf, UnwantedRequestError } from "../../submission/record.ts";
import { accountToUse, boundKey } from "../account/binding.ts";
import { accountMismatch } from "../account/mismatch.ts";
import type { Resolved } from "../account/registry.ts";
import { visibleCosts, withEndpointCost } from "../billing/object-cost.ts";
import type { ControllerDeps, Kind } from "../controller-deps.ts";
import { OutdatedObjectError, observeCurrentState } from "../current-state.ts";
import { createReconciler, earlierOf } from "../reconciler.ts";
import { referencesOf, waitsForReference } from "../references.ts";
import { announceStall, requeueOf } from "../report.ts";
import { heldVerdict, type Verdict } from "../verdict.ts";
import { createWholeObjects } from "../whole-object.ts";
import { createClaims } from "./claims.ts";
import { emptyOutcome, type Outcome, warn } from "./conditions.ts";
import { converge, unclaimed } from "./converge.ts";
import { isRetained, needsFinalizer } from "./desired.ts";
import { exportReferences, syncExports, withExports } from "./exports.ts";
import { createEndpointFinalizer, type FinalizeInput } from "./finalize.ts";
import {
  createdBy,
  createEndpointMemories,
  type EndpointMemories,
  type EndpointMemory,
  type OpenCreate,
} from "./memory.ts";
import type { EndpointMetrics } from "./metrics.ts";
import { pausedStatus, statusOf } from "./status.ts";
import { type Left, writeChecks } from "./step.ts";

/** Time for the watch to catch up with the API server. */
const OUTDATED_MS = 2_000;
/** Re-check interval for a create of another process, in case its end is not seen. */
const SENDER_MS = 2_000;

/** Keeps a remote endpoint equal to its GpuEndpoint: observe, plan, apply, report. */
export function createGpuEndpointReconciler(
  shared: ControllerDeps,
  plain: Kind<GpuEndpoint>,
  metrics: EndpointMetrics,
): SharedReconciler<GpuEndpoint> {
  const memories = createEndpointMemories(shared);
  const { kind, currentState } = observeCurrentState(
    plain,
    (key, signal) => shared.reader.read<GpuEndpoint>(plain.resource, key, signal),
    memories.of,
  );
  const claims = createClaims(shared, kind, memories);
  const finalize = createEndpointFinalizer({ shared, kind, claims, memories, currentState });
  const wholes = createWholeObjects<GpuEndpoint>(shared.reader, kind);

  const reconcile = createReconciler<GpuEndpoint>({
    kind,
    clock: shared.clock,
    readWhole: (endpoint, { signal }) => wholes.read(endpoint, signal),
    async forgetDeleted({ key }) {
      forgetReferences(key);
      return undefined;
    },
    finalize: (endpoint, context) => finalize({ endpoint, context }),
    async pause(stored, { signal }) {
      const { entry } = memories.findCreate(stored); // time passes for a create whose outcome is unknown
      const endpoint = await withFinalizer(stored, entry, signal);
      await kind.patchStatus(endpoint, pausedStatus(endpoint, shared.clock.now()), signal);
      return undefined;
    },
    async reconcile(stored, requested, context) {
      const { namespace, name } = stored.metadata;
      const submission = memories.findCreate(stored);
      const endpoint = await withFinalizer(stored, submission.entry, context.signal);
      const key = referenceKey(`${namespace}/${name}`);
      const isValid = specProblem(kind.resource, endpoint.spec) === undefined;
      const references = isValid ? referencesOf(namespace, endpoint.spec.env ?? []) : [];
      shared.references.track(key, references, { waits: waitsForReference(stalledReason(endpoint)) });
      shared.exports.track(key, exportReferences(endpoint));

      // A create whose outcome is unknown is looked up with the account that it was sent to.
      const { account = accountToUse(endpoint) } = submission.entry ?? {};
      const resolved = await shared.accounts.resolve(account, namespace);
      if (resolved.kind === "Checking") return undefined;
      const facts = { ...submission, requested, context };
      const left: Left = { endpoint, written: {} };
      const outcome = await step(left, resolved, facts);
      const { verdict } = outcome;
      const reason = verdict.kind === "Stalled" ? verdict.reason : undefined;
      shared.references.track(key, references, { waits: waitsForReference(reason) });
      return report({ shared, kind, metrics, memories }, left, outcome, facts);
    },
  });

  function forgetReferences(key: string): void {
    shared.references.forget(referenceKey(key));
    shared.exports.forget(referenceKey(key));
  }

  /** A changed deletion policy counts at once for what exists at the service, whether or not the account can be used. */
  async function withFinalizer(endpoint: GpuEndpoint, entry: Submission["entry"], signal: AbortSignal) {
    if (endpoint.status?.endpointID === undefined && entry === undefined) return endpoint;
    return kind.setFinalizer(endpoint, needsFinalizer(endpoint), signal);
  }

  /** One step toward the spec, where the account and the claims of other objects allow it. */
  async function step(left: Left, resolved: Usable | Held, facts: Facts): Promise<Outcome> {
    const { endpoint } = left;
    if (resolved.kind === "Held") return { ...emptyOutcome(heldVerdict(resolved)), outdated: true };
    const { account } = resolved;
    const problem = specProblem(kind.resource, endpoint.spec);
    if (problem !== undefined) return emptyOutcome({ kind: "Stalled", reason: "InvalidSpec", message: problem });
    const mismatch = accountMismatch(boundAt(endpoint, facts.entry), account);
    if (mismatch !== undefined) return emptyOutcome({ kind: "Stalled", ...mismatch });
    const claimed = await claims.claim(endpoint, account.baseURL);
    if (claimed.kind !== "Granted") return unclaimed(claimed);
    const { entry, unknownForMs, context } = facts;
    const checks = writeChecks({ shared, kind, currentState }, left, account, context.signal);
    const requested = facts.requested !== undefined;
    const found = { endpoint, account, entry, unknownForMs, requested, left };
    return converge({ ...found, shared, kind, memories, claims, checks, context });
  }

  async function run(request: Request, context: ReconcileContext): Promise<Result> {
    const present = kind.store.get(request.key);
    const uid = present?.metadata.uid;
    if (present !== undefined && awaitsSender(present)) return { requeueAfterMs: SENDER_MS };
    const again = await forgetDeparted({ memories, recorder: shared.recorder, finalize }, request, uid, context);
    if (present !== undefined) memories.of(present).retained = isRetained(present) ? present : undefined;
    try {
      return earlierOf(again, await reconcile(request, context));
    } catch (error) {
      if (!(error instanceof OutdatedObjectError) && !(error instanceof UnwantedRequestError)) throw error;
      context.log.info({ reason: error.message }, "the object has another state by now");
      return earlierOf(again, { requeueAfterMs: OUTDATED_MS });
    } finally {
      if (uid !== undefined) claims.release(uid); // by now the status shows what the object is bound to
    }
  }

  /** Whether another process waits for the response to a create. It writes the outcome, whoever serves the account by now. */
  function awaitsSender(endpoint: GpuEndpoint): boolean {
    const open = memories.peek(endpoint);
    return open !== undefined && open.sender !== shared.identity && !shared.hasSenderEnded(open.sender);
  }

  return {
    reconcile: run,
    underWay(endpoint) {
      const own = memories.former(keyOf(endpoint), undefined).find(({ uid }) => uid === endpoint.metadata.uid)?.own;
      return own && (createdBy(own.create) === undefined ? "Request" : "Outcome");
    },
    forget(key) {
      forgetReferences(key);
      for (const memory of memories.former(key, undefined)) if (memory.own === undefined) memories.forget(memory);
    },
  };
}

type Reporter = {
  shared: ControllerDeps;
  kind: Kind<GpuEndpoint>;
  metrics: EndpointMetrics;
  memories: EndpointMemories;
};
type Submission = { entry: OpenCreate | undefined; unknownForMs: number };
type Facts = Submission & { requested: string | undefined; context: ReconcileContext };
type Usable = Extract<Resolved, { kind: "Usable" }>;
type Held = Extract<Resolved, { kind: "Held" }>;

/** Writes the exports, the events and the status. @throws what the queue has to back off for */
async function report(
  { shared, kind, metrics, memories }: Reporter,
  { endpoint, written, sanitize }: Left,
  outcome: Outcome,
  { requested, context: { signal } }: Facts,
): Promise<Result> {
  const now = shared.clock.now();
  const unsent = memories.unsent(endpoint);
  const shown = { ...(unsent && { submission: submissionOf(unsent, "NotSent", now) }), ...written };
  const update = { written: shown, requested, sanitize };
  const remote = statusOf(endpoint, { ...update, outcome }, now);
  const exports = await syncExports({ shared, endpoint, record: outcome.record, signal }, remote);
  const verdict = withStall(outcome.verdict, exports.stalled);
  const judged =
    verdict === outcome.verdict ? remote : statusOf(endpoint, { ...update, outcome: { ...outcome, verdict } }, now);
  const complete = withExports(judged, exports);
  const visible = await visibleCosts(shared, boundKey({ ...endpoint, status: complete }), endpoint.metadata.namespace);
  const status = withEndpointCost(endpoint, complete, visible, now);

  warn(shared.recorder, endpoint, outcome);
  announceStall(shared.recorder, endpoint, status, "Reconcile");
  memories.observe(await kind.patchStatus(endpoint, status, signal));
  metrics.moved(endpoint, status, memories.of(endpoint));

  const { error, requeueAfterMs } = exports;
  const requeue = earlierOf(requeueOf(outcome.verdict), requeueAfterMs === undefined ? undefined : { requeueAfterMs });
  if (error !== undefined) throw error;
  return requeue;
}

const stalledReason = ({ status }: GpuEndpoint) => getCondition(status?.conditions, "Stalled")?.reason;

const referenceKey = (key: string) => `${gpuEndpointResource.plural}:${key}`;

/** What is wrong with the endpoint itself is reported first. */
function withStall(verdict: Verdict, stalled: { reason: Reason; message: string } | undefined): Verdict {
  return stalled === undefined || verdict.kind === "Stalled" ? verdict : { kind: "Stalled", ...stalled };
}

/** The base URL of the service that the endpoint is bound at, or that its create was sent to: it is not looked for at another one. */
function boundAt({ status }: GpuEndpoint, entry: OpenCreate | undefined): string | undefined {
  return entry?.account?.baseURL ?? (status?.endpointID === undefined ? undefined : status.account?.baseURL);
}

/** When the account is not known yet: nobody wakes an object that does not exist. */
const RETRY_MS = 10_000;

type DepartedDeps = {
  memories: EndpointMemories;
  recorder: Pick<EventRecorder, "normal">;
  finalize: (input: FinalizeInput) => Promise<Result>;
};

/**
 * Forgets the objects that had a key before `present`, the UID of the object that has it now. Call it from the key's own reconcile.
 *
 * An object can disappear while its create is under way, although it has the finalizer: a user removes it, or the API server decides on a
 * deletion before it stores the finalizer and completes it afterwards. No status shows the new endpoint, so the deletion policy is applied
 * with the object as it was when its record was stored. After a restart nothing is known of it, and the account counts the endpoint as
 * orphaned.
 * @returns when to call it again
 */
export async function forgetDeparted(
  deps: DepartedDeps,
  { key }: Pick<Request, "key">,
  present: string | undefined,
  context: ReconcileContext,
): Promise<Result> {
  let again: Result;
  for (const memory of deps.memories.former(key, present)) {
    again = earlierOf(again, await forgetOne(deps, memory, context));
  }
  return again;
}

async function forgetOne(
  { memories, recorder, finalize }: DepartedDeps,
  memory: EndpointMemory,
  context: ReconcileContext,
) {
  const endpoint = memory.own?.endpoint;
  // Without the finalizer, the endpoint is left unchanged.
  if (endpoint?.metadata.finalizers?.includes(FINALIZER)) {
    const result = await finalize({ endpoint, departed: true, context });
    if (memory.own !== undefined) return result ?? { requeueAfterMs: RETRY_MS };
  }
  if (memory.retained !== undefined) announceRetained(recorder, memory.retained);
  memories.forget(memory);
  return undefined;
}

/** One event for each deleted GpuEndpoint whose remote endpoint is kept. An operator that starts later does not know of it. */
function announceRetained(recorder: Pick<EventRecorder, "normal">, endpoint: GpuEndpoint): void {
  const note = `deletionPolicy is Retain: endpoint ${endpoint.status?.endpointID} stays at the service as it is and may continue to cost money`;
  recorder.normal(endpoint, "Retained", "Delete", note);
}
