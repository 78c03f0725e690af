import { getCondition } from "../../api/conditions.ts";
import { type DriftField, driftFields, type GpuEndpoint } from "../../api/gpu-endpoint.ts";
import type { AccountRef } from "../../api/meta.ts";
import { rfc3339 } from "../../clock.ts";
import type { ReconcileContext } from "../../runtime/controller.ts";
import type { JournalEntry } from "../../runtime/journal.ts";
import type { EndpointRecord } from "../../service/endpoint-record.ts";
import { ServiceError } from "../../service/errors.ts";
import type { AccountHandle } from "../account/registry.ts";
import { hashOf } from "../hash.ts";
import { createValueReader, MissingReferenceError, resolveEnv } from "../references.ts";
import { failureOf, isUnknownDelivery } from "../service-failure.ts";
import type { Kind, Shared } from "../shared.ts";
import { createEndpoint, updateEndpoint } from "./apply.ts";
import { appNameOf, type DesiredEndpoint, desiredEndpoint, referencesHash, updateBody } from "./desired.ts";
import { type Difference, differences, ignoredFields } from "./drift.ts";
import {
  completed,
  isApplied,
  isResuming,
  isSettled,
  isSettling,
  observeBinding,
  read,
  reconcileRequest,
} from "./observe.ts";
import { type Binding, MAX_ROUNDS, type Plan, planEndpoint } from "./plan.ts";
import type { Refusals } from "./refusals.ts";
import type { UpdateRounds } from "./rounds.ts";
import { boundAccount, type Outcome, type Written } from "./status.ts";

export type Converged = {
  outcome: Outcome;
  written: Partial<Written>;
  requeueAfterMs?: number;
  /** To be thrown once the status is written, for the backoff. */
  error?: unknown;
};

const LOOK_AGAIN_MS = 2_000;
/** A remote that does not show an update yet is looked at again this soon. */
const RECHECK_MS = 5_000;
const FAST_SETTLE_MS = 30_000;
const ABSENCE_MS = 15_000;
const WRITES = { createEndpoint: true, updateEndpoint: true };
const REMOTE_REFUSAL_MS = 10 * 60_000;

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
  /** A person asks to look and to try again now. */
  requested: boolean;
  context: ReconcileContext;
};

/** Observe, plan, apply: one step closer to the spec. Failures of the service come back as outcomes, not as throws. */
export async function converge(input: ConvergeInput): Promise<Converged> {
  const { shared, endpoint, account, ref, context } = input;
  const appName = appNameOf(endpoint, shared.clusterUID);
  const written: Partial<Written> = { appName, account: boundAccount(ref, account.baseURL) };
  const accepted = input.entry?.outcome?.endpointID;
  if (input.entry !== undefined && accepted !== undefined) {
    Object.assign(written, { endpointID: accepted, submission: acceptedBy(input.entry, shared.clock.now()) });
  }
  let decision: Decision | undefined;
  try {
    const reader = createValueReader(shared.kube, context.signal);
    const env = await resolveEnv(reader, endpoint.metadata.namespace ?? "", endpoint.spec.env ?? []);
    const desired = desiredEndpoint(endpoint, shared.clusterUID, env);
    const observe = (fresh: boolean) =>
      observeBinding({
        endpoint,
        account,
        entry: input.entry,
        unknownForMs: input.unknownForMs,
        appName,
        now: shared.clock.now(),
        fresh,
        signal: context.signal,
      });
    decision = decide(input, desired, await observe(false));
    // An update names every parameter, so it is made from a fresh read: the sweep's may be a minute old.
    const stale = decision.plan.action === "Update" && decision.binding.kind === "Bound" && !decision.binding.fresh;
    if (stale) decision = decide(input, desired, await observe(true));
    return refused(input, decision, written) ?? (await act(input, desired, decision, written));
  } catch (error) {
    if (error instanceof MissingReferenceError) {
      return {
        outcome: blank({ stalled: { reason: error.reason, message: error.message } }),
        written,
      };
    }
    if (error instanceof ServiceError) return failed(input, error, decision, written);
    throw error;
  }
}

type Decision = { binding: Binding; plan: Plan; applied: boolean; wish: string };

