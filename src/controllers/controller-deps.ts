import type { Logger } from "pino";
import type { Clock } from "../clock.ts";
import type { KubeClient } from "../kube/client.ts";
import { mergePatchOf } from "../kube/patch.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";
import { compact } from "../runtime/informer.ts";
import type { EventRecorder } from "../runtime/recorder.ts";
import type { ReferencePoller } from "../runtime/reference-poller.ts";
import { keyOf, type Store } from "../runtime/store.ts";
import type { SpendingAdmission } from "../submission/admission.ts";
import type { Journal } from "../submission/journal.ts";
import type { AbandonedTasks } from "./account/abandoned-tasks.ts";
import type { AccountKey, AccountRegistry } from "./account/registry.ts";

/** What every controller works with. */
export type ControllerDeps = {
  kube: KubeClient;
  clock: Clock;
  random: () => number;
  log: Logger;
  journal: Journal;
  recorder: EventRecorder;
  accounts: AccountRegistry;
  /** Decides when a job may send its paid request. */
  admission: SpendingAdmission;
  /** Tasks whose job does not follow them any more. */
  abandoned: AbandonedTasks;
  /** Notices changes of the Secrets and ConfigMaps that a spec refers to. Keys: `PLURAL:NAMESPACE/NAME`. */
  references: ReferencePoller;
  /** Notices what is done to the objects that an endpoint is exported to. The same keys. */
  exports: ReferencePoller;
  /** UID of the namespace kube-system: tells clusters apart that share an account. */
  clusterUID: string;
  /** Throws unless this installation surely holds the account. Called right before a paid request is sent. */
  assertClaimed: (account: AccountKey) => void;
  /** Since when the journal has every request for the account, ms since the epoch; `-Infinity` when it has all of them. */
  journalCompleteSince: (account: AccountKey) => number;
  /** Throws unless this process surely leads. Called right before whatever must not be sent twice. */
  assertLeading: () => void;
};

export type Kind<T extends KubeObject> = { resource: Resource; store: Store<T> };

/**
 * Writes the status as a merge patch with the object's resourceVersion as the lock; nothing is sent when nothing
 * changed. The store has the answer before this resolves.
 * @throws KubeError 409 when the object changed meanwhile: reconcile again
 */
export async function patchStatus<T extends KubeObject>(
  shared: Pick<ControllerDeps, "kube">,
  kind: Kind<T>,
  object: T,
  status: T["status"],
  signal: AbortSignal,
): Promise<T> {
  const patch = mergePatchOf(record(object.status), record(status) ?? {});
  if (patch === undefined) return object;
  const { name, namespace, resourceVersion } = object.metadata;
  return written(
    kind,
    await shared.kube.mergePatch<T>(
      kind.resource,
      { namespace, name, subresource: "status" },
      { metadata: { resourceVersion }, status: patch },
      { signal },
    ),
  );
}

/** Throws unless the API server has stored the ID of the journal: a CRD of an earlier version drops the field. */
export function assertJournalStored(
  { resource }: Pick<Kind<KubeObject>, "resource">,
  field: "status.submission.journal" | "status.journal",
  stored: string | undefined,
  journal: string,
): void {
  if (stored === journal) return;
  throw new Error(
    `the CustomResourceDefinition of ${resource.kind} does not store ${field}, so nothing is sent: upgrade the CRDs to the version of the operator`,
  );
}

/** Throws when the object was deleted (or made anew) meanwhile. Called right before a request goes out for it. */
export function assertPresent<T extends KubeObject>({ store, resource }: Kind<T>, object: T): void {
  const stored = store.get(keyOf(object));
  if (stored?.metadata.uid === object.metadata.uid && stored?.metadata.deletionTimestamp === undefined) return;
  throw new Error(`${resource.kind} ${keyOf(object)} was deleted before its request was sent: nothing is sent`);
}

/** Adds or removes a finalizer. Returns the object as it is then. */
export async function setFinalizer<T extends KubeObject>(
  shared: Pick<ControllerDeps, "kube">,
  kind: Kind<T>,
  object: T,
  finalizer: string,
  wanted: boolean,
  signal: AbortSignal,
): Promise<T> {
  const { name, namespace, resourceVersion, finalizers = [] } = object.metadata;
  if (finalizers.includes(finalizer) === wanted) return object;
  const next = wanted ? [...finalizers, finalizer] : finalizers.filter((one) => one !== finalizer);
  return written(
    kind,
    await shared.kube.mergePatch<T>(
      kind.resource,
      { namespace, name },
      { metadata: { resourceVersion, finalizers: next } },
      { signal },
    ),
  );
}

function written<T extends KubeObject>(kind: Kind<T>, object: T): T {
  compact(object);
  kind.store.observeWrite(object);
  return object;
}

function record(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
}
