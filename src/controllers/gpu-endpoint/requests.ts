import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { Submission } from "../../api/v1alpha1/meta.ts";
import { rfc3339 } from "../../clock.ts";
import type { ReconcileContext } from "../../runtime/controller.ts";
import { submitOnce } from "../../submission/submit-once.ts";
import type { AccountHandle } from "../account/registry.ts";
import { assertPresent, type Kind, type Shared } from "../shared.ts";
import type { Cause } from "../verdict.ts";
import { type DesiredEndpoint, requestHash } from "./desired.ts";

export type Created = { endpointID: string; submission: Submission };

/** After a longer commit nothing is sent: the lookup of a lost create relies on the intent's time. */
const COMMIT_MS = 30_000;

/** What a create needs. */
export type CreateInput = {
  shared: Shared;
  account: AccountHandle;
  kind: Kind<GpuEndpoint>;
  endpoint: GpuEndpoint;
  context: Pick<ReconcileContext, "signal">;
};

/**
 * Creates the endpoint at most once (submitOnce). The journal entry stays until the caller has the endpoint ID in the
 * status.
 * @throws the error of a create that was not accepted; when its outcome is unknown, the intent stays in the journal
 */
export async function createEndpoint(input: CreateInput, desired: DesiredEndpoint): Promise<Created> {
  const { shared, account, kind, endpoint, context } = input;
  const { name, namespace, uid } = endpoint.metadata;
  const specHash = requestHash(desired);
  const attempt = (endpoint.status?.submission?.attempt ?? 0) + 1;
  const result = await submitOnce(shared, {
    intent: { kind: "GpuEndpoint", key: `${namespace}/${name}`, uid, operation: "createEndpoint", attempt, specHash },
    assertWanted: () => assertPresent(kind, endpoint),
    send: (options) => account.endpoints.create(desired, options),
    outcomeOf: ({ id }) => ({ endpointID: id }),
    maxCommitMs: COMMIT_MS,
    signal: context.signal,
  });
  if (result.kind !== "Accepted") throw result.error;
  const { id } = result.entry;
  const time = rfc3339(shared.clock.now());
  return { endpointID: result.value.id, submission: { id, specHash, attempt, state: "Accepted", time } };
}

/** Idempotent. Sent only while this process surely leads. */
export async function updateEndpoint(
  { shared, account, context }: Pick<CreateInput, "shared" | "account" | "context">,
  endpointID: string,
  desired: DesiredEndpoint,
): Promise<void> {
  const beforeSend = () => shared.assertLeading();
  await account.endpoints.update(endpointID, desired, { signal: context.signal, beforeSend });
}

/**
 * What the service refused a moment ago, so that a reconcile that only our own status write caused does not send the same
 * request again. Another desired endpoint was not refused.
 */
export type Refusals = {
  find(uid: string, desiredHash: string, now: number): { refusal: Cause; againMs: number } | undefined;
  /** Not to be sent again before `until`, milliseconds since the epoch. */
  note(uid: string, desiredHash: string, refusal: Cause, until: number): void;
  forget(uid: string): void;
};

export function createRefusals(): Refusals {
  const known = new Map<string, { desiredHash: string; refusal: Cause; until: number }>();
  return {
    find(uid, desiredHash, now) {
      const one = known.get(uid);
      if (one === undefined || one.desiredHash !== desiredHash || now >= one.until) return undefined;
      return { refusal: one.refusal, againMs: one.until - now };
    },
    note: (uid, desiredHash, refusal, until) => void known.set(uid, { desiredHash, refusal, until }),
    forget: (uid) => void known.delete(uid),
  };
}
