import { ANNOTATIONS } from "../api/v1alpha1/meta.ts";
import { isSameJSON } from "../base/same-json.ts";
import { type KubeObject, keyOf } from "../kube/types.ts";
import { UnwantedRequestError } from "../submission/record.ts";
import type { AccountHandle } from "./account/registry.ts";
import type { ControllerDeps, Kind } from "./controller-deps.ts";

type WantedBy<T extends KubeObject> = {
  kind: Pick<Kind<T>, "store" | "resource">;
  /** The object that the request was decided on. */
  object: T;
  account: Pick<AccountHandle, "key" | "isOutdated">;
};

/**
 * The last check of every request that changes something at the service. It runs right before the first byte: the request can have
 * waited for the rate limit or for a connection for minutes. What users decide is compared: another spec, a pause, a deletion, another
 * deletion policy or another account spec than those that the request was decided on.
 * @throws UnwantedRequestError
 */
export function assertWanted<T extends KubeObject>(
  { accounts }: Pick<ControllerDeps, "accounts">,
  { kind: { store, resource }, object, account }: WantedBy<T>,
): void {
  const stored = store.get(keyOf(object));
  const unwanted = (why: string) =>
    new UnwantedRequestError(`${resource.kind} ${keyOf(object)} ${why} before its request was sent: nothing is sent`);
  if (stored === undefined) throw unwanted("was deleted");
  if (!isSameJSON(decisionsOf(stored), decisionsOf(object))) throw unwanted("was deleted, paused or changed");
  const handle = accounts.get(account.key)?.handle;
  if (account.isOutdated() || (handle !== undefined && handle !== account))
    throw unwanted(`lost its account ${account.key}, which changed`);
}

function decisionsOf({ metadata }: KubeObject): unknown {
  const { uid, generation, deletionTimestamp, annotations } = metadata;
  return {
    uid,
    generation,
    deletionTimestamp,
    paused: annotations?.[ANNOTATIONS.paused] === "true",
    deletionPolicy: annotations?.[ANNOTATIONS.deletionPolicy],
  };
}

/**
 * The last check of every request that costs or creates something: it is wanted, no restore of etcd holds the object, and this
 * process surely serves the account.
 * @throws UnwantedRequestError | Error
 */
export function assertMaySubmit<T extends KubeObject>(
  shared: Pick<ControllerDeps, "accounts" | "servers" | "heldByRestore">,
  wanted: WantedBy<T>,
): void {
  assertWanted(shared, wanted);
  const restored = shared.heldByRestore(wanted.object);
  if (restored !== undefined) throw new UnwantedRequestError(restored);
  shared.servers.assertConfirmed(wanted.account.key);
}
