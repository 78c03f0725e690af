import { specProblem } from "../../api/manifest/spec-problem.ts";
import { getCondition } from "../../api/v1alpha1/conditions.ts";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { gpuEndpointResource } from "../../api/v1alpha1/kinds.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import type { Reconcile, ReconcileContext, Result } from "../../runtime/controller.ts";
import { submissionOf, UnwantedRequestError } from "../../submission/record.ts";
import { accountToUse } from "../account/binding.ts";
import { accountMismatch } from "../account/mismatch.ts";
import type { AccountHandle, Resolved } from "../account/registry.ts";
import { visibleEstimate, withEndpointCost } from "../billing/object-cost.ts";
import type { ControllerDeps, Kind } from "../controller-deps.ts";
import { OutdatedObjectError, observeCurrentState } from "../current-state.ts";
import { createReconciler, earlierOf } from "../reconciler.ts";
import { referencesOf, waitsForReference } from "../references.ts";
import { announceStall, requeueOf } from "../report.ts";
import type { Verdict } from "../verdict.ts";
import { assertWanted } from "../wanted.ts";
import { createWholeObjects } from "../whole-object.ts";
import type { Converged } from "./apply.ts";
import { createClaims } from "./claims.ts";
import { converge, unclaimed } from "./converge.ts";
import type { OpenCreate } from "./create-record.ts";
import { needsFinalizer } from "./deletion-policy.ts";
import { forgetDeparted, isRetained } from "./departed.ts";
import { exportReferences, syncExports, withExports } from "./exports.ts";
import { createEndpointFinalizer } from "./finalize.ts";
import { createEndpointMemories, type EndpointMemories } from "./memory.ts";
import type { EndpointMetrics } from "./metrics.ts";
import { emptyOutcome, pausedStatus, statusOf, warn } from "./status.ts";

/** Time for the watch to catch up with the API server. */
const OUTDATED_MS = 2_000;

