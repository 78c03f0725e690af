import type { DriftField } from "../../api/v1alpha1/gpu-endpoint.ts";
import { rfc3339, rfc3339Milli } from "../../base/clock.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import { mayHaveTakenEffect, ServiceError } from "../../provider/errors.ts";
import { submissionOf } from "../../submission/record.ts";
import type { Verdict } from "../verdict.ts";
import { historyOf, noteRead, noteUpdate } from "./attempts.ts";
import { emptyOutcome, type Outcome, waiting } from "./conditions.ts";
import { createEndpoint } from "./create.ts";
import { needsFinalizer, referencesHash } from "./desired.ts";
import type { Plan } from "./facts.ts";
import { type DesiredEndpoint, differences, ignoredFields, remediableFields } from "./fields.ts";
import type { OpenCreate } from "./memory.ts";
import { completed, isResuming, isSettled, isSettling } from "./observe.ts";
import { notAppliedOf } from "./plan.ts";
import { unconfirmedCreates, withCreate } from "./recreation.ts";
import { capacityOf } from "./share-gate.ts";
import { type Decision, LOOK_AGAIN_MS, recordOf, type Step, type Written } from "./step.ts";

/** After a refusal that only you can end. */
export const REFUSAL_RETRY_MS = 10 * 60_000;
/** After an update that no read shows yet. */
const RECHECK_MS = 5_000;
/** The list wakes the object when it proves the absence. */
const ABSENCE_MS = 60_000;
/** The budget may allow more workers. */
const BUDGET_MS = 60_000;
const FAST_SETTLE_MS = 30_000;
const SLOW_SETTLE_MS = 5_000;

type ApplyInput = Step & { desired: DesiredEndpoint; decision: Decision };

type PlanOf<Action extends Plan["action"]> = Extract<Plan, { action: Action }>;

/** Carries out a plan: at most one write. @throws ServiceError when the service does not take the write */
export async function apply(input: ApplyInput): Promise<Outcome> {
  const outcome = await outcomeOf(input);
  return { ...outcome, missing: missingOf(input.decision, outcome) };
}

/** Whether the service lacks the endpoint that the object is bound to, unless the plan created another one. */
function missingOf({ binding, plan }: Decision, { record }: Outcome): Outcome["missing"] {
  if (binding.kind !== "Bound" || binding.record !== undefined) return undefined;
  if (record !== undefined || plan.action === "Create") return undefined;
  return binding.provenGone ? "Proven" : "Unproven";
}

async function outcomeOf(input: ApplyInput): Promise<Outcome> {
  const { decision, desired, endpoint } = input;
  const { plan } = decision;
  const record = recordOf(decision);
  switch (plan.action) {
    case "Create":
      return create(input);
    case "Bind":
      return bind(input, plan);
    case "Update":
      return update(input, plan);
    case "None":
      return leaveUnchanged(input, plan);
    case "LookAgain": {
      const message = `No response shows the endpoint of the create; looking for app name ${desired.appName}`;
      return waiting({ reason: "Creating", message }, LOOK_AGAIN_MS);
    }
    case "AwaitProofOfAbsence": {
      const message = `The service does not show endpoint ${endpoint.status?.endpointID}; it counts as deleted when two complete lists do not show it`;
      return { ...waiting({ reason: "RemoteMissing", message }, ABSENCE_MS), outdated: true };
    }
    case "DelayCreate": {
      const { message, againMs } = plan;
      return { ...waiting({ reason: "RemoteMissing", message }, againMs), outdated: true };
    }
    case "AwaitBudget": {
      const { refusal, differences } = plan;
      return { ...waiting(refusal, BUDGET_MS), record, differences, awaitsBudget: refusal };
    }
    case "Stall": {
      const { reason, message, differences } = plan;
      const verdict = { kind: "Stalled", reason, message, againMs: REFUSAL_RETRY_MS } as const;
      return { ...emptyOutcome(verdict), record, differences };
    }
  }
}

