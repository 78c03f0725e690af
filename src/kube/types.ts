/** The shapes of the Kubernetes API that every object shares (apimachinery meta/v1), their keys and versions. */

export type OwnerReference = {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
};

export type ObjectMeta = {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  finalizers?: string[];
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  managedFields?: unknown[];
};

/** metav1.Condition: `lastTransitionTime` moves only when `status` moves. */
export type Condition = {
  type: string;
  status: "True" | "False" | "Unknown";
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number;
};

export type KubeObject<Spec = unknown, Status = unknown> = {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec: Spec;
  status?: Status;
};

/** Metadata of an object that the API server has stored: a manifest may lack these fields, a stored object has them. */
export type StoredMeta = ObjectMeta & {
  uid: string;
  resourceVersion: string;
  /** RFC 3339. */
  creationTimestamp: string;
  generation: number;
};

/** A stored object of a namespaced kind. */
export type NamespacedObject<Spec = unknown, Status = unknown> = KubeObject<Spec, Status> & {
  metadata: StoredMeta & { namespace: string };
};

/** A stored object of a cluster-scoped kind. */
export type ClusterObject<Spec = unknown, Status = unknown> = KubeObject<Spec, Status> & { metadata: StoredMeta };

export type ObjectList<T> = {
  metadata: { resourceVersion?: string; continue?: string; remainingItemCount?: number };
  items: T[];
};

/** One line of a watch stream. An ERROR event carries a `KubeStatus`. */
export type WatchEvent<T> =
  | { type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK"; object: T }
  | { type: "ERROR"; object: KubeStatus };

/** metav1.Status: what the API server answers instead of an object. */
export type KubeStatus = {
  kind?: "Status";
  status?: string;
  code?: number;
  reason?: string;
  message?: string;
  details?: { retryAfterSeconds?: number; causes?: { reason?: string; message?: string; field?: string }[] };
};

/** `namespace/name`, or `name` for a cluster-scoped object. */
export function keyOf({ metadata: { namespace, name } }: Pick<KubeObject, "metadata">): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

export function splitKey(key: string): { namespace: string | undefined; name: string } {
  const slash = key.indexOf("/");
  return slash < 0
    ? { namespace: undefined, name: key }
    : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/**
 * Resource versions of one kind are ordered integers (Kubernetes 1.35, "comparable resource versions"). One that is no integer is
 * neither later nor earlier.
 */
export function isLaterVersion(a = "0", b = "0"): boolean {
  if (!isVersion(a) || !isVersion(b)) return false;
  return a.length === b.length ? a > b : a.length > b.length;
}

/** Compared as text: no version has a leading zero. */
const isVersion = (version: string) => /^(0|[1-9]\d*)$/.test(version);

/** 0 without a version; undefined for one that is no integer. */
export function versionNumber(version = "0"): bigint | undefined {
  return isVersion(version) ? BigInt(version) : undefined;
}
