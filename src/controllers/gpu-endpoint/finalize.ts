import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { ANNOTATIONS, FINALIZER } from "../../api/v1alpha1/meta.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import { ServiceError } from "../../provider/errors.ts";
import type { ReconcileContext, Result } from "../../runtime/controller.ts";
import type { JournalEntry } from "../../submission/journal.ts";
import type { AccountHandle } from "../account/registry.ts";
import { failureOf } from "../service-failure.ts";
import { type Kind, patchStatus, type Shared, setFinalizer } from "../shared.ts";
import type { Claims } from "./claims.ts";
import { type CleanedUp, deleteRemote, type SentDeletions, type SentScalings, scaleToZero } from "./clean-up.ts";
import { deletionPolicyOf, needsFinalizer, releaseLine } from "./deletion-policy.ts";
import { appNameOf, desiredEndpoint } from "./desired.ts";
import { warnOfStall } from "./events.ts";
import { observeBinding } from "./observe.ts";
import { isOurCreate, LOOKUP_MS } from "./plan.ts";
import { type Outcome, statusOf } from "./status.ts";

const LOOK_AGAIN_MS = 2_000;
const HELD_RETRY_MS = 60_000;

export type FinalizeInput = {
  endpoint: GpuEndpoint;
  entry: JournalEntry | undefined;
  /** How long the outcome of the entry has been unknown here. */
  unknownForMs: number;
  context: ReconcileContext;
};

/** What keeps the object: shown as its condition. */
type Obstacle = { stalled: { reason: Reason; message: string } } | { waiting: { reason: Reason; message: string } };

/**
 * Carries out the deletion policy, then lets the object go. Whatever keeps it, its condition says why and ends with the
 * command that releases it.
 */
export function createEndpointFinalizer(
  shared: Shared,
  kind: Kind<GpuEndpoint>,
  claims: Pick<Claims, "belongsToAnother">,
) {
  const sentDeletions: SentDeletions = new Map();
  const sentScalings: SentScalings = new Map();

  return async (input: FinalizeInput): Promise<Result> => {
    const { endpoint, entry, context } = input;
    if (!endpoint.metadata.finalizers?.includes(FINALIZER)) return undefined;

    async function release(): Promise<Result> {
      await setFinalizer(shared, kind, endpoint, FINALIZER, false, context.signal);
      if (entry !== undefined) shared.journal.settle(entry.id);
      sentDeletions.delete(endpoint.metadata.uid ?? "");
      sentScalings.delete(endpoint.metadata.uid ?? "");
      return undefined;
    }

    async function obstructed(obstacle: Obstacle, requeueAfterMs: number): Promise<Result> {
      const outcome = outcomeOf(endpoint, obstacle);
      warnOfStall(shared.recorder, endpoint, outcome.stalled);
      const status = statusOf(endpoint, {}, outcome, undefined, shared.clock.now());
      await patchStatus(shared, kind, endpoint, status, context.signal);
      return { requeueAfterMs };
    }

    if (!needsFinalizer(endpoint)) return release();
    const known = entry?.outcome?.endpointID ?? endpoint.status?.endpointID;
    if (known === undefined && entry === undefined) return release(); // nothing was ever submitted
    if (known !== undefined && claims.belongsToAnother(endpoint, known)) return release(); // that one cleans up after it
    const policy = deletionPolicyOf(endpoint);
    if (typeof policy === "object") {
      const message = `annotation ${ANNOTATIONS.deletionPolicy} is "${policy.unreadable}", allowed are Retain, ScaleToZero and Delete: nothing is done until it is one of them`;
      return obstructed({ stalled: { reason: "InvalidSpec", message } }, HELD_RETRY_MS);
    }
    const { status, spec, metadata } = endpoint;
    const resolved = shared.accounts.resolveCleanup(status?.account, spec.accountRef, metadata.namespace ?? "");
    if (resolved.kind === "Checking") return undefined;
    if (resolved.kind === "Held") return obstructed(heldBy(resolved), HELD_RETRY_MS);
    const { account } = resolved;
    if (status?.account !== undefined && status.account.baseURL !== account.baseURL) {
      const message = `bound to ${status.account.baseURL}, but the account now has base URL ${account.baseURL}: restore the account's baseURL`;
      return obstructed({ stalled: { reason: "AccountMismatch", message } }, HELD_RETRY_MS);
    }
    let done: CleanedUp;
    try {
      const bound = known ?? (await lostCreate(shared, account, claims, input));
      if (bound === "LookAgain") return { requeueAfterMs: LOOK_AGAIN_MS };
      if (bound === "None") return await release();
      if (bound === "NotShown") return await obstructed({ stalled: lostCreateNotShown(endpoint) }, HELD_RETRY_MS);
      const work = { shared, account, endpoint, endpointID: bound, entry, context };
      done = await (policy === "Delete" ? deleteRemote(work, sentDeletions) : scaleToZero(work, sentScalings));
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const failure = failureOf(error);
      if (failure.kind === "AccountHeld") shared.accounts.unauthorized(account.key, failure.message);
      // The spec has no part in it any more: what is sent is what the remote shows.
      const refused = failure.kind === "Stalled" && failure.reason === "RemoteRefused";
      const message = refused ? `The service refuses the clean-up: ${error.message}` : failure.message;
      if (failure.kind === "Stalled")
        return obstructed({ stalled: { reason: failure.reason, message } }, HELD_RETRY_MS);
      const result = await obstructed(
        { waiting: { reason: "Deleting", message } },
        failure.kind === "Wait" ? failure.retryAfterMs : HELD_RETRY_MS,
      );
      if (failure.kind === "Retry") throw error;
      return result;
    }
    if (done.kind === "Blocked") return obstructed({ stalled: done }, HELD_RETRY_MS);
    if (done.kind === "Wait")
      return obstructed({ waiting: { reason: "Deleting", message: done.message } }, done.againMs ?? LOOK_AGAIN_MS);
    if (done.note !== undefined) shared.recorder.event(endpoint, "Normal", done.note.reason, "Delete", done.note.text);
    return release();
  };
}

