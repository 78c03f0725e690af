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
import { assertWanted } from "../wanted.ts";
import type { Claims } from "./claims.ts";
import { type CleanedUp, type Deletion, deleteRemote, scaleToZero } from "./clean-up.ts";
import { createdBy } from "./create-record.ts";
import { deletionPolicyOf, needsFinalizer } from "./deletion-policy.ts";
import { appNameOf, hasGeneratedAppName } from "./fields.ts";
import { findLostCreate, type LostCreate } from "./lost-create.ts";
import type { EndpointMemories } from "./memory.ts";
import { namesakesOf } from "./observe.ts";
import { emptyOutcome, type Outcome, statusOf } from "./status.ts";

const LOOK_AGAIN_MS = 2_000;
const HELD_RETRY_MS = 60_000;

export type FinalizeInput = {
  endpoint: GpuEndpoint;
  /** The object does not exist any more (departed.ts): nothing is written to it. Default false. */
  departed?: boolean;
  context: ReconcileContext;
};

/** What blocks the deletion, as the conditions show it. */
type Obstacle = Extract<Verdict, { kind: "Waiting" | "Stalled" | "Retry" }>;

/**
 * Applies the deletion policy, then removes the finalizer. The object's message names what blocks deletion and ends with the
 * command that releases the object.
 */
