import { getCondition } from "../../api/v1alpha1/conditions.ts";
import { type DriftField, driftFields, type GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { ServiceError } from "../../provider/errors.ts";
import { createValueReader, MissingReferenceError, resolveEnv } from "../references.ts";
import { concernsKey, serviceVerdict } from "../verdict.ts";
import {
  acceptedBy,
  act,
  blank,
  type Converged,
  type ConvergeInput,
  type Decision,
  differingFields,
  LOOK_AGAIN_MS,
  REMOTE_REFUSAL_MS,
  unclaimed,
} from "./act.ts";
import { appNameOf, type DesiredEndpoint, desiredEndpoint, desiredHash, referencesHash } from "./desired.ts";
import { isApplied, isResuming, observeBinding } from "./observe.ts";
import { type Binding, MAX_ROUNDS, planEndpoint } from "./plan.ts";
import { boundAccount, type Written } from "./status.ts";

const WRITES = { createEndpoint: true, updateEndpoint: true };

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
    const env = await resolveEnv(reader, endpoint.metadata.namespace, endpoint.spec.env ?? []);
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
    const binding = await observe(false);
    const another = await claimCandidate(input, binding, written);
    if (another !== undefined) return another;
    decision = decide(input, desired, binding);
    // An update names every parameter, so it is made from a fresh read: the sweep's may be a minute old.
    const stale = decision.plan.action === "Update" && decision.binding.kind === "Bound" && !decision.binding.fresh;
    if (stale) decision = decide(input, desired, await observe(true));
    return refused(input, decision, written) ?? (await act(input, desired, decision, written));
  } catch (error) {
    if (error instanceof MissingReferenceError) {
      // The reference poller requests a reconcile when the reference changes.
      const { reason, message } = error;
      return { outcome: blank({ kind: "Stalled", reason, message }), written };
    }
    if (error instanceof ServiceError) return failed(input, error, decision, written);
    throw error;
  }
}

/** An endpoint with our app name may be one that another object adopted: then it is not ours, and nothing is told of it. */
async function claimCandidate(
  input: ConvergeInput,
  binding: Binding,
  written: Partial<Written>,
): Promise<Converged | undefined> {
  if (binding.kind === "Bound" || binding.candidate === undefined) return undefined;
  const claimed = await input.claims.claimFound(input.endpoint, input.account.baseURL, binding.candidate.id);
  if (claimed.kind === "Granted") return undefined;
  return unclaimed(claimed, written);
}

function decide(input: ConvergeInput, desired: DesiredEndpoint, binding: Binding): Decision {
  const { shared, endpoint, account, rounds } = input;
  const { uid } = endpoint.metadata;
  const now = shared.clock.now();
  const wish = desiredHash(desired);
  const history = (field: DriftField) => rounds.history(uid, wish, field, now);
  // A new generation that asks for nothing else at the remote (a policy was changed) has been applied already.
  const referencesNow = referencesHash(endpoint, desired.env);
  const { appliedReferencesHash = referencesNow } = endpoint.status ?? {};
  const unchanged = isApplied(endpoint) && appliedReferencesHash === referencesNow;
  const applied = unchanged || rounds.applied(uid) === wish;
  if (input.requested) rounds.forget(uid);
  else rounds.resume(uid, wish, foughtOver(endpoint), now, MAX_ROUNDS);
  if (binding.kind === "Bound" && binding.record !== undefined) {
    rounds.observed(uid, wish, differingFields(endpoint, desired, binding.record), now);
  }
  const plan = planEndpoint({
    spec: endpoint.spec,
    desired,
    binding,
    limits: account.endpoints.limits(),
    applied,
    resuming: isResuming(endpoint),
    history,
    vanished: () => account.vanished({ endpointID: endpoint.status?.endpointID, memberID: endpoint.status?.memberID }),
    requested: input.requested,
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

/** The service refused the same a moment ago, and nobody asks to try again: it is not sent. */
function refused(input: ConvergeInput, { plan, wish }: Decision, written: Partial<Written>): Converged | undefined {
  const { shared, endpoint, refusals, requested } = input;
  if (requested || (plan.action !== "Create" && plan.action !== "Update")) return undefined;
  const known = refusals.find(endpoint.metadata.uid, wish, shared.clock.now());
  if (known === undefined) return undefined;
  return { outcome: blank({ kind: "Stalled", ...known.refusal, againMs: known.againMs }), written };
}

function failed(
  input: ConvergeInput,
  error: ServiceError,
  decision: Decision | undefined,
  written: Partial<Written>,
): Converged {
  const { accounts, clock } = input.shared;
  if (concernsKey(error)) accounts.unauthorized(input.account.key, error.message);
  if (error.delivery === "Unknown" && error.operation === "createEndpoint") {
    const message = `The outcome of the create is unknown (${error.message}); looking for app name ${written.appName}`;
    return { outcome: blank({ kind: "Waiting", reason: "Creating", message, againMs: LOOK_AGAIN_MS }), written };
  }
  const verdict = serviceVerdict(error);
  if (verdict.kind !== "Stalled") return { outcome: { ...blank(verdict), outdated: true }, written };
  const { reason, message } = verdict;
  if (decision !== undefined && error.operation in WRITES) {
    const until = clock.now() + REMOTE_REFUSAL_MS;
    input.refusals.note(input.endpoint.metadata.uid, decision.wish, { reason, message }, until);
  }
  return { outcome: blank({ ...verdict, againMs: REMOTE_REFUSAL_MS }), written };
}