async function create(input: ApplyInput): Promise<Outcome> {
  const { shared, endpoint, desired, account, left } = input;
  const now = shared.clock.now();
  const before = unconfirmedCreates(input);
  left.written.unconfirmedCreates = before;
  const keyVersion = account.keyVersion();
  const raises = desired.workers.max > 0;
  const request = { operation: raises && ("createEndpoint" as const), sent: desired };
  const endpointID = await spending(input, request, () => createEndpoint(input, desired));
  const unconfirmed = withCreate(before, { endpointID, keyVersion, time: rfc3339(now) });
  Object.assign(left.written, { endpointID, unconfirmedCreates: unconfirmed });
  shared.recorder.normal(endpoint, "Created", "Create", `Created endpoint ${endpointID} as ${desired.appName}`);
  return (await afterWrite(input, endpointID, now)).outcome;
}

/** `operation` false: the request gives the endpoint no workers. */
type PaidChange = { operation: "createEndpoint" | "updateEndpoint" | false; sent: DesiredEndpoint };

/** Reserves budget, and workers of the share, for a request that gives the endpoint workers, unless it surely has no effect. */
async function spending<T>(
  { shared, account, memories, endpoint }: ApplyInput,
  { operation, sent: { workers } }: PaidChange,
  send: () => Promise<T>,
): Promise<T> {
  const cancel = operation ? shared.admission.spend(account.key, operation) : undefined;
  const memory = memories.of(endpoint);
  const before = memory.granted;
  if (operation) memory.granted = capacityOf(workers.max, workers.gpus);
  try {
    const sent = await send();
    if (operation) shared.admission.paid(account.key);
    return sent;
  } catch (error) {
    if (!(error instanceof ServiceError && error.delivery === "Unknown")) {
      cancel?.();
      memory.granted = before;
    }
    throw error;
  }
}

/** Binds the endpoint, with the finalizer, so that no deletion leaves it behind unseen. The next reconcile compares it with the spec. */
async function bind(input: ApplyInput, { record }: PlanOf<"Bind">): Promise<Outcome> {
  const { shared, kind, endpoint, entry, left, context } = input;
  left.endpoint = await kind.setFinalizer(endpoint, needsFinalizer(endpoint), context.signal);
  left.written.endpointID = record.id;
  if (entry !== undefined) Object.assign(left.written, acceptedBy(entry, shared.clock.now()));
  return { ...observedOutcome(input, record), verdict: { kind: "Done", againMs: 0 } };
}

async function update(input: ApplyInput, plan: PlanOf<"Update">): Promise<Outcome> {
  const { attempts, binding } = input.decision;
  if (binding.kind !== "Bound") throw new Error("an update needs a bound endpoint");
  const { endpointID } = binding;
  const now = input.shared.clock.now();
  const fields = remediableFields(plan.differences);
  try {
    const request = { operation: plan.raises && ("updateEndpoint" as const), sent: plan.sent };
    await spending(input, request, () => updateEndpoint(input, endpointID, plan.sent));
  } catch (error) {
    if (error instanceof ServiceError && mayHaveTakenEffect(error)) noteUpdate(attempts, fields, false, now);
    throw error;
  }
  noteUpdate(attempts, fields, true, now);
  const { outcome, confirmed } = await afterWrite(input, endpointID, now);
  announceUpdate(input, plan, endpointID, confirmed);
  if (outcome.differences.length === 0) return outcome;
  const history = (field: DriftField) => historyOf(attempts, field, now);
  const notApplied = notAppliedOf(outcome.differences, { history });
  return { ...outcome, notApplied, verdict: { kind: "Done", againMs: RECHECK_MS } };
}

/** The result of a read after a write at `sentAt`, ms since the epoch. */
async function afterWrite(input: ApplyInput, endpointID: string, sentAt: number) {
  const { shared, left } = input;
  left.written.lastAppliedTime = rfc3339(sentAt);
  left.written.request = { sentTime: rfc3339Milli(sentAt), acceptedTime: rfc3339Milli(shared.clock.now()) };
  const record = await readAfterWrite(input, endpointID);
  const outcome = observedOutcome(input, record);
  return { outcome, confirmed: confirm(input, outcome) };
}