function decide(input: ConvergeInput, desired: DesiredEndpoint, binding: Binding): Decision {
  const { shared, endpoint, account, rounds } = input;
  const { uid = "" } = endpoint.metadata;
  const now = shared.clock.now();
  const wish = hashOf(updateBody("", desired));
  // A new generation that asks for nothing else at the remote (a policy was changed) has been applied already.
  const referencesNow = referencesHash(endpoint, desired.env);
  const { appliedReferencesHash = referencesNow } = endpoint.status ?? {};
  const unchanged = isApplied(endpoint) && appliedReferencesHash === referencesNow;
  const applied = unchanged || rounds.given(uid) === wish;
  if (input.requested) rounds.forget(uid);
  else rounds.resume(uid, wish, foughtOver(endpoint), now, MAX_ROUNDS);
  const plan = planEndpoint({
    spec: endpoint.spec,
    desired,
    binding,
    limits: account.limits(),
    applied,
    resuming: isResuming(endpoint),
    rounds: {
      count: (fields) => rounds.count(uid, wish, fields),
      sinceMs: () => rounds.sinceMs(uid, wish, now),
    },
    vanished: account.vanished,
    requested: reconcileRequest(endpoint) !== undefined,
    now,
  });
  return { binding, plan, applied, wish };
}

/** The fields that were given up for this generation, by the word of the status: another process may have done so. */
function foughtOver({ status, metadata }: GpuEndpoint): DriftField[] {
  const synced = getCondition(status?.conditions, "Synced");
  if (synced?.reason !== "DriftFight" || synced.observedGeneration !== metadata.generation) return [];
  return driftFields.filter((path) => status?.drift?.some(({ field }) => field === path));
}

