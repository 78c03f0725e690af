import type { DriftField, GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { AccountRef } from "../../api/v1alpha1/meta.ts";
import { rfc3339, rfc3339Milli } from "../../base/clock.ts";
import type { Sanitizer } from "../../base/sanitizer.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import { mayHaveTakenEffect, ServiceError } from "../../provider/errors.ts";
import type { ReconcileContext } from "../../runtime/controller.ts";
import { submissionOf } from "../../submission/record.ts";
import type { AccountHandle } from "../account/registry.ts";
import type { ControllerDeps, Kind } from "../controller-deps.ts";
import type { Verdict } from "../verdict.ts";
import type { Claims } from "./claims.ts";
import { createEndpoint } from "./create.ts";
import type { OpenCreate } from "./create-record.ts";
import { needsFinalizer } from "./deletion-policy.ts";
import { type DesiredEndpoint, differences, ignoredFields, referencesHash } from "./fields.ts";
import type { EndpointMemories, EndpointMemory } from "./memory.ts";
import { completed, isResuming, isSettled, isSettling } from "./observe.ts";
import { type Binding, notAppliedOf, type Plan } from "./plan.ts";
import { emptyOutcome, type Outcome, type Written } from "./status.ts";
import { type Attempts, historyOf, noteRead, noteUpdate, unconfirmedCreates, withCreate } from "./write-limits.ts";

/** A create may show, or a settling endpoint may serve, at any moment. */
export const LOOK_AGAIN_MS = 2_000;
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

/** What one step toward the spec works with. */
export type ConvergeInput = {
  shared: ControllerDeps;
  kind: Kind<GpuEndpoint>;
  endpoint: GpuEndpoint;
  account: AccountHandle;
  ref: AccountRef;
  entry: OpenCreate | undefined;
  /** How long its outcome has been unknown here. */
  unknownForMs: number;
  memory: EndpointMemory;
  memories: EndpointMemories;
  claims: Pick<Claims, "claimFound">;
  /** The object as this step last wrote it. */
  stored: { endpoint: GpuEndpoint };
  /** Throws unless the object is surely not older than this process's leadership (`CurrentState`). */
  assertCurrent: () => Promise<void>;
  /** Throws unless the object still wants the write (wanted.ts). */
  assertWanted: () => void;
  /** A user requests a reconcile: read the remote and try again now. */
  requested: boolean;
  context: ReconcileContext;
};

/** How one step toward the spec ended. `written`: what the status keeps of it. `sanitize`: for the service's texts. */
export type Converged = { outcome: Outcome; written: Partial<Written>; sanitize?: Sanitizer };

/** The remote as observed, and what to do. */
export type Decision = { binding: Binding; plan: Plan; applied: boolean; attempts: Attempts };

type ApplyInput = ConvergeInput & {
  desired: DesiredEndpoint;
  decision: Decision;
  /** Collects what the status keeps of this step. */
  written: Partial<Written>;
};

type PlanOf<Action extends Plan["action"]> = Extract<Plan, { action: Action }>;

/** Carries out a plan: at most one write. @throws ServiceError when the service does not take the write */
export async function apply(input: ApplyInput): Promise<Converged> {
  const outcome = await outcomeOf(input);
  return { outcome: { ...outcome, missing: missingOf(input.decision, outcome) }, written: input.written };
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
      return emptyOutcome({ kind: "Waiting", reason: "Creating", message, againMs: LOOK_AGAIN_MS });
    }
    case "AwaitProofOfAbsence": {
      const message = `The service does not show endpoint ${endpoint.status?.endpointID}; it counts as deleted when two complete lists do not show it`;
      const verdict = { kind: "Waiting", reason: "RemoteMissing", message, againMs: ABSENCE_MS } as const;
      return { ...emptyOutcome(verdict), outdated: true };
    }
    case "DelayCreate": {
      const { message, againMs } = plan;
      return { ...emptyOutcome({ kind: "Waiting", reason: "RemoteMissing", message, againMs }), outdated: true };
    }
    case "AwaitBudget": {
      const { refusal, differences } = plan;
      const verdict = { kind: "Waiting", ...refusal, againMs: BUDGET_MS } as const;
      return { ...emptyOutcome(verdict), record: recordOf(decision), differences, awaitsBudget: refusal };
    }
    case "Stall": {
      const { reason, message, differences } = plan;
      const verdict = { kind: "Stalled", reason, message, againMs: REFUSAL_RETRY_MS } as const;
      return { ...emptyOutcome(verdict), record: recordOf(decision), differences };
    }
  }
}

