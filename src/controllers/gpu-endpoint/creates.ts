import { isDeepStrictEqual } from "node:util";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { EndpointSubmission } from "../../api/v1alpha1/gpu-endpoint-status.ts";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { isSameService } from "../../base/service-address.ts";
import { keyOf } from "../../kube/types.ts";
import type { KeySession } from "../../provider/endpoints/endpoint-index.ts";
import type { ReconcileContext } from "../../runtime/controller.ts";
import { nextAttempt } from "../../submission/intents.ts";
import type { Journal, JournalEntry } from "../../submission/journal.ts";
import { submitOnce } from "../../submission/submit-once.ts";
import { accountOfResources } from "../account/binding.ts";
import { type AccountHandle, boundTo, refOf } from "../account/registry.ts";
import type { ControllerDeps, Kind } from "../controller-deps.ts";
import { assertMaySubmit } from "../wanted.ts";
import { type DesiredEndpoint, type HashKey, hasGeneratedAppName, requestHash } from "./fields.ts";

type Created = { endpointID: string; submission: EndpointSubmission };

/** After a longer commit nothing is sent: the lookup of a lost create relies on the intent's time. */
const COMMIT_MS = 30_000;

/** What a create needs. */
type CreateInput = {
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
  account: HashKey,
  { clock, journal, newID }: Pick<ControllerDeps, "clock" | "journal" | "newID">,
): EndpointSubmission {
  const attempt = nextAttempt(endpoint.status?.submission);
  const specHash = requestHash(desired, account);
  const shown = { journal: journal.id(endpoint.metadata.uid), keyVersion: account.keyVersion() };
  return { id: newID(), specHash, attempt, state: "Intended", ...shown, time: rfc3339(clock.now()) };
}

/** The intent that the status shows for this journal, this account and its key. An earlier version does not show the key. */
export function shownIntent(
  { metadata, status }: GpuEndpoint,
  journal: Pick<Journal, "covers">,
  account: AccountHandle,
): EndpointSubmission | undefined {
  const { submission, account: shown } = status ?? {};
  if (submission?.state !== "Intended" || !journal.covers(metadata.uid, submission.journal)) return undefined;
  const { keyVersion = account.keyVersion() } = submission;
  const sameAccount =
    shown !== undefined &&
    isSameService(shown.baseURL, account.baseURL) &&
    isDeepStrictEqual(refOf(account.key), { kind: shown.kind, name: shown.name });
  return sameAccount && keyVersion === account.keyVersion() ? submission : undefined;
}

/**
 * Creates the endpoint at most once (submitOnce). The status shows `intent`. The journal entry stays until the caller has the
 * endpoint ID in the status.
 * @throws the error of a create that was not accepted; when its outcome is unknown, the intent stays in the journal
 */
export async function createEndpoint(
  input: CreateInput,
  desired: DesiredEndpoint,
  { id, attempt, journal }: EndpointSubmission,
): Promise<Created> {
  const { shared, account, kind, endpoint, context } = input;
  const { name, namespace, uid } = endpoint.metadata;
  const specHash = requestHash(desired, account);
  const intent = {
    id,
    kind: "GpuEndpoint",
    key: `${namespace}/${name}`,
    uid,
    operation: "createEndpoint",
    attempt,
    specHash,
    account: boundTo(account),
    keyVersion: account.keyVersion(),
  };
  const session = account.endpoints.observed.session();
  const result = await submitOnce(shared, {
    intent,
    journal,
    assertWanted: () => {
      assertMaySubmit(shared, { kind, object: endpoint, account });
      assertSameKey(account, session);
    },
    send: (options) => account.endpoints.create(desired, { ...options, group: endpoint.metadata.namespace }),
    outcomeOf: ({ id }) => ({ endpointID: id }),
    maxCommitMs: COMMIT_MS,
    signal: context.signal,
  });
  if (result.kind !== "Accepted") throw result.error;
  const time = rfc3339(shared.clock.now());
  return { endpointID: result.value.id, submission: { id, specHash, attempt, state: "Accepted", time } };
}

/** Throws when the API key changed since `session`: the journal names the key that the create is sent with. */
function assertSameKey({ key, endpoints }: AccountHandle, session: KeySession): void {
  if (endpoints.observed.session() === session) return;
  throw new Error(`the API key of ${key} changed before the create was sent: nothing is sent, and it is tried again`);
}

/**
 * How long this process has known of creates whose outcome is unknown. The time of the intent does not tell: the request
 * may have been sent much later, and by a process with another clock.
 */
export type UnknownCreates = {
  /** Milliseconds since the first call for this entry without an endpoint ID; 0 at that call, or without such an entry. */
  ageMs(uid: string, entry: JournalEntry | undefined): number;
};

export function createUnknownCreates(clock: Clock): UnknownCreates {
  const firstSeen = new Map<string, { id: string; at: number }>();
  return {
    ageMs(uid, entry) {
      if (entry === undefined || entry.outcome?.endpointID !== undefined) {
        firstSeen.delete(uid);
        return 0;
      }
      const known = firstSeen.get(uid);
      if (known?.id === entry.id) return clock.monotonic() - known.at;
      firstSeen.set(uid, { id: entry.id, at: clock.monotonic() });
      return 0;
    },
  };
}

/**
 * Finds the objects whose first create a lost journal may have had. Such a create shows no intent in the status
 * (`isFoundByAppName`). It is looked up when the object is older than its shard of the journal.
 */
export type LostCreates = {
  /** Whether a create that this journal does not have may have been sent for the object. */
  mayHave(endpoint: GpuEndpoint): boolean;
  /** The object has no endpoint, and from now on the journal has each of its creates. */
  ruleOut(endpoint: GpuEndpoint): void;
  forget(key: string): void;
};

export function createLostCreates({
  accounts,
  journalCompleteSince,
}: Pick<ControllerDeps, "accounts" | "journalCompleteSince">): LostCreates {
  /** UIDs by key. */
  const ruledOut = new Map<string, string>();

  return {
    mayHave(endpoint) {
      const { metadata } = endpoint;
      if (!isFoundByAppName(endpoint) || ruledOut.get(keyOf(endpoint)) === metadata.uid) return false;
      const account = accounts.keyOf(accountOfResources(endpoint), metadata.namespace);
      if (account === undefined) return false;
      return Date.parse(metadata.creationTimestamp) <= journalCompleteSince(account, metadata.uid);
    },
    ruleOut: (endpoint) => void ruledOut.set(keyOf(endpoint), endpoint.metadata.uid),
    forget: (key) => void ruledOut.delete(key),
  };
}

/**
 * Whether the endpoint of a create is found without the journal: it is the object's first one, and its app name has a hash of the
 * object's UID. Before any other create, the status shows the intent. It also does before the first one when this process has not
 * proven that the object is current (`CurrentState`).
 */
export function isFoundByAppName(endpoint: GpuEndpoint): boolean {
  const { endpointID, submission } = endpoint.status ?? {};
  return hasGeneratedAppName(endpoint) && endpointID === undefined && submission === undefined;
}