/** What became of a create whose answer was lost: the endpoint's id, or "None" when it never took effect. */
async function lostCreate(
  shared: Shared,
  account: AccountHandle,
  claims: Pick<Claims, "belongsToAnother">,
  { endpoint, entry, unknownForMs, context }: FinalizeInput,
): Promise<string> {
  const now = shared.clock.now();
  const appName = appNameOf(endpoint, shared.clusterUID);
  const binding = await observeBinding({
    endpoint,
    account,
    entry,
    unknownForMs,
    appName,
    now,
    signal: context.signal,
  });
  if (binding.kind === "Bound") return binding.endpointID;
  if (binding.kind === "Unbound") return "None";
  if (binding.candidate === undefined) {
    if (binding.unknownForMs < LOOKUP_MS) return "LookAgain";
    return account.vanished() > 0 ? "NotShown" : "None";
  }
  if (claims.belongsToAnother(endpoint, binding.candidate.id)) return "None";
  // The values of Secrets may be gone with the namespace: all else has to match.
  const desired = desiredEndpoint(endpoint, shared.clusterUID, []);
  const ours =
    endpoint.spec.appName === undefined || isOurCreate({ desired }, binding.candidate, binding.sentAt, ["env"]);
  if (ours) return binding.candidate.id;
  const note = `Endpoint ${binding.candidate.id} has app name ${appName}, but may be somebody else's: it is left as it is`;
  shared.recorder.event(endpoint, "Warning", "AppNameTaken", "Delete", note);
  return "None";
}

function lostCreateNotShown(endpoint: GpuEndpoint): { reason: Reason; message: string } {
  const message = `The answer to the create was lost, and the service shows no endpoint of this account with the current key: it is not known whether ${endpoint.metadata.name} was created. Put a key that sees the account's endpoints into its Secret`;
  return { reason: "RemoteMissing", message };
}

function heldBy({ reason, message }: { reason: Reason; message: string }): Obstacle {
  const told = `Deletion waits for the account: ${message}`;
  if (reason === "Unreachable") return { waiting: { reason: "AccountNotReady", message: told } };
  return { stalled: { reason: reason === "AccountNotFound" ? reason : "AccountNotReady", message: told } };
}

function outcomeOf(endpoint: GpuEndpoint, obstacle: Obstacle): Outcome {
  const withRelease = ({ reason, message }: { reason: Reason; message: string }) => ({
    reason,
    message: `${message}. To let the object go and leave the endpoint as it is: ${releaseLine(endpoint)}`,
  });
  const nothingSeen: Outcome = { record: undefined, differences: [], fighting: false };
  return "stalled" in obstacle
    ? { ...nothingSeen, stalled: withRelease(obstacle.stalled) }
    : { ...nothingSeen, waiting: { ...withRelease(obstacle.waiting), lostSight: true } };
}