async function create(input: ApplyInput): Promise<Outcome> {
  const { shared, endpoint, desired, account, written } = input;
  const now = shared.clock.now();
  const before = unconfirmedCreates(input);
  written.unconfirmedCreates = before;
  const keyVersion = account.keyVersion();
  const raises = desired.workers.max > 0;
  const endpointID = await spending(input, raises && "createEndpoint", () => createEndpoint(input, desired));
  const time = rfc3339(now);
  const creates = withCreate(before, { endpointID, keyVersion, time });
  const request = { sentTime: rfc3339Milli(now), acceptedTime: rfc3339Milli(shared.clock.now()) };
  Object.assign(written, { endpointID, lastAppliedTime: time, unconfirmedCreates: creates, request });
  const note = `Created endpoint ${endpointID} as ${desired.appName}`;
  shared.recorder.normal(endpoint, "Created", "Create", note);

  const record = await readAfterWrite(input, endpointID);
  confirm(input, record);
  return observedOutcome(input, record);
}

/** Reserves budget for a request that gives the endpoint workers, unless it surely has no effect. `operation` false: it does not. */
async function spending<T>(
  { shared, account }: ApplyInput,
  operation: "createEndpoint" | "updateEndpoint" | false,
  send: () => Promise<T>,
): Promise<T> {
  const cancel = operation ? shared.admission.spend(account.key, operation) : undefined;
  try {
    const sent = await send();
    if (operation) shared.admission.paid(account.key);
    return sent;
  } catch (error) {
    if (!(error instanceof ServiceError && error.delivery === "Unknown")) cancel?.();
    throw error;
  }
}

/** The next reconcile compares the endpoint with the spec. From now on, no deletion leaves the endpoint behind unseen. */
async function bind(input: ApplyInput, { record }: PlanOf<"Bind">): Promise<Outcome> {
  const { shared, kind, endpoint, entry, written, stored, context } = input;
  stored.endpoint = await kind.setFinalizer(endpoint, needsFinalizer(endpoint), context.signal);
  written.endpointID = record.id;
  if (entry !== undefined) Object.assign(written, acceptedBy(entry, shared.clock.now()));
  return { ...observedOutcome(input, record), verdict: { kind: "Done", againMs: 0 } };
}

async function update(input: ApplyInput, plan: PlanOf<"Update">): Promise<Outcome> {
  const { shared, written, decision } = input;
  const { attempts, binding } = decision;
  if (binding.kind !== "Bound") throw new Error("an update needs a bound endpoint");
  const { endpointID } = binding;
  const now = shared.clock.now();
  const fields = plan.differences.flatMap(({ field, remediable }) => (remediable ? [field] : []));
  try {
    const operation = plan.raises && "updateEndpoint";
    await spending(input, operation, () => updateEndpoint(input, endpointID, plan.sent));
  } catch (error) {
    if (error instanceof ServiceError && mayHaveTakenEffect(error)) noteUpdate(attempts, fields, false, now);
    throw error;
  }
  noteUpdate(attempts, fields, true, now);
  written.lastAppliedTime = rfc3339(now);
  written.request = { sentTime: rfc3339Milli(now), acceptedTime: rfc3339Milli(shared.clock.now()) };

  const record = await readAfterWrite(input, endpointID);
  announceUpdate(input, plan, endpointID, confirm(input, record));
  const outcome = observedOutcome(input, record);
  if (outcome.differences.length === 0) return outcome;
  const history = (field: DriftField) => historyOf(attempts, field, now);
  const notApplied = notAppliedOf(outcome.differences, { history });
  return { ...outcome, notApplied, verdict: { kind: "Done", againMs: RECHECK_MS } };
}

function announceUpdate(
  { shared, endpoint, decision }: ApplyInput,
  plan: PlanOf<"Update">,
  endpointID: string,
  confirmed: boolean,
): void {
  const fields = plan.differences.map(({ field }) => field).join(", ");
  if (confirmed) {
    const reason = decision.applied ? "DriftRemedied" : "Updated";
    shared.recorder.normal(endpoint, reason, "Update", `Updated endpoint ${endpointID}: ${fields}`);
  } else {
    const note = `Sent an update of endpoint ${endpointID}: ${fields}; no read shows it yet`;
    shared.recorder.normal(endpoint, "Updating", "Update", note);
  }
}