/** Keeps a remote endpoint equal to its GpuEndpoint: observe, plan, apply, report. */
export function createGpuEndpointReconciler(
  shared: ControllerDeps,
  plain: Kind<GpuEndpoint>,
  metrics: EndpointMetrics,
): Reconcile {
  const memories = createEndpointMemories(shared);
  const { kind, currentState } = observeCurrentState(
    plain,
    (key, signal) => shared.reader.read<GpuEndpoint>(plain.resource, key, signal),
    memories.of,
  );
  const claims = createClaims(shared, kind, memories);
  const finalize = createEndpointFinalizer(shared, kind, { claims, memories }, currentState);
  const wholes = createWholeObjects<GpuEndpoint>(shared.reader, kind);

  const reconcile = createReconciler<GpuEndpoint>({
    kind,
    readWhole: (endpoint, { signal }) => wholes.read(endpoint, signal),
    async forgetDeleted({ key }) {
      shared.references.forget(referenceKey(key));
      shared.exports.forget(referenceKey(key));
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
      const stepped = await step(endpoint, resolved, facts);
      const { verdict } = stepped.outcome;
      const reason = verdict.kind === "Stalled" ? verdict.reason : undefined;
      shared.references.track(key, references, { waits: waitsForReference(reason) });
      return report({ shared, kind, metrics, memories }, stepped, facts);
    },
  });

  /** A changed deletion policy counts at once for what exists at the service, whether or not the account can be used. */
  async function withFinalizer(endpoint: GpuEndpoint, entry: Submission["entry"], signal: AbortSignal) {
    if (endpoint.status?.endpointID === undefined && entry === undefined) return endpoint;
    return kind.setFinalizer(endpoint, needsFinalizer(endpoint), signal);
  }

  /** One step toward the spec, where the account and the claims of other objects allow it. */
  async function step(endpoint: GpuEndpoint, resolved: Usable | Held, facts: Facts): Promise<Stepped> {
    if (resolved.kind === "Held") return { endpoint, ...held(resolved) };
    const { account, ref } = resolved;
    const problem = specProblem(kind.resource, endpoint.spec);
    if (problem !== undefined) return { endpoint, outcome: emptyOutcome(invalid(problem)), written: {} };
    const mismatch = baseURLMismatch(endpoint, facts.entry, account);
    if (mismatch !== undefined) return { endpoint, outcome: emptyOutcome(mismatch), written: {} };
    const claimed = await claims.claim(endpoint, account.baseURL);
    if (claimed.kind !== "Granted") return { endpoint, ...unclaimed(claimed, {}) };
    const { entry, unknownForMs, context } = facts;
    const requested = facts.requested !== undefined;
    const assertCurrent = () => currentState.assertCurrent(endpoint, context.signal);
    const wanted = () => assertWanted(shared, { kind, object: endpoint, account });
    const memory = memories.of(endpoint);
    const remembered = { memory, memories, claims, assertCurrent, assertWanted: wanted };
    const stored = { endpoint };
    const input = {
      shared,
      kind,
      endpoint,
      account,
      ref,
      entry,
      unknownForMs,
      requested,
      stored,
      context,
      ...remembered,
    };
    const converged = await converge(input);
    return { ...converged, endpoint: stored.endpoint };
  }

  return async (request, context) => {
    const present = kind.store.get(request.key);
    const uid = present?.metadata.uid;
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
/** `endpoint`: as the step left it, with its finalizer. */
type Stepped = Converged & { endpoint: GpuEndpoint };
type Usable = Extract<Resolved, { kind: "Usable" }>;
type Held = Extract<Resolved, { kind: "Held" }>;

/** Writes the exports, the events and the status. @throws what the queue has to back off for */
async function report({ shared, kind, metrics, memories }: Reporter, stepped: Stepped, facts: Facts): Promise<Result> {
  const { endpoint, outcome, sanitize } = stepped;
  const { requested, context } = facts;
  const { signal } = context;
  const now = shared.clock.now();
  const unsent = memories.unsent(endpoint);
  const written = { ...(unsent && { submission: submissionOf(unsent, "NotSent", now) }), ...stepped.written };
  const update = { written, requested, sanitize };
  const remote = statusOf(endpoint, { ...update, outcome }, now);
  const exports = await syncExports({ shared, endpoint, record: outcome.record, signal }, remote);
  const verdict = withStall(outcome.verdict, exports.stalled);
  const judged =
    verdict === outcome.verdict ? remote : statusOf(endpoint, { ...update, outcome: { ...outcome, verdict } }, now);
  const complete = withExports(judged, exports);
  const visible = await visibleEstimate(shared, complete.account, endpoint.metadata.namespace);
  const status = withEndpointCost(endpoint, complete, visible, now);

  warn(shared.recorder, endpoint, outcome);
  announceStall(shared.recorder, endpoint, verdict.kind === "Stalled" ? verdict : undefined, "Reconcile");
  memories.observe(await kind.patchStatus(endpoint, status, signal));
  metrics.moved(endpoint, status, memories.of(endpoint));

  const requeues = [requeueOf(outcome.verdict)?.requeueAfterMs, exports.requeueAfterMs].flatMap((ms) => ms ?? []);
  if (exports.error !== undefined) throw exports.error;
  return requeues.length === 0 ? undefined : { requeueAfterMs: Math.min(...requeues) };
}

const stalledReason = ({ status }: GpuEndpoint) => getCondition(status?.conditions, "Stalled")?.reason;

const referenceKey = (key: string) => `${gpuEndpointResource.plural}:${key}`;

/** What is wrong with the endpoint itself is reported first. */
function withStall(verdict: Verdict, stalled: { reason: Reason; message: string } | undefined): Verdict {
  return stalled === undefined || verdict.kind === "Stalled" ? verdict : { kind: "Stalled", ...stalled };
}

function invalid(message: string): Verdict {
  return { kind: "Stalled", reason: "InvalidSpec", message };
}

function held({ reason, message, againMs }: Held): Converged {
  const verdict: Verdict = { kind: "Waiting", reason, message, ...(againMs === undefined ? {} : { againMs }) };
  return { outcome: { ...emptyOutcome(verdict), outdated: true }, written: {} };
}

/** An endpoint is not looked for at another service than the one that it is bound at, or that its create was sent to. */
function baseURLMismatch(
  { status }: GpuEndpoint,
  entry: OpenCreate | undefined,
  account: AccountHandle,
): Verdict | undefined {
  const bound = entry?.account?.baseURL ?? (status?.endpointID === undefined ? undefined : status.account?.baseURL);
  const mismatch = accountMismatch(bound, account);
  return mismatch === undefined ? undefined : { kind: "Stalled", ...mismatch };
}
