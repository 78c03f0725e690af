import type { Logger } from "pino";
import { FINALIZER } from "../api/v1alpha1/meta.ts";
import type { Clock } from "../base/clock.ts";
import type { KubeClient } from "../kube/client.ts";
import { mergePatchOf } from "../kube/patch.ts";
import { apiVersionOf, type Resource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";
import type { ObjectReader } from "../runtime/object-reader.ts";
import type { EventRecorder } from "../runtime/recorder.ts";
import type { ReferencePoller } from "../runtime/reference-poller.ts";
import { isPartial, isShortened } from "../runtime/shortened.ts";
import { compact, type Store } from "../runtime/store.ts";
import type { SpendingAdmission } from "../submission/admission.ts";
import type { AbandonedTasks, TaskOwners } from "./account/abandoned-tasks.ts";
import type { AccountKey, AccountRegistry } from "./account/registry.ts";
import type { CostEstimates } from "./billing/estimates.ts";
import type { UsageLedger } from "./billing/ledger.ts";
import type { UsageRecorder } from "./billing/recorder.ts";
import type { ShareCosts } from "./billing/share-costs.ts";

/** What every controller works with. */
export type ControllerDeps = {
  kube: KubeClient;
  clock: Clock;
  random: () => number;
  /** Makes the ID of a paid request: a UUID that no process makes a second time. */
  newID: () => string;
  log: Logger;
  /** This process, as the sender of its requests: `NAMESPACE/LEASE`. No other process has it. */
  identity: string;
  /** Whether the process that sent a request has ended, so that no response to it is written any more. */
  hasSenderEnded: (sender: string) => boolean;
  /** Reads single objects, for what a store that lags must not decide. */
  reader: ObjectReader;
  recorder: EventRecorder;
  accounts: AccountRegistry;
  /** Decides when a job may send its paid request. */
  admission: SpendingAdmission;
  /** Tasks whose job does not follow them any more. */
  abandoned: AbandonedTasks;
  /** Which object has a remote task. */
  taskOwners: TaskOwners;
  /** Writes down what endpoints and jobs consume. */
  usage: UsageRecorder;
  /** What they consumed. */
  ledger: Pick<UsageLedger, "read">;
  /** What the current month costs by namespace and object. */
  estimates: CostEstimates;
  /** What the current day and month cost the namespaces of accounts with shares. */
  shareCosts: ShareCosts;
  /** Notices changes of the Secrets and ConfigMaps that a spec refers to. Keys: `PLURAL:NAMESPACE/NAME`. */
  references: ReferencePoller;
  /** Notices what is done to the objects that an endpoint is exported to. The same keys. */
  exports: ReferencePoller;
  /** UID of the namespace kube-system: tells clusters apart that share an account. */
  clusterUID: string;
  /** Which accounts this process serves (account/servers.ts). Asked right before a request is sent. */
  servers: {
    confirm(account: AccountKey, signal: AbortSignal): Promise<void>;
    assertConfirmed(account: AccountKey): void;
    assertServing(account: AccountKey): void;
  };
  /**
   * Why no request that creates or costs something may be sent for the object: etcd was restored, and the object is older. Undefined: it
   * may be sent. Called when a request is planned, and right before it is sent.
   */
  heldByRestore: (object: Pick<KubeObject, "metadata">) => string | undefined;
};

/**
 * The objects of one kind. The store has the response to a write before the write resolves. Each write has the object's
 * resourceVersion as the lock.
 */
export type Kind<T extends KubeObject> = {
  resource: Resource;
  store: Store<T>;
  /**
   * Replaces the status; nothing is sent when nothing changed. The API server has less work with it than with a merge patch, which is
   * what an object that is stored in part gets.
   * @throws KubeError 409 when the object changed meanwhile: reconcile again
   */
  patchStatus(object: T, status: T["status"], signal: AbortSignal): Promise<T>;
  /**
   * Adds or removes the finalizer, and sets annotations in the same write; nothing is sent when nothing changes.
   * @throws KubeError 409 when the object changed meanwhile: reconcile again
   */
  setFinalizer(object: T, wanted: boolean, signal: AbortSignal, annotations?: Record<string, string>): Promise<T>;
};

export function createKind<T extends KubeObject>(
  kube: Pick<KubeClient, "mergePatch" | "update">,
  { resource, store }: Pick<Kind<T>, "resource" | "store">,
): Kind<T> {
  /** Stores the response to a write. Returns the whole object, unless the caller had it shortened. */
  function taken(object: T, written: T): T {
    compact(written);
    const kept = store.observeWrite(written);
    return isShortened(object) ? kept : written;
  }

  return {
    resource,
    store,
    async patchStatus(object, wanted, signal) {
      const status = record(wanted) ?? {};
      const patch = mergePatchOf(record(object.status), status);
      if (patch === undefined) return object;
      const { name, namespace, resourceVersion } = object.metadata;
      const metadata = { name, resourceVersion };
      const place = { namespace, name, subresource: "status" };
      if (isPartial(object)) {
        return taken(object, await kube.mergePatch<T>(resource, place, { metadata, status: patch }, { signal }));
      }
      const body = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata, status };
      return taken(object, await kube.update<T>(resource, place, body, { signal }));
    },
    async setFinalizer(object, wanted, signal, annotations) {
      const { name, namespace, resourceVersion, finalizers: present = [] } = object.metadata;
      const isSet = present.includes(FINALIZER) === wanted;
      if (isSet && annotations === undefined) return object;
      const finalizers = wanted ? [...present, FINALIZER] : present.filter((one) => one !== FINALIZER);
      const metadata = { resourceVersion, ...(isSet ? {} : { finalizers }), ...(annotations && { annotations }) };
      return taken(object, await kube.mergePatch<T>(resource, { namespace, name }, { metadata }, { signal }));
    },
  };
}

function record(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
}
