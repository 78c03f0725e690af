import { COMMANDS, targetOf } from "../../api/v1alpha1/commands.ts";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { ANNOTATIONS, FINALIZER } from "../../api/v1alpha1/meta.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import { isGivenUp, ServiceError } from "../../provider/errors.ts";
import type { ReconcileContext, Result } from "../../runtime/controller.ts";
import { accountOfResources, baseURLOf } from "../account/binding.ts";
import { accountMismatch } from "../account/mismatch.ts";
import type { AccountHandle, Resolved } from "../account/registry.ts";
import type { ControllerDeps, Kind } from "../controller-deps.ts";
import { type CurrentState, UnprovenObjectError } from "../current-state.ts";
import { announceStall, requeueOf } from "../report.ts";
import { concernsKey, serviceVerdict, type Verdict } from "../verdict.ts";
import type { Claims } from "./claims.ts";
import { type Deletion, deleteRemote, scaleToZero } from "./clean-up.ts";
import { emptyOutcome, type Outcome } from "./conditions.ts";
import { appNameOf, type DeletionPolicy, deletionPolicyOf, hasGeneratedAppName, needsFinalizer } from "./desired.ts";
import { createdBy, type EndpointMemories, type SentCleanUp } from "./memory.ts";
import { findLostCreate, type LostCreate, namesakesOf } from "./observe.ts";
import { statusOf } from "./status.ts";
import { type Left, writeChecks } from "./step.ts";

const LOOK_AGAIN_MS = 2_000;
const HELD_RETRY_MS = 60_000;

export type FinalizeInput = {
  endpoint: GpuEndpoint;
  /** The object does not exist any more (controller.ts): nothing is written to it. Default false. */
  departed?: boolean;
  context: ReconcileContext;
};

/** What blocks the deletion, as the conditions show it. */
type Obstacle = Extract<Verdict, { kind: "Waiting" | "Stalled" | "Retry" }>;

/** How far a deletion is. `LookAgain`: the status shows nothing of it; without `againMs`, the account wakes the object. */
type Progress = { kind: "Released" } | { kind: "LookAgain"; againMs?: number } | Obstacle;
const RELEASED: Progress = { kind: "Released" };

type FinalizerDeps = {
  shared: ControllerDeps;
  kind: Kind<GpuEndpoint>;
  claims: Pick<Claims, "belongsToAnother">;
  memories: EndpointMemories;
  currentState: CurrentState<GpuEndpoint>;
};

/** One reconcile of a deletion. `left`: the object as it was last written. */
type Finalizing = FinalizerDeps &
  ReturnType<EndpointMemories["findCreate"]> & {
    left: Pick<Left, "endpoint">;
    departed: boolean;
    context: ReconcileContext;
  };

/**
 * Applies the deletion policy, then removes the finalizer. The object's message names what blocks deletion and ends with the
 * command that releases the object.
 */
export function createEndpointFinalizer(deps: FinalizerDeps) {
  const { kind, memories } = deps;

  return async ({ endpoint, departed = false, context }: FinalizeInput): Promise<Result> => {
    if (!endpoint.metadata.finalizers?.includes(FINALIZER)) return undefined;
    const left = { endpoint };
    const input: Finalizing = { ...deps, ...memories.findCreate(endpoint), left, departed, context };
    const progress = await progressOf(input);
    if (progress.kind === "LookAgain") {
      return progress.againMs === undefined ? undefined : { requeueAfterMs: progress.againMs };
    }
    if (progress.kind !== "Released") return obstructed(input, progress);
    if (!departed) await kind.setFinalizer(left.endpoint, false, context.signal);
    memories.end(endpoint);
    return undefined;
  };
}

async function progressOf(input: Finalizing): Promise<Progress> {
  const { shared, claims, entry } = input;
  const { endpoint } = input.left;
  const { endpointID, deletion } = endpoint.status ?? {};
  if (!needsFinalizer(endpoint)) return RELEASED;
  // A create replaces the endpoint of the status: that one is proven to be gone. No create follows a deletion.
  const known = (entry === undefined ? endpointID : createdBy(entry)) ?? deletion?.endpointID;
  const unknown = known === undefined && entry === undefined;
  if (unknown && !hasGeneratedAppName(endpoint)) return RELEASED; // nothing would prove whose endpoint it is
  if (known !== undefined && claims.belongsToAnother(endpoint, known)) return RELEASED; // the other object cleans it up
  const policy = deletionPolicyOf(endpoint);
  if (typeof policy === "object") {
    const message = `annotation ${ANNOTATIONS.deletionPolicy} is "${policy.unreadable}", allowed are Retain, ScaleToZero and Delete: set it to one of them`;
    return stalled("InvalidSpec", message);
  }
  const bound = accountOfResources(endpoint, entry?.account);
  const resolved = shared.accounts.resolveCleanup(bound, endpoint.metadata.namespace);
  if (resolved.kind === "Checking") return { kind: "LookAgain" };
  if (resolved.kind === "Held") return unknown && resolved.reason !== "Unreachable" ? RELEASED : heldBy(resolved);
  const { account } = resolved;
  const mismatch = accountMismatch(baseURLOf(bound), account, "delete the endpoint at its service");
  // No punctuation follows the command directly.
  if (mismatch !== undefined) return stalled(mismatch.reason, `${mismatch.message} `);
  try {
    return await cleanUp(input, account, policy, known);
  } catch (error) {
    if (error instanceof UnprovenObjectError) return unproven(error);
    if (!(error instanceof ServiceError) || isGivenUp(error)) throw error;
    if (concernsKey(error)) shared.accounts.unauthorized(account.key, error.message);
    return refusalOf(error);
  }
}