function leaveUnchanged(input: ApplyInput, plan: PlanOf<"None">): Outcome {
  const { endpoint, decision } = input;
  const { differences, fighting, notApplied = [], lookAgainMs } = plan;
  const record = recordOf(decision);
  // Under Observe nothing is written, so every observed endpoint counts as applied.
  const appliedBefore = decision.applied || endpoint.spec.managementPolicy === "Observe";
  if (record !== undefined && appliedBefore) recordApplied(input);
  else confirm(input, record);
  const due: Verdict = lookAgainMs === undefined ? settling(input, record) : { kind: "Done", againMs: lookAgainMs };
  return { record, differences, fighting, notApplied, verdict: due };
}

export function recordOf({ binding }: Decision): EndpointRecord | undefined {
  return binding.kind === "Bound" ? binding.record : undefined;
}

/** Once a read shows the spec, this generation is applied. The response to a write confirms nothing. */
function confirm(input: ApplyInput, record: EndpointRecord | undefined): boolean {
  if (record === undefined) return false;
  const { shared, endpoint, desired, decision } = input;
  const differing = updatableDifferences(endpoint, desired, record);
  noteRead(decision.attempts, differing, shared.clock.now());
  if (differing.length > 0) return false;
  recordApplied(input);
  return true;
}

function recordApplied({ endpoint, account, desired, decision, written }: ApplyInput): void {
  decision.attempts.applied = true;
  written.appliedGeneration = endpoint.metadata.generation;
  const references = referencesHash(endpoint, desired.env, account);
  if (references !== undefined) written.appliedReferencesHash = references;
}

/** What a read after a write shows, and when to read a settling endpoint again. */
function observedOutcome(input: ApplyInput, record: EndpointRecord | undefined): Outcome {
  const { endpoint, desired } = input;
  const ignored = ignoredFields(endpoint.spec, isResuming(endpoint));
  const differing = record === undefined ? [] : differences(desired, record, ignored);
  return { record, differences: differing, fighting: false, verdict: settling(input, record) };
}

/** When to read a settling endpoint again. */
function settling({ shared, endpoint, written }: ApplyInput, record: EndpointRecord | undefined): Verdict {
  const now = shared.clock.now();
  const lastAppliedTime = written.lastAppliedTime ?? endpoint.status?.lastAppliedTime;
  const settled = record !== undefined && isSettled(record);
  if (settled || !isSettling(lastAppliedTime, now)) return { kind: "Done" };
  const ageMs = lastAppliedTime === undefined ? 0 : now - Date.parse(lastAppliedTime);
  return { kind: "Done", againMs: ageMs < FAST_SETTLE_MS ? LOOK_AGAIN_MS : SLOW_SETTLE_MS };
}

/** The write stands whether or not this read succeeds: the next reconcile reads again. */
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

/** The fields that an update has to change. */
export function updatableDifferences(
  endpoint: GpuEndpoint,
  desired: DesiredEndpoint,
  record: EndpointRecord,
): DriftField[] {
  const differing = differences(desired, record, ignoredFields(endpoint.spec, isResuming(endpoint)));
  return differing.flatMap(({ field, remediable }) => (remediable ? [field] : []));
}

/** What the status shows of a create that is found to be accepted. From now on, the endpoint settles. */
export function acceptedBy(create: OpenCreate, now: number): Partial<Written> {
  const request = { sentTime: create.time, acceptedTime: rfc3339Milli(now) };
  return { submission: submissionOf(create, "Accepted", now), lastAppliedTime: rfc3339(now), request };
}

/** Idempotent. Sent only for an object that is surely current. */
export async function updateEndpoint(
  input: Pick<ConvergeInput, "account" | "assertCurrent" | "context"> & LastChecks,
  endpointID: string,
  desired: DesiredEndpoint,
): Promise<void> {
  await input.assertCurrent();
  const { account, context } = input;
  await account.endpoints.update(endpointID, desired, { signal: context.signal, beforeSend: lastChecks(input) });
}

type LastChecks = Pick<ConvergeInput, "shared" | "assertWanted">;

/** Before the first byte of a write: this process surely leads, and the object still wants the write. */
export function lastChecks({ shared, assertWanted }: LastChecks): () => void {
  return () => {
    shared.assertLeading();
    assertWanted();
  };
}
