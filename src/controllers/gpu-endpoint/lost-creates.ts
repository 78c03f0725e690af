import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { keyOf } from "../../runtime/store.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import { hasGeneratedAppName } from "./desired.ts";

/**
 * Finds the objects whose first create a lost journal may have had. Such a create shows no intent in the status
 * (`isFoundByAppName`). It is looked up when the object is older than the journal.
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
      const { metadata, spec, status } = endpoint;
      if (!isFoundByAppName(endpoint) || ruledOut.get(keyOf(endpoint)) === metadata.uid) return false;
      const account = accounts.keyOf(status?.account ?? spec.accountRef, metadata.namespace);
      return account !== undefined && Date.parse(metadata.creationTimestamp) <= journalCompleteSince(account);
    },
    ruleOut: (endpoint) => void ruledOut.set(keyOf(endpoint), endpoint.metadata.uid),
    forget: (key) => void ruledOut.delete(key),
  };
}

/**
 * Whether the endpoint of a create is found without the journal: it is the object's first one, and its app name has a hash of the
 * object's UID. Before any other create, the status shows the intent.
 */
export function isFoundByAppName(endpoint: GpuEndpoint): boolean {
  const { endpointID, submission } = endpoint.status ?? {};
  return hasGeneratedAppName(endpoint) && endpointID === undefined && submission === undefined;
}