async function act(
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
  const given: Partial<Written> = {
    ...(metadata.generation === undefined ? {} : { appliedGeneration: metadata.generation }),
    ...(referencesNow === undefined ? {} : { appliedReferencesHash: referencesNow }),
  };
  switch (plan.action) {
    case "Create": {
      if (entry !== undefined) shared.journal.settle(entry.id); // looked for long enough: it never took effect
      const created = await createEndpoint(shared, account, input.kind, endpoint, desired, context);
      Object.assign(written, created, given, { lastAppliedTime: rfc3339(now) });
      const note = `Created endpoint ${created.endpointID} as ${desired.appName}`;
      shared.recorder.event(endpoint, "Normal", "Created", "Create", note);
      return seen(input, desired, await readAfterWrite(input, created.endpointID), written);
    }
    case "Bind": {
      Object.assign(written, { endpointID: plan.record.id });
      if (entry !== undefined) written.submission = acceptedBy(entry, now);
      // The next step compares and converges it.
      return { ...seen(input, desired, plan.record, written), requeueAfterMs: 0 };
    }
    case "Update": {
      const endpointID = binding.kind === "Bound" ? binding.endpointID : "";
      const fields = plan.differences.flatMap(({ field, remediable }) => (remediable ? [field] : []));
      try {
        await updateEndpoint(shared, account, endpointID, plan.sent, context);
      } catch (error) {
        if (isUnknownDelivery(error)) rounds.note(uid, wish, fields, now); // what was refused cannot be undone
        throw error;
      }
      rounds.note(uid, wish, fields, now);
      rounds.give(uid, wish);
      Object.assign(written, given, { lastAppliedTime: rfc3339(now) });
      shared.recorder.event(
        endpoint,
        "Normal",
        applied ? "DriftRemedied" : "Updated",
        "Update",
        `Updated endpoint ${endpointID}: ${plan.differences.map(({ field }) => field).join(", ")}`,
      );
      const after = seen(input, desired, await readAfterWrite(input, endpointID), written);
      return after.outcome.differences.length > 0 ? { ...after, requeueAfterMs: RECHECK_MS } : after;
    }
    case "LookAgain":
      return {
        outcome: blank({
          waiting: {
            reason: "Creating",
            message: `The answer to the create was lost; looking for app name ${desired.appName}`,
            lostSight: false,
          },
        }),
        written,
        requeueAfterMs: LOOK_AGAIN_MS,
      };
    case "AwaitProofOfAbsence":
      return {
        outcome: blank({
          waiting: {
            reason: "RemoteMissing",
            message: `The service does not show endpoint ${endpoint.status?.endpointID}; it counts as gone when two complete lists lack it`,
            lostSight: true,
          },
        }),
        written,
        requeueAfterMs: ABSENCE_MS,
      };
    case "Stall":
      return {
        outcome: {
          record,
          differences: plan.differences,
          fighting: false,
          stalled: { reason: plan.reason, message: plan.message },
        },
        written,
        requeueAfterMs: REMOTE_REFUSAL_MS,
      };
    case "None": {
      if (record !== undefined) rounds.give(uid, wish);
      const converged = seen(input, desired, record, record === undefined ? written : { ...written, ...given });
      return {
        ...converged,
        outcome: { record, differences: plan.differences, fighting: plan.fighting },
        ...(plan.lookAgainMs === undefined ? {} : { requeueAfterMs: plan.lookAgainMs }),
      };
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
  const requeueAfterMs = settling ? (age < FAST_SETTLE_MS ? LOOK_AGAIN_MS : 2.5 * LOOK_AGAIN_MS) : undefined;
  return {
    outcome: { record, differences: differing, fighting: false },
    written,
    ...(requeueAfterMs === undefined ? {} : { requeueAfterMs }),
  };
}

/** The write stands whether or not this read succeeds: the next reconcile reads again. */
async function readAfterWrite(
  { account, endpoint, context: { signal, log } }: ConvergeInput,
  endpointID: string,
): Promise<EndpointRecord | undefined> {
  try {
    const record = await read(account, endpointID, signal);
    return record && (await completed(account, endpoint, record, "Now", signal));
  } catch (error) {
    log.info({ endpointID, reason: String(error) }, "not readable right after the write");
    return undefined;
  }
}

/** The service refused the same a moment ago, and nobody asks to try again: it is not sent. */
function refused(input: ConvergeInput, { plan, wish }: Decision, written: Partial<Written>): Converged | undefined {
  const { shared, endpoint, refusals, requested } = input;
  if (requested || (plan.action !== "Create" && plan.action !== "Update")) return undefined;
  const known = refusals.find(endpoint.metadata.uid ?? "", wish, shared.clock.now());
  if (known === undefined) return undefined;
  return { outcome: blank({ stalled: known.refusal }), written, requeueAfterMs: known.againMs };
}

function failed(
  input: ConvergeInput,
  error: ServiceError,
  decision: Decision | undefined,
  written: Partial<Written>,
): Converged {
  if (isUnknownDelivery(error) && error.operation === "createEndpoint") {
    const message = `The answer to the create was lost (${error.message}); looking for app name ${written.appName}`;
    return {
      outcome: blank({ waiting: { reason: "Creating", message, lostSight: false } }),
      written,
      requeueAfterMs: LOOK_AGAIN_MS,
    };
  }
  const failure = failureOf(error);
  switch (failure.kind) {
    case "AccountHeld":
      input.shared.accounts.unauthorized(input.account.key, failure.message);
      return {
        outcome: blank({ waiting: { reason: "AccountNotReady", message: failure.message, lostSight: true } }),
        written,
      };
    case "Stalled": {
      const { uid = "" } = input.endpoint.metadata;
      const { reason, message } = failure;
      if (decision !== undefined && error.operation in WRITES) {
        input.refusals.note(uid, decision.wish, { reason, message }, input.shared.clock.now() + REMOTE_REFUSAL_MS);
      }
      return { outcome: blank({ stalled: { reason, message } }), written, requeueAfterMs: REMOTE_REFUSAL_MS };
    }
    case "Wait":
      return {
        outcome: blank({ waiting: { ...failure, lostSight: true } }),
        written,
        requeueAfterMs: failure.retryAfterMs,
      };
    case "Retry":
      return { outcome: blank({ waiting: { ...failure, lostSight: true } }), written, error };
  }
}

function acceptedBy(entry: JournalEntry, now: number): Written["submission"] {
  const { id, specHash, attempt } = entry;
  return { id, specHash, attempt, state: "Accepted", time: rfc3339(now) };
}

function blank(part: Partial<Outcome>): Outcome {
  return { record: undefined, differences: [], fighting: false, ...part };
}