/** @param known the ID of the endpoint; undefined: that of a create whose response was lost */
async function cleanUp(
  input: Finalizing,
  account: AccountHandle,
  policy: DeletionPolicy,
  known: string | undefined,
): Promise<Progress> {
  const { shared, kind, memories, left, departed, entry, context } = input;
  const { endpoint } = left;
  const found: LostCreate =
    known === undefined ? await findLostCreate({ ...input, endpoint, account }) : { kind: "Found", endpointID: known };
  if (found.kind === "LookAgain") return { kind: "LookAgain", againMs: LOOK_AGAIN_MS };
  if (found.kind === "None") return RELEASED;
  if (found.kind === "NotShown") return stalled("RemoteMissing", found.message);

  const memory = memories.of(endpoint);
  memory.cleanUps ??= new Map<string, SentCleanUp>();
  // Only objects that were proven while they existed are remembered as departed.
  const checks = departed
    ? { assertCurrent: async () => {}, beforeSend: () => shared.servers.assertServing(account.key) }
    : writeChecks(input, left, account, context.signal);
  async function recordDeletion(deletion: Deletion): Promise<void> {
    const { status = { conditions: [] } } = left.endpoint;
    if (!departed) left.endpoint = await kind.patchStatus(left.endpoint, { ...status, deletion }, context.signal);
  }
  for (const endpointID of [...otherEndpoints(input, account, found.endpointID), found.endpointID]) {
    const sent = memory.cleanUps.get(endpointID) ?? {};
    memory.cleanUps.set(endpointID, sent);
    const work = { shared, account, endpoint, endpointID, entry, recordDeletion, sent, checks, context };
    const done = await (policy === "Delete" ? deleteRemote(work) : scaleToZero(work));
    if (done.kind === "Blocked") return stalled(done.reason, done.message);
    if (done.kind === "Wait") {
      const { message, againMs = LOOK_AGAIN_MS } = done;
      return { kind: "Waiting", reason: "Deleting", message, againMs };
    }
    if (endpointID !== found.endpointID) memory.cleanUps.delete(endpointID); // told once, although the bound one may keep the object waiting
    if (done.note !== undefined) shared.recorder.normal(endpoint, done.note.reason, "Delete", done.note.text);
  }
  return RELEASED;
}

/** Shows what blocks the deletion, with the command that ends it. */
async function obstructed({ shared, kind, left, departed, context }: Finalizing, obstacle: Obstacle): Promise<Result> {
  if (departed) {
    context.log.warn({ reason: obstacle.message }, "the endpoint of an object that is gone still runs");
    return requeueOf(obstacle);
  }
  const { endpoint } = left;
  const message = `${obstacle.message}. To delete only the object and keep the endpoint: ${COMMANDS.retain(targetOf(endpoint, "GpuEndpoint"))}`;
  const verdict = { ...obstacle, message };
  const outcome: Outcome = { ...emptyOutcome(verdict), outdated: true };
  const status = statusOf(endpoint, { written: {}, outcome, requested: undefined }, shared.clock.now());
  announceStall(shared.recorder, endpoint, status, "Reconcile");
  await kind.patchStatus(endpoint, status, context.signal);
  return requeueOf(verdict);
}

function stalled(reason: Reason, message: string): Obstacle {
  return { kind: "Stalled", reason, message, againMs: HELD_RETRY_MS };
}

/** The endpoints that were created for the object too, before a user requested another one while the key was that of another member. */
function otherEndpoints(
  { shared, claims, left: { endpoint } }: Finalizing,
  account: AccountHandle,
  bound: string,
): string[] {
  if (!hasGeneratedAppName(endpoint)) return [];
  return namesakesOf(account, appNameOf(endpoint, shared.clusterUID), bound)
    .map(({ id }) => id)
    .filter((id) => !claims.belongsToAnother(endpoint, id));
}

/** The write that shows this proves that the object is current. */
function unproven({ message }: UnprovenObjectError): Obstacle {
  return { kind: "Waiting", reason: "Deleting", message: `Nothing is sent yet: ${message}`, againMs: LOOK_AGAIN_MS };
}

/** What a failed call means for the deletion. A deletion that continues without help has the reason Deleting. */
function refusalOf(error: ServiceError): Obstacle {
  const verdict = serviceVerdict(error);
  if (verdict.kind === "Retry") return { ...verdict, reason: "Deleting" };
  if (verdict.kind === "Waiting") return { againMs: HELD_RETRY_MS, ...verdict, reason: "Deleting" };
  // What is sent is what the remote shows, so a change of the spec does not help.
  const refused = verdict.kind === "Done" || verdict.reason === "RemoteRefused";
  const { reason, message } = refused
    ? { reason: "RemoteRefused" as const, message: `The service refuses the clean-up: ${error.message}` }
    : verdict;
  return stalled(reason, message);
}

function heldBy(held: Extract<Resolved, { kind: "Held" }>): Obstacle {
  const message = `Deletion waits for the account: ${held.message}`;
  if (held.reason !== "Unreachable") {
    return stalled(held.reason === "AccountNotFound" ? held.reason : "AccountNotReady", message);
  }
  return { kind: "Waiting", reason: "AccountNotReady", message, againMs: HELD_RETRY_MS };
}