export function createEndpointFinalizer(
  shared: ControllerDeps,
  kind: Kind<GpuEndpoint>,
  remembered: { claims: Pick<Claims, "belongsToAnother">; memories: EndpointMemories },
  currentState: Pick<CurrentState<GpuEndpoint>, "assertCurrent">,
) {
  const { claims, memories } = remembered;

  return async (input: FinalizeInput): Promise<Result> => {
    const { departed = false, context } = input;
    const memory = memories.of(input.endpoint);
    const { entry, unknownForMs } = memories.findCreate(input.endpoint);
    /** As this reconcile last wrote it. */
    let { endpoint } = input;
    const { endpointID, deletion } = endpoint.status ?? {};
    if (!endpoint.metadata.finalizers?.includes(FINALIZER)) return undefined;

    async function release(): Promise<Result> {
      if (!departed) await kind.setFinalizer(endpoint, false, context.signal);
      memories.end(endpoint);
      delete memory.cleanUps;
      return undefined;
    }

    async function recordDeletion(deletion: Deletion): Promise<void> {
      if (departed) return;
      const { status = { conditions: [] } } = endpoint;
      endpoint = await kind.patchStatus(endpoint, { ...status, deletion }, context.signal);
    }

    /** Only objects that were proven while they existed are remembered as departed. */
    async function assertCurrent(): Promise<void> {
      if (!departed) await currentState.assertCurrent(endpoint, context.signal);
    }

    /** Shows what blocks the deletion, with the command that ends it. */
    async function obstructed(obstacle: Obstacle): Promise<Result> {
      if (departed) {
        context.log.warn({ reason: obstacle.message }, "the endpoint of an object that is gone still runs");
        return requeueOf(obstacle);
      }
      const message = `${obstacle.message}. To delete only the object and keep the endpoint: ${COMMANDS.retain(targetOf(endpoint, "GpuEndpoint"))}`;
      const verdict = { ...obstacle, message };
      const outcome: Outcome = { ...emptyOutcome(verdict), outdated: true };
      announceStall(shared.recorder, endpoint, verdict.kind === "Stalled" ? verdict : undefined, "Reconcile");
      const status = statusOf(endpoint, { written: {}, outcome, requested: undefined }, shared.clock.now());
      await kind.patchStatus(endpoint, status, context.signal);
      return requeueOf(verdict);
    }
    const stalled = (reason: Reason, message: string) =>
      obstructed({ kind: "Stalled", reason, message, againMs: HELD_RETRY_MS });

    if (!needsFinalizer(endpoint)) return release();
    // A create replaces the endpoint of the status: that one is proven to be gone. No create follows a deletion.
    const known = (entry === undefined ? endpointID : createdBy(entry)) ?? deletion?.endpointID;
    const unknown = known === undefined && entry === undefined;
    if (unknown && !hasGeneratedAppName(endpoint)) return release(); // nothing would prove whose endpoint it is
    if (known !== undefined && claims.belongsToAnother(endpoint, known)) return release(); // the other object cleans it up
    const policy = deletionPolicyOf(endpoint);
    if (typeof policy === "object") {
      const message = `annotation ${ANNOTATIONS.deletionPolicy} is "${policy.unreadable}", allowed are Retain, ScaleToZero and Delete: set it to one of them`;
      return stalled("InvalidSpec", message);
    }
    const { metadata } = endpoint;
    const bound = accountOfResources(endpoint, entry?.account);
    const resolved = shared.accounts.resolveCleanup(bound, metadata.namespace);
    if (resolved.kind === "Checking") return undefined;
    if (resolved.kind === "Held") {
      return unknown && resolved.reason !== "Unreachable" ? release() : obstructed(heldBy(resolved));
    }
    const { account } = resolved;
    const mismatch = accountMismatch(baseURLOf(bound), account, "delete the endpoint at its service");
    // No punctuation follows the command directly.
    if (mismatch !== undefined) return stalled(mismatch.reason, `${mismatch.message} `);
    let done: CleanedUp = { kind: "Done" };
    try {
      const found: LostCreate =
        known === undefined
          ? await findLostCreate({ shared, account, claims, endpoint, entry, unknownForMs, context })
          : { kind: "Found", endpointID: known };
      if (found.kind === "LookAgain") return { requeueAfterMs: LOOK_AGAIN_MS };
      if (found.kind === "None") return await release();
      if (found.kind === "NotShown") return await stalled("RemoteMissing", found.message);
      const bound = found.endpointID;
      memory.cleanUps ??= new Map();
      const sent = memory.cleanUps;
      for (const id of [...otherEndpoints({ shared, account, claims, endpoint }, bound), bound]) {
        const assertStillWanted = () => {
          if (!departed) assertWanted(shared, { kind, object: endpoint, account });
        };
        const checks = { assertCurrent, assertWanted: assertStillWanted };
        const work = { shared, account, endpoint, endpointID: id, entry, recordDeletion, ...checks, context };
        done = await (policy === "Delete" ? deleteRemote(work, sent) : scaleToZero(work, sent));
        if (done.kind !== "Done") break;
        if (id !== bound) sent.delete(id); // done, and told once, although the bound one may keep the object waiting
        if (done.note !== undefined) shared.recorder.normal(endpoint, done.note.reason, "Delete", done.note.text);
      }
    } catch (error) {
      if (error instanceof UnprovenObjectError) return obstructed(unproven(error));
      if (!(error instanceof ServiceError) || isGivenUp(error)) throw error;
      if (concernsKey(error)) shared.accounts.unauthorized(account.key, error.message);
      return obstructed(refusalOf(error));
    }
    if (done.kind === "Blocked") return stalled(done.reason, done.message);
    if (done.kind === "Wait") {
      const { message, againMs = LOOK_AGAIN_MS } = done;
      return obstructed({ kind: "Waiting", reason: "Deleting", message, againMs });
    }
    return release();
  };
}

type NamesakeSearch = {
  shared: ControllerDeps;
  account: AccountHandle;
  claims: Pick<Claims, "belongsToAnother">;
  endpoint: GpuEndpoint;
};

/** The endpoints that were created for the object too, before a user requested another one while the key was that of another member. */
function otherEndpoints({ shared, account, claims, endpoint }: NamesakeSearch, bound: string): string[] {
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
  return { kind: "Stalled", reason, message, againMs: HELD_RETRY_MS };
}

function heldBy(held: Extract<Resolved, { kind: "Held" }>): Obstacle {
  const message = `Deletion waits for the account: ${held.message}`;
  const againMs = HELD_RETRY_MS;
  if (held.reason === "Unreachable") return { kind: "Waiting", reason: "AccountNotReady", message, againMs };
  const reason = held.reason === "AccountNotFound" ? held.reason : "AccountNotReady";
  return { kind: "Stalled", reason, message, againMs };
}
