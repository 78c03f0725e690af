import type { DriftField } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import { type Forbidden, forbiddenCause } from "../account/share-rules.ts";
import type { FieldHistory } from "./attempts.ts";
import { outOfRange } from "./desired.ts";
import type { Binding, Facts, Plan } from "./facts.ts";
import {
  ADOPTED_KEEP,
  type DesiredEndpoint,
  type Difference,
  differences,
  ignoredFields,
  raisedFields,
  withIgnored,
} from "./fields.ts";
import { acceptedWithoutID, madeWithOtherKey, noneShown, notShownToKey, recreationOf } from "./recreation.ts";

/** A create shows in the list within this time after the request surely ended, or never happened. */
export const LOOKUP_MS = 60_000;
/** Most updates of a field that a read confirmed and another client reverted: then Mooring stops. */
export const MAX_ROUNDS = 3;
/** Pause after an update of a field: grows by this with each reverted update and doubles with each update without effect. */
const ROUND_MS = 10_000;
const LONGEST_PAUSE_MS = 10 * 60_000;
/** A service may show the first update late. */
const IGNORED_UPDATES = 2;
/** The remote's clock may be behind ours by this much when an endpoint's age is judged. */
const CLOCK_SKEW_MS = 5_000;

/** Decides the next step. Pure. */
export function planEndpoint(facts: Facts): Plan {
  const { binding } = facts;
  if (binding.kind === "CreateUnknown") return planUnknown(facts, binding);
  if (binding.kind === "Unbound") return planUnbound(facts, binding);
  return planBound(facts, binding);
}

function planUnknown(facts: Facts, binding: Extract<Binding, { kind: "CreateUnknown" }>): Plan {
  const { candidate, sentAt, key } = binding;
  if (candidate !== undefined) {
    if (facts.spec.appName === undefined || isOurCreate(facts, candidate, sentAt)) {
      return { action: "Bind", record: candidate };
    }
    return appNameTaken(facts, candidate);
  }
  if (key === "Changed") return { action: "LookAgain" };
  if (binding.unknownForMs < LOOKUP_MS) return { action: "LookAgain" };
  if (key === "Other" && !facts.requested) {
    const message = `${notShownToKey(sentAt)}: put the former key into the Secret of the account. If the create had no effect, create the endpoint: ${facts.requestCommand}`;
    return stall("RemoteMissing", message);
  }
  // What the service accepted exists: that it does not show it proves nothing.
  if (binding.accepted && !facts.requested) {
    const message = `${acceptedWithoutID(sentAt, facts.desired.appName)}: look for it in the service's records. If it does not exist there either, create the endpoint again: ${facts.requestCommand}`;
    return stall("RemoteMissing", message);
  }
  return planRecreation(facts);
}

/** An app name from the spec proves nothing: name and fields must match too, and it must be younger than our request. */
export function isOurCreate(
  facts: Pick<Facts, "desired">,
  candidate: EndpointRecord,
  sentAt: number,
  ignored: readonly DriftField[] = [],
): boolean {
  if (candidate.name !== facts.desired.name) return false;
  if (differences(facts.desired, candidate, ignored).length > 0) return false;
  return candidate.createdAt === undefined || candidate.createdAt * 1000 >= sentAt - CLOCK_SKEW_MS;
}

function planUnbound(facts: Facts, binding: Extract<Binding, { kind: "Unbound" }>): Plan {
  const { spec } = facts;
  if (spec.adoption !== undefined) return planAdoption(facts, binding.adopt);
  const { candidate, others = [] } = binding;
  if (candidate !== undefined) {
    if (spec.appName !== undefined && others.length > 0) return appNameTaken(facts, candidate, others);
    if (spec.appName !== undefined) {
      const forbidden = regionStall(facts, candidate);
      if (forbidden !== undefined) return forbidden;
    }
    // A generated app name holds a hash of our UID; under Observe nothing is written, so binding is harmless.
    if (spec.appName === undefined || spec.managementPolicy === "Observe") return { action: "Bind", record: candidate };
    return appNameTaken(facts, candidate);
  }
  if (spec.managementPolicy === "Observe") {
    return stall(
      "AdoptionNotFound",
      "managementPolicy is Observe and no endpoint has this appName: set adoption.endpointID or appName to an existing one, or managementPolicy to Full",
    );
  }
  return planCreate(facts);
}