function announceUpdate(
  { shared, endpoint, decision }: ApplyInput,
  plan: PlanOf<"Update">,
  endpointID: string,
  confirmed: boolean,
): void {
  const reason = decision.applied ? "DriftRemedied" : "Updated";
  const what = `${endpointID}: ${plan.differences.map(({ field }) => field).join(", ")}`;
  const { recorder } = shared;
  if (confirmed) recorder.normal(endpoint, reason, "Update", `Updated endpoint ${what}`);
  else recorder.normal(endpoint, "Updating", "Update", `Sent an update of endpoint ${what}; no read shows it yet`);
}

function leaveUnchanged(input: ApplyInput, plan: PlanOf<"None">): Outcome {
  const { endpoint, decision } = input;
  const { differences, fighting, notApplied = [], lookAgainMs } = plan;
  const record = recordOf(decision);
  // Under Observe nothing is written, so every observed endpoint counts as applied.
  const appliedBefore = decision.applied || endpoint.spec.managementPolicy === "Observe";
  if (record !== undefined && appliedBefore) recordApplied(input);
  else confirm(input, { record, differences });
  const due: Verdict = lookAgainMs === undefined ? settling(input, record) : { kind: "Done", againMs: lookAgainMs };
  return { record, differences, fighting, notApplied, verdict: due };
}

/** Once a read shows the spec, this generation is applied. The response to a write confirms nothing. */
function confirm(input: ApplyInput, { record, differences }: Pick<Outcome, "record" | "differences">): boolean {
  if (record === undefined) return false;
  const differing = remediableFields(differences);
  noteRead(input.decision.attempts, differing, input.shared.clock.now());
  if (differing.length > 0) return false;
  recordApplied(input);
  return true;
}

function recordApplied({ endpoint, account, desired, decision, left, memories }: ApplyInput): void {
  memories.of(endpoint).granted = undefined;
  decision.attempts.applied = true;
  left.written.appliedGeneration = endpoint.metadata.generation;
  const references = referencesHash(endpoint, desired.env, account);
  if (references !== undefined) left.written.appliedReferencesHash = references;
}

/** What a read after a write shows, and when to read a settling endpoint again. */
function observedOutcome(input: ApplyInput, record: EndpointRecord | undefined): Outcome {
  const { endpoint, desired } = input;
  const ignored = ignoredFields(endpoint.spec, isResuming(endpoint));
  const differing = record === undefined ? [] : differences(desired, record, ignored);
  return { record, differences: differing, fighting: false, verdict: settling(input, record) };
}

/** When to read a settling endpoint again. */
function settling({ shared, endpoint, left }: ApplyInput, record: EndpointRecord | undefined): Verdict {
  const now = shared.clock.now();
  const lastAppliedTime = left.written.lastAppliedTime ?? endpoint.status?.lastAppliedTime;
  const settled = record !== undefined && isSettled(record);
  if (settled || !isSettling(lastAppliedTime, now)) return { kind: "Done" };
  const ageMs = lastAppliedTime === undefined ? 0 : now - Date.parse(lastAppliedTime);
  return { kind: "Done", againMs: ageMs < FAST_SETTLE_MS ? LOOK_AGAIN_MS : SLOW_SETTLE_MS };
}

/** A failed read does not undo the write: the next reconcile reads again. */
async function readAfterWrite(input: ApplyInput, endpointID: string): Promise<EndpointRecord | undefined> {
  const { account, endpoint, context } = input;
  const { signal } = context;
  try {
    const record = await account.endpoints.read(endpointID, signal);
    return record && (await completed({ account, endpoint, signal }, record, "Now"));
  } catch (error) {
    context.log.info({ endpointID, reason: String(error) }, "cannot read the endpoint directly after the write");
    return undefined;
  }
}

/** The status of a create that is found to be accepted. The endpoint begins to settle. */
export function acceptedBy(create: OpenCreate, now: number): Partial<Written> {
  const request = { sentTime: create.time, acceptedTime: rfc3339Milli(now) };
  return { submission: submissionOf(create, "Accepted", now), lastAppliedTime: rfc3339(now), request };
}

/** Idempotent. Sent only for an object that is surely current. */
export async function updateEndpoint(
  { account, checks, context }: Pick<Step, "account" | "checks" | "context">,
  endpointID: string,
  desired: DesiredEndpoint,
): Promise<void> {
  await checks.assertCurrent();
  await account.endpoints.update(endpointID, desired, { signal: context.signal, beforeSend: checks.beforeSend });
}
