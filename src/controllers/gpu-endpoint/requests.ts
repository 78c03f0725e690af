import { isDeepStrictEqual } from "node:util";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { BoundAccount, Submission } from "../../api/v1alpha1/meta.ts";
import { rfc3339 } from "../../clock.ts";
import type { ReconcileContext } from "../../runtime/controller.ts";
import { nextAttempt } from "../../submission/intents.ts";
import { submitOnce } from "../../submission/submit-once.ts";
import { type AccountHandle, boundTo } from "../account/registry.ts";
import { assertPresent, type ControllerDeps, type Kind } from "../controller-deps.ts";
import type { Cause } from "../verdict.ts";
import { type DesiredEndpoint, requestHash } from "./desired.ts";

export type Created = { endpointID: string; submission: Submission };

/** After a longer commit nothing is sent: the lookup of a lost create relies on the intent's time. */
const COMMIT_MS = 30_000;

/** What a create needs. */
export type CreateInput = {
  shared: ControllerDeps;
  account: AccountHandle;
  kind: Kind<GpuEndpoint>;
  endpoint: GpuEndpoint;
  context: Pick<ReconcileContext, "signal">;
};

/** A new intent to create the endpoint. It goes into the status, which has to show it before the create is sent. */
export function intendCreate(
  endpoint: GpuEndpoint,
  desired: DesiredEndpoint,
  { clock, journal, newID }: Pick<ControllerDeps, "clock" | "journal" | "newID">,
): Submission {
  const attempt = nextAttempt(endpoint.status?.submission);
  const specHash = requestHash(desired);
  const time = rfc3339(clock.now());
  return { id: newID(), specHash, attempt, state: "Intended", journal: journal.id(), time };
}

/** The intent that the status shows for this journal and this account. */
export function shownIntent({ status }: GpuEndpoint, journal: string, account: BoundAccount): Submission | undefined {
  const { submission, account: shown } = status ?? {};
  if (submission?.state !== "Intended" || submission.journal !== journal) return undefined;
  return isDeepStrictEqual(shown, account) ? submission : undefined;
}

/**
 * Creates the endpoint at most once (submitOnce). The status shows `intent`. The journal entry stays until the caller has the
 * endpoint ID in the status.
 * @throws the error of a create that was not accepted; when its outcome is unknown, the intent stays in the journal
 */
export async function createEndpoint(
  input: CreateInput,
  desired: DesiredEndpoint,
  { id, attempt }: Submission,
): Promise<Created> {
  const { shared, account, kind, endpoint, context } = input;
  const { name, namespace, uid } = endpoint.metadata;
  const specHash = requestHash(desired);
  const intent = {
    id,
    kind: "GpuEndpoint",
    key: `${namespace}/${name}`,
    uid,
    operation: "createEndpoint",
    attempt,
    specHash,
    account: boundTo(account),
  };
  const result = await submitOnce(shared, {
    intent,
    assertWanted: () => {
      assertPresent(kind, endpoint);
      shared.assertClaimed(account.key);
    },
    send: (options) => account.endpoints.create(desired, options),
    outcomeOf: ({ id }) => ({ endpointID: id }),
    maxCommitMs: COMMIT_MS,
    signal: context.signal,
  });
  if (result.kind !== "Accepted") throw result.error;
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