function planAdoption(facts: Facts, adopt: EndpointRecord | "NotFound" | undefined): Plan {
  const { adoption, managementPolicy } = facts.spec;
  if (adopt === undefined || adopt === "NotFound") {
    return stall(
      "AdoptionNotFound",
      `adoption.endpointID ${adoption?.endpointID} does not exist in this account: adoption is immutable, so delete this object and create it with the right id`,
    );
  }
  // ignoreDrift does not apply. The message shows no values, because the endpoint is not ours.
  const differing = differences(facts.desired, adopt, ADOPTED_KEEP);
  if (adoption?.mode === "Match" && managementPolicy === "Full" && differing.length > 0) {
    const fields = differing.map(({ field }) => field).join(", ");
    return stall(
      "AdoptionMismatch",
      `adoption.mode is Match and endpoint ${adopt.id} differs in ${fields}: change the spec to match, or recreate this object with mode Override`,
    );
  }
  return regionStall(facts, adopt) ?? { action: "Bind", record: adopt };
}

function regionStall({ share }: Facts, { regionID }: EndpointRecord): Plan | undefined {
  return shareStall(share?.forbiddenRegion(regionID) ?? []);
}

/** The share of the namespace does not allow what the spec asks for. */
function shareStall(forbidden: readonly Forbidden[], differing: Difference[] = []): Plan | undefined {
  const cause = forbiddenCause(forbidden);
  return cause && stall(cause.reason, cause.message, differing);
}

function planCreate(facts: Facts): Plan {
  const { heldByRestore } = facts;
  if (heldByRestore !== undefined) return stall("EtcdRestored", heldByRestore);
  const stalled = shareStall(facts.share?.forbidden ?? []) ?? rangeStall(facts, facts.desired, "create");
  if (stalled !== undefined) return stalled;
  const refusal = facts.desired.workers.max === 0 ? undefined : facts.budget?.();
  return refusal === undefined ? { action: "Create" } : { action: "AwaitBudget", refusal, differences: [] };
}

function planBound(facts: Facts, binding: Extract<Binding, { kind: "Bound" }>): Plan {
  const { spec, desired } = facts;
  if (binding.record === undefined) {
    if (!binding.provenGone) return { action: "AwaitProofOfAbsence" };
    const { candidate } = binding;
    // Created for this object too, before a user requested another one while the key was that of another member.
    if (candidate !== undefined && spec.appName === undefined) return { action: "Bind", record: candidate };
    if (facts.seenByNoKey) {
      const message = `${madeWithOtherKey(binding.endpointID)}: correct the key in the Secret of the account. If it is really deleted, create this one again: ${facts.requestCommand}`;
      return stall("RemoteMissing", message);
    }
    if (spec.managementPolicy === "Full" && spec.driftPolicy === "Remediate" && spec.adoption === undefined) {
      return planRecreation(facts);
    }
    return (
      vanishedStall(facts) ??
      stall(
        "RemoteMissing",
        `endpoint ${binding.endpointID} does not exist at the service any more: delete this object, or set driftPolicy Remediate and managementPolicy Full to have it created again`,
      )
    );
  }
  const differing = differences(desired, binding.record, ignoredFields(spec, facts.resuming));
  const remediable = differing.filter((difference) => difference.remediable);
  // A change of the spec is always applied. The policy decides only about drift.
  const isReported = facts.applied && spec.driftPolicy === "Report";
  if (remediable.length === 0 || spec.managementPolicy === "Observe" || isReported) {
    return { action: "None", differences: differing, fighting: false };
  }
  const histories = remediable.map(({ field }) => facts.history(field));
  if (histories.some(({ confirmed }) => confirmed >= MAX_ROUNDS)) {
    return { action: "None", differences: differing, fighting: true };
  }
  const lookAgainMs = Math.min(...histories.map(pauseLeftMs));
  if (lookAgainMs > 0) {
    const notApplied = notAppliedOf(remediable, facts);
    return { action: "None", differences: differing, fighting: false, notApplied, lookAgainMs };
  }
  const raised = raisedFields(desired, binding.record).filter((path) => remediable.some(({ field }) => field === path));
  const refusal = raised.length === 0 ? undefined : facts.budget?.();
  const held = refusal === undefined ? [] : raised;
  const changed = remediable.filter(({ field }) => !held.includes(field));
  if (refusal !== undefined && changed.length === 0) {
    return { action: "AwaitBudget", refusal, differences: differing };
  }
  const sent = withIgnored(desired, binding.record, [...ignoredFields(spec, facts.resuming), ...held]);
  // What the endpoint has already is paid for: only a change is refused.
  const asked = changed.filter(({ field }) => field !== "workers.max" || raised.includes(field));
  const forbidden = facts.share?.forbidden.filter((one) => asked.some(({ field }) => field === one.field)) ?? [];
  return (
    shareStall(forbidden, differing) ??
    rangeStall(facts, sent, "update", differing) ?? {
      action: "Update",
      sent,
      differences: differing.filter(({ field }) => !held.includes(field)),
      raises: held.length < raised.length,
    }
  );
}

