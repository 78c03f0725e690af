import type { DriftField, GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { AccountRef } from "../../api/v1alpha1/meta.ts";
import { rfc3339 } from "../../clock.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import { ServiceError } from "../../provider/errors.ts";
import type { ReconcileContext } from "../../runtime/controller.ts";
import type { JournalEntry } from "../../submission/journal.ts";
import type { AccountHandle } from "../account/registry.ts";
import type { Kind, Shared } from "../shared.ts";
import type { Verdict } from "../verdict.ts";
import { createEndpoint, updateEndpoint } from "./apply.ts";
import type { Claimed, Claims } from "./claims.ts";
import { type DesiredEndpoint, referencesHash } from "./desired.ts";
import { type Difference, differences, ignoredFields } from "./drift.ts";
import { completed, isResuming, isSettled, isSettling } from "./observe.ts";
import { type Binding, notAppliedOf, type Plan } from "./plan.ts";
import type { Refusals } from "./refusals.ts";
import type { UpdateRounds } from "./rounds.ts";
import type { Outcome, Written } from "./status.ts";

export type ConvergeInput = {
  shared: Shared;
  kind: Kind<GpuEndpoint>;
  endpoint: GpuEndpoint;
  account: AccountHandle;
  ref: AccountRef;
  entry: JournalEntry | undefined;
  /** How long this process has known that the entry's outcome is unknown. */
  unknownForMs: number;
  rounds: UpdateRounds;
  refusals: Refusals;
  claims: Pick<Claims, "claimFound">;
  /** A person asks to look and to try again now. */
  requested: boolean;
  context: ReconcileContext;
};

/** How one step toward the spec ended. `written`: what the status keeps of it. */
export type Converged = { outcome: Outcome; written: Partial<Written> };

/** What was seen and what is to be done about it. `wish` tells one desired endpoint from another. */
export type Decision = { binding: Binding; plan: Plan; applied: boolean; wish: string };

export const LOOK_AGAIN_MS = 2_000;
/** A remote that does not show an update yet is looked at again this soon. */
const RECHECK_MS = 5_000;
const FAST_SETTLE_MS = 30_000;
const ABSENCE_MS = 15_000;
/** Where the service refuses, or only a person can help, it is looked at again this late. */
export const REMOTE_REFUSAL_MS = 10 * 60_000;

/** A denied object is told when the other one goes; what else lets it have the endpoint shows with this delay. */
const DENIED_MS = 60_000;

/** Carries a plan out: at most one write. Throws what the service answers. */
export async function act(
  input: ConvergeInput,
  desired: DesiredEndpoint,
  { binding, plan, applied, wish }: Decision,
  written: Partial<Written>,
): Promise<Converged> {
  const { shared, endpoint, account, entry, rounds, context } = input;
  const { metadata } = endpoint;
  const { uid = "" } = metadata;
  const now = shared.clock.now();
  const record = binding.kind === "Bound" ? binding.record : undefined;
  const referencesNow = referencesHash(endpoint, desired.env);
  /** Of a read: once it shows the spec, this generation is applied. The response to a write confirms nothing. */
  const confirm = (read: EndpointRecord | undefined): boolean => {
    if (read === undefined) return false;
    const differing = differingFields(endpoint, desired, read);
    rounds.observed(uid, wish, differing, shared.clock.now());
    if (differing.length > 0) return false;
    recordApplied();
    return true;
  };
  const recordApplied = () => {
    rounds.recordApplied(uid, wish);
    if (metadata.generation !== undefined) written.appliedGeneration = metadata.generation;
    if (referencesNow !== undefined) written.appliedReferencesHash = referencesNow;
  };
  switch (plan.action) {
    case "Create": {
      if (entry !== undefined) shared.journal.settle(entry.id); // looked for long enough: it never took effect
      const created = await createEndpoint(input, desired);
      Object.assign(written, created, { lastAppliedTime: rfc3339(now) });
      const note = `Created endpoint ${created.endpointID} as ${desired.appName}`;
      shared.recorder.event(endpoint, "Normal", "Created", "Create", note);
      const after = await readAfterWrite(input, created.endpointID);
      confirm(after);
      return seen(input, desired, after, written);
    }
    case "Bind": {
      Object.assign(written, { endpointID: plan.record.id });
      if (entry !== undefined) written.submission = acceptedBy(entry, now);
      // The next step compares and converges it.
      const { outcome } = seen(input, desired, plan.record, written);
      return { outcome: { ...outcome, verdict: { kind: "Done", againMs: 0 } }, written };
    }
    case "Update": {
      const endpointID = binding.kind === "Bound" ? binding.endpointID : "";
      const fields = plan.differences.flatMap(({ field, remediable }) => (remediable ? [field] : []));
      try {
        await updateEndpoint(shared, account, endpointID, plan.sent, context);
      } catch (error) {
        if (error instanceof ServiceError && error.delivery === "Unknown")
          rounds.sent(uid, wish, { fields, accepted: false }, now);
        throw error;
      }
      rounds.sent(uid, wish, { fields, accepted: true }, now);
      written.lastAppliedTime = rfc3339(now);
      const after = await readAfterWrite(input, endpointID);
      const confirmed = confirm(after);
      const names = plan.differences.map(({ field }) => field).join(", ");
      if (confirmed) {
        const reason = applied ? "DriftRemedied" : "Updated";
        shared.recorder.event(endpoint, "Normal", reason, "Update", `Updated endpoint ${endpointID}: ${names}`);
      } else {
        const note = `Sent an update of endpoint ${endpointID}: ${names}; no read shows it yet`;
        shared.recorder.event(endpoint, "Normal", "Updating", "Update", note);
      }
      const { outcome } = seen(input, desired, after, written);
      const { differences: left } = outcome;
      if (left.length === 0) return { outcome, written };
      const notApplied = notAppliedOf(left, { history: (field) => rounds.history(uid, wish, field, now) });
      return { outcome: { ...outcome, notApplied, verdict: { kind: "Done", againMs: RECHECK_MS } }, written };
    }
    case "LookAgain": {
      const message = `The outcome of the create is unknown; looking for app name ${desired.appName}`;
      const verdict = { kind: "Waiting", reason: "Creating", message, againMs: LOOK_AGAIN_MS } as const;
      return { outcome: blank(verdict), written };
    }
    case "AwaitProofOfAbsence": {
      const message = `The service does not show endpoint ${endpoint.status?.endpointID}; it counts as gone when two complete lists lack it`;
      const verdict = { kind: "Waiting", reason: "RemoteMissing", message, againMs: ABSENCE_MS } as const;
      return { outcome: { ...blank(verdict), outdated: true }, written };
    }
    case "Stall": {
      const { reason, message, differences } = plan;
      const verdict = { kind: "Stalled", reason, message, againMs: REMOTE_REFUSAL_MS } as const;
      return { outcome: { ...blank(verdict), record, differences }, written };
    }
    case "None": {
      // Under Observe nothing is ever given: what is there counts as applied.
      const unwritten = record !== undefined && (applied || endpoint.spec.managementPolicy === "Observe");
      if (unwritten) recordApplied();
      else confirm(record);
      const { differences, fighting, notApplied = [], lookAgainMs } = plan;
      const { outcome } = seen(input, desired, record, written);
      const verdict: Verdict = lookAgainMs === undefined ? outcome.verdict : { kind: "Done", againMs: lookAgainMs };
      return { outcome: { record, differences, fighting, notApplied, verdict }, written };
    }
  }
}

/** What the remote shows after a step, and when to look again. */
function seen(
  { shared, endpoint }: ConvergeInput,
  desired: DesiredEndpoint,
  record: EndpointRecord | undefined,
  written: Partial<Written>,
): Converged {
  const { spec, status } = endpoint;
  const now = shared.clock.now();
  const differing: Difference[] =
    record === undefined ? [] : differences(desired, record, ignoredFields(spec, isResuming(endpoint)));
  const lastApplied = written.lastAppliedTime ?? status?.lastAppliedTime;
  const base = { conditions: [], ...status, ...(lastApplied === undefined ? {} : { lastAppliedTime: lastApplied }) };
  const settling = isSettling({ ...endpoint, status: base }, now) && (record === undefined || !isSettled(record));
  const age = lastApplied === undefined ? 0 : now - Date.parse(lastApplied);
  const verdict: Verdict = settling
    ? { kind: "Done", againMs: age < FAST_SETTLE_MS ? LOOK_AGAIN_MS : 2.5 * LOOK_AGAIN_MS }
    : { kind: "Done" };
  return { outcome: { record, differences: differing, fighting: false, verdict }, written };
}

/** The write stands whether or not this read succeeds: the next reconcile reads again. */
async function readAfterWrite(
  { account, endpoint, context: { signal, log } }: ConvergeInput,
  endpointID: string,
): Promise<EndpointRecord | undefined> {
  try {
    const record = await account.endpoints.read(endpointID, signal);
    return record && (await completed(account, endpoint, record, "Now", signal));
  } catch (error) {
    log.info({ endpointID, reason: String(error) }, "not readable right after the write");
    return undefined;
  }
}

/** The fields that an update has to change. */
export function differingFields(endpoint: GpuEndpoint, desired: DesiredEndpoint, record: EndpointRecord): DriftField[] {
  const differing = differences(desired, record, ignoredFields(endpoint.spec, isResuming(endpoint)));
  return differing.flatMap(({ field, remediable }) => (remediable ? [field] : []));
}

/** The submission of an entry whose answer was found. */
export function acceptedBy(entry: JournalEntry, now: number): Written["submission"] {
  const { id, specHash, attempt } = entry;
  return { id, specHash, attempt, state: "Accepted", time: rfc3339(now) };
}

/** The outcome for an object whose endpoint or app name another object owns. */
export function unclaimed(claimed: Exclude<Claimed, { kind: "Granted" }>, written: Partial<Written>): Converged {
  if (claimed.kind === "Busy") {
    const message = "Another GpuEndpoint in this cluster is being bound";
    return { outcome: blank({ kind: "Waiting", reason: "Pending", message, againMs: LOOK_AGAIN_MS }), written };
  }
  const { message } = claimed;
  const verdict = { kind: "Stalled", reason: "AlreadyBound", message, againMs: DENIED_MS } as const;
  return { outcome: { ...blank(verdict), alreadyBound: true }, written };
}

/** The outcome of a reconcile that did not observe the remote. */
export function blank(verdict: Verdict): Outcome {
  return { record: undefined, differences: [], fighting: false, verdict };
}
