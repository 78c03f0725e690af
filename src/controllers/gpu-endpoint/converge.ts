import { COMMANDS, targetOf } from "../../api/v1alpha1/commands.ts";
import { getCondition } from "../../api/v1alpha1/conditions.ts";
import { type DriftField, driftFields, type GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import { isGivenUp, mayHaveTakenEffect, ServiceError } from "../../provider/errors.ts";
import { boundTo } from "../account/registry.ts";
import { UnprovenObjectError } from "../current-state.ts";
import { createValueReader, resolveEnv, StalledError } from "../references.ts";
import { concernsKey, isUnpaid, serviceVerdict, type Verdict } from "../verdict.ts";
import { acceptedBy, apply, REFUSAL_RETRY_MS } from "./apply.ts";
import { type Attempts, historyOf, newAttempts, noteRead } from "./attempts.ts";
import type { Claimed } from "./claims.ts";
import { emptyOutcome, type Outcome, waiting } from "./conditions.ts";
import { appNameOf, desiredEndpoint, desiredHash, referencesHash, showsReferences } from "./desired.ts";
import type { Binding } from "./facts.ts";
import { type DesiredEndpoint, differences, ignoredFields, remediableFields } from "./fields.ts";
import { createdBy } from "./memory.ts";
import { isApplied, isResuming, observeBinding } from "./observe.ts";
import { isOurCreate, MAX_ROUNDS, planEndpoint } from "./plan.ts";
import { isSeenByNoKey, unconfirmedCreates } from "./recreation.ts";
import { readShare, type ShareGate } from "./share-gate.ts";
import { type Decision, LOOK_AGAIN_MS, recordOf, type Step, type Written } from "./step.ts";

const WRITES = { createEndpoint: true, updateEndpoint: true };
/** The object is reconciled when the other one is deleted; this delay covers other ways in which the endpoint becomes free. */
const DENIED_RETRY_MS = 60_000;

/** Observes, plans and applies one step toward the spec. Errors of the service come back as verdicts. */
export async function converge(step: Step): Promise<Outcome> {
  step.left.written = writtenBefore(step);
  const made: Made = { secrets: [] };
  const outcome = await attempt(step, made).catch((error: unknown) => failureOutcome(step, error, made.decision));
  step.left.sanitize = step.account.sanitizer(made.secrets);
  return { ...outcome, continues: awaitsCreate(made.decision, outcome) };
}

/** What is known of a step when it fails. `secrets`: values that no text shows. */
type Made = { decision?: Decision; secrets: string[] };

async function attempt(step: Step, made: Made): Promise<Outcome> {
  const desired = await resolveDesired(step);
  made.secrets = desired.env.flatMap(({ secret, value }) => (secret ? [value] : []));
  const binding = await observe(step, desired, false);
  const claimed = await claimCandidate(step, binding);
  if (claimed.kind !== "Granted") return unclaimed(claimed);

  const share = await readShare(step);
  made.decision = decide(step, { desired, share }, binding);
  // An update sends every parameter, so it is made from a fresh read: the list may be a minute old.
  const outdated = made.decision.plan.action === "Update" && binding.kind === "Bound" && !binding.fresh;
  if (outdated) made.decision = decide(step, { desired, share }, await observe(step, desired, true));
  const { decision } = made;
  return refusedBefore(step, decision) ?? (await apply({ ...step, desired, decision }));
}

/** What the status keeps in any case, with an endpoint that the status does not show yet. */
function writtenBefore({ shared, endpoint, account, entry, requested }: Step): Partial<Written> {
  const appName = appNameOf(endpoint, shared.clusterUID);
  const written: Partial<Written> = { appName, account: boundTo(account) };
  if (requested) written.unconfirmedCreates = [];
  const endpointID = createdBy(entry);
  if (entry === undefined || endpointID === undefined) return written;
  const creates = unconfirmedCreates({ endpoint, entry, requested });
  return { ...written, endpointID, unconfirmedCreates: creates, ...acceptedBy(entry, shared.clock.now()) };
}

async function resolveDesired({ shared, endpoint, context }: Step): Promise<DesiredEndpoint> {
  const reader = createValueReader(shared.kube, context.signal);
  const env = await resolveEnv(reader, endpoint.metadata.namespace, endpoint.spec.env ?? []);
  return desiredEndpoint(endpoint, shared.clusterUID, env);
}

function observe(step: Step, desired: DesiredEndpoint, fresh: boolean): Promise<Binding> {
  const { shared, endpoint, account, entry, unknownForMs, context } = step;
  const appName = appNameOf(endpoint, shared.clusterUID);
  const isOurs = (record: EndpointRecord, sentAt: number) => isOurCreate({ desired }, record, sentAt);
  const facts = { endpoint, account, entry, unknownForMs, appName, isOurs, fresh };
  return observeBinding({ ...facts, now: shared.clock.now(), signal: context.signal });
}

/** An endpoint with our app name may be one that another object adopted. */
async function claimCandidate({ claims, endpoint, account }: Step, binding: Binding): Promise<Claimed> {
  if (binding.candidate === undefined) return { kind: "Granted" };
  return claims.claimFound(endpoint, account.baseURL, binding.candidate.id);
}

/** The outcome for an object whose endpoint or app name another object owns. */
export function unclaimed(claimed: Exclude<Claimed, { kind: "Granted" }>): Outcome {
  if (claimed.kind === "Busy") {
    return waiting({ reason: "Pending", message: "Another GpuEndpoint in this cluster is being bound" }, LOOK_AGAIN_MS);
  }
  const { message } = claimed;
  const verdict = { kind: "Stalled", reason: "AlreadyBound", message, againMs: DENIED_RETRY_MS } as const;
  return { ...emptyOutcome(verdict), alreadyBound: true };
}

type Wanted = { desired: DesiredEndpoint; share: ShareGate };

function decide(step: Step, { desired, share }: Wanted, binding: Binding): Decision {
  const { shared, endpoint, account, requested } = step;
  const { endpointID, memberID } = endpoint.status ?? {};
  const now = shared.clock.now();
  const { attempts, appliedBefore } = attemptsAt(step, desiredHash(desired));
  const applied = appliedBefore || hasApplied(step, desired);
  if (binding.kind === "Bound" && binding.record !== undefined) {
    const differing = differences(desired, binding.record, ignoredFields(endpoint.spec, isResuming(endpoint)));
    noteRead(attempts, remediableFields(differing), now);
  }

  const plan = planEndpoint({
    spec: endpoint.spec,
    desired,
    binding,
    limits: account.endpoints.limits(),
    applied,
    resuming: isResuming(endpoint),
    history: (field) => historyOf(attempts, field, now),
    vanished: () => account.vanished({ endpointID, memberID }),
    seenByNoKey: binding.kind === "Bound" && isSeenByNoKey(binding.endpointID, account.keyVersion(), step),
    creates: unconfirmedCreates(step),
    budget: () => share.refusal() ?? shared.admission.exhausted(account.key, endpoint.metadata.namespace),
    share,
    heldByRestore: shared.heldByRestore(endpoint),
    requestCommand: COMMANDS.reconcile(targetOf(endpoint, "GpuEndpoint")),
    requested,
    now,
  });
  return { binding, plan, applied, attempts };
}

/** What was sent for this desired endpoint. `appliedBefore`: a read has shown it in full. */
function attemptsAt({ shared, endpoint, memories, requested }: Step, hash: string) {
  const memory = memories.of(endpoint);
  const { attempts: before } = memory;
  if (before?.desiredHash === hash && !requested) return { attempts: before, appliedBefore: before.applied };
  const fields = before === undefined && !requested ? stoppedFields(endpoint) : [];
  const attempts: Attempts = newAttempts(hash, { fields, confirmed: MAX_ROUNDS }, shared.clock.now());
  memory.attempts = attempts;
  return { attempts, appliedBefore: before?.desiredHash === hash && before.applied };
}

/** A new generation that changes nothing at the remote (such as a policy) has been applied already. */
function hasApplied({ endpoint, account }: Step, desired: DesiredEndpoint): boolean {
  const references = referencesHash(endpoint, desired.env, account);
  return isApplied(endpoint) && showsReferences(endpoint.status?.appliedReferencesHash, references);
}

/** The fields that Mooring stopped re-applying in this generation, as the status shows: another process may have done so. */
function stoppedFields({ status, metadata }: GpuEndpoint): DriftField[] {
  const synced = getCondition(status?.conditions, "Synced");
  if (synced?.reason !== "DriftFight" || synced.observedGeneration !== metadata.generation) return [];
  return driftFields.filter((path) => status?.drift?.some(({ field }) => field === path));
}

/** Whether the plan is a create that was not sent: a user may have released it. */
function awaitsCreate(decision: Decision | undefined, { verdict }: Outcome): boolean {
  if (decision === undefined || (verdict.kind !== "Waiting" && verdict.kind !== "Retry")) return false;
  const { action } = decision.plan;
  if (action === "AwaitBudget") return recordOf(decision) === undefined;
  return action === "Create" && verdict.reason !== "Creating"; // Creating: it was sent, and its outcome is unknown
}

/** The service refused the same write a moment ago, and no user requests a new attempt. */
function refusedBefore(step: Step, decision: Decision): Outcome | undefined {
  const { plan, attempts } = decision;
  if (plan.action !== "Create" && plan.action !== "Update") return undefined;
  const { refusal, until = 0 } = attempts.refused ?? {};
  const againMs = until - step.shared.clock.now();
  return refusal === undefined || againMs <= 0
    ? undefined
    : refusedOutcome({ kind: "Stalled", ...refusal, againMs }, decision);
}

/** The remote endpoint is as it was read before the write. */
function refusedOutcome(verdict: Verdict, decision: Decision): Outcome {
  const differences = decision.plan.action === "Update" ? decision.plan.differences : [];
  return { ...emptyOutcome(verdict), record: recordOf(decision), differences };
}

/** @throws every error that is neither of the service nor one that a user must act on, and that of an aborted call */
function failureOutcome(step: Step, error: unknown, decision: Decision | undefined): Outcome {
  if (error instanceof StalledError) {
    // No requeue: the reference poller reconciles the object when the reference changes.
    return emptyOutcome({ kind: "Stalled", reason: error.reason, message: error.message });
  }
  if (error instanceof UnprovenObjectError) {
    // The write that shows this proves that the object is current.
    const message = `Nothing is sent yet: ${error.message}`;
    return { ...waiting({ reason: "Retrying", message }, LOOK_AGAIN_MS), outdated: true };
  }
  if (!(error instanceof ServiceError) || isGivenUp(error)) throw error;
  const { shared, endpoint, account } = step;
  if (concernsKey(error)) shared.accounts.unauthorized(account.key, error.message);
  if (error.operation === "createEndpoint" && mayHaveTakenEffect(error)) {
    const appName = appNameOf(endpoint, shared.clusterUID);
    const what =
      error.delivery === "Accepted" ? "The service accepted the create" : "The outcome of the create is unknown";
    const message = `${what} (${error.message}); looking for app name ${appName}`;
    return waiting({ reason: "Creating", message }, LOOK_AGAIN_MS);
  }
  const verdict = serviceVerdict(error);
  if (verdict.kind !== "Stalled") return { ...emptyOutcome(verdict), outdated: true };
  const { reason, message, againMs = REFUSAL_RETRY_MS } = verdict;
  if (isUnpaid(error)) shared.admission.unpaid(account.key, message);
  const stalled = { ...verdict, againMs };
  if (decision === undefined || !(error.operation in WRITES)) return emptyOutcome(stalled);
  decision.attempts.refused = { refusal: { reason, message }, until: shared.clock.now() + againMs };
  return refusedOutcome(stalled, decision);
}