/** Creates again what is proven gone, within the limits of absence proofs and of unconfirmed creates. */
function planRecreation(facts: Facts): Plan {
  const vanished = vanishedStall(facts);
  if (vanished !== undefined) return vanished;
  const recreation = recreationOf(facts.creates, facts.requestCommand, facts.now);
  if (recreation.kind === "Stop") return stall("RemoteMissing", recreation.message);
  if (recreation.kind === "Wait") return { action: "DelayCreate", ...recreation };
  return planCreate(facts);
}

/** The fields whose update the service accepts and reads never show. */
export function notAppliedOf(differing: readonly Difference[], { history }: Pick<Facts, "history">): DriftField[] {
  return differing.flatMap(({ field, remediable }) =>
    remediable && history(field).unconfirmed >= IGNORED_UPDATES ? [field] : [],
  );
}

function pauseLeftMs({ confirmed, unconfirmed, sinceMs }: FieldHistory): number {
  const pauseMs = unconfirmed > 0 ? ROUND_MS * 2 ** (unconfirmed - 1) : confirmed * ROUND_MS;
  return Math.min(pauseMs, LONGEST_PAUSE_MS) - sinceMs;
}

/** The key of another member shows that member's endpoints: what is created again with it is paid twice. */
function vanishedStall({ requested, vanished, requestCommand }: Facts): Plan | undefined {
  const count = requested ? 0 : vanished();
  if (count === 0) return undefined;
  return stall(
    "RemoteMissing",
    `${noneShown(count)}, as with the key of another member: correct the key in the Secret of the account. If they are really deleted, create this one again: ${requestCommand}`,
  );
}

function rangeStall(
  facts: Facts,
  sent: DesiredEndpoint,
  operation: "create" | "update",
  differing: Difference[] = [],
): Plan | undefined {
  if (facts.limits === undefined) return undefined;
  const problems = outOfRange(sent, facts.limits, facts.spec.suspend, operation);
  if (problems.length === 0) return undefined;
  return stall(
    "OutOfRange",
    `outside the limits of the account: ${problems.map(({ problem }) => problem).join("; ")}: change the spec`,
    differing,
  );
}

function appNameTaken(facts: Facts, candidate: EndpointRecord, others: readonly string[] = []): Plan {
  const more = others.length === 0 ? "" : ` and ${others.length} more (${others.slice(0, 3).join(", ")})`;
  return stall(
    "AppNameTaken",
    `appName ${facts.desired.appName} belongs to endpoint ${candidate.id}${more}, which this object did not create: delete this object and create it with another appName, or with adoption.endpointID ${candidate.id} to take that one over`,
  );
}

function stall(reason: Reason, message: string, differing: Difference[] = []): Plan {
  return { action: "Stall", reason, message, differences: differing };
}
