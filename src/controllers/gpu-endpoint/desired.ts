import { hash } from "node:crypto";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { ANNOTATIONS } from "../../api/v1alpha1/meta.ts";
import { type EndpointLimits, rangeOf } from "../../provider/endpoints/limits.ts";
import type { EndpointVariable } from "../../provider/types.ts";
import type { AccountHandle } from "../account/registry.ts";
import { hashOf } from "../hash.ts";
import { copyOf, type DesiredEndpoint, endpointFields } from "./fields.ts";

/** What an update sends. */
const updatableFields = endpointFields.filter(({ createOnly }) => !createOnly);

/**
 * The values that lie outside the account's limits (interface: Endpoint parameter limits), with one sentence each. A limit
 * that the service does not show allows every value. A suspended endpoint may have zero workers. The limit of a field that
 * an update does not send counts for a create only.
 */
export function outOfRange(
  desired: DesiredEndpoint,
  limits: EndpointLimits,
  suspended: boolean,
  operation: "create" | "update",
): { path: string; problem: string }[] {
  const sent = operation === "create" ? endpointFields : updatableFields;
  return sent
    .filter(({ zeroWhenSuspended }) => !suspended || !zeroWhenSuspended)
    .flatMap((field) => field.limited?.(desired) ?? [])
    .flatMap(({ path, value, limit }) => {
      const { min, max } = rangeOf(limits, limit);
      const below = min !== undefined && value < min;
      const above = max !== undefined && value > max;
      const problem = `${path} is ${value}, allowed is ${min ?? "any"} to ${max ?? "any"}`;
      return below || above ? [{ path, problem }] : [];
    });
}

const NAME_LENGTH = 220;
const APP_NAME_LENGTH = 63;
const HASH_LENGTH = 10;

/** Reconciles and indexes ask often. Every version of an object has the same spec in memory until the spec changes. */
const generatedNames = new WeakMap<GpuEndpoint["spec"], { of: string; name: string }>();

/**
 * The endpoint's identity at the remote. It depends on the object alone, so an operator without any state finds its endpoint
 * again. A DNS label of at most 63 characters.
 * @param clusterUID the UID of the namespace kube-system
 */
export function appNameOf(endpoint: GpuEndpoint, clusterUID: string): string {
  if (endpoint.spec.appName !== undefined) return endpoint.spec.appName;
  const of = `${clusterUID}/${endpoint.metadata.uid}`;
  const known = generatedNames.get(endpoint.spec);
  if (known?.of === of) return known.name;
  const digest = hash("sha256", of).slice(0, HASH_LENGTH);
  const room = APP_NAME_LENGTH - HASH_LENGTH - 1;
  const name = endpoint.metadata.name.replaceAll(".", "-").slice(0, room).replace(/-+$/, "");
  const generated = { of, name: `${name}-${digest}` };
  generatedNames.set(endpoint.spec, generated);
  return generated.name;
}

/** Whether the app name has a hash of the object's UID, so that an endpoint with it belongs to this object. */
export function hasGeneratedAppName({ spec }: GpuEndpoint): boolean {
  return spec.appName === undefined && spec.adoption === undefined;
}

/** Each row of `fields.ts` replaces its value. */
const EMPTY: DesiredEndpoint = {
  name: "",
  appName: "",
  products: [],
  image: "",
  command: "",
  registryAuthID: "",
  port: 0,
  workers: { min: 0, max: 0, idleTimeoutSeconds: 0, maxConcurrency: 0, gpus: 0, requestTimeoutSeconds: 0 },
  policy: { type: "queue", value: 0 },
  rootfsSizeGB: 0,
  volumes: [],
  clusterID: "",
  env: [],
  healthPath: "",
};

export function desiredEndpoint(endpoint: GpuEndpoint, clusterUID: string, env: EndpointVariable[]): DesiredEndpoint {
  const { spec, metadata } = endpoint;
  const name = `${metadata.namespace}-${metadata.name}`.slice(0, NAME_LENGTH);
  const source = { spec, name, appName: appNameOf(endpoint, clusterUID), env };
  const desired = copyOf(EMPTY);
  for (const field of endpointFields) field.build(desired, source);
  return desired;
}

/** The key of hashes in a status. */
export type HashKey = Pick<AccountHandle, "digest" | "keyVersion">;

/**
 * A hash of the values from Secrets and ConfigMaps: shows whether one changed since it was sent. It includes the UID, so that
 * equal values of two objects have different hashes. It begins with the version of the API key that it is made with. undefined: there
 * is no such value.
 */
export function referencesHash(
  endpoint: GpuEndpoint,
  env: readonly EndpointVariable[],
  account: HashKey,
): string | undefined {
  const values = env.filter(({ secret }) => secret).map(({ name, value }) => [name, value]);
  return values.length === 0 ? undefined : `${account.keyVersion()}:${account.digest([endpoint.metadata.uid, values])}`;
}

/**
 * Whether a hash of the status shows the present values. One that was made with another API key cannot be compared and counts as the
 * same: a new key changes no endpoint. A value that changed together with the key is drift.
 */
export function showsReferences(shown: string | undefined, present: string | undefined): boolean {
  if (shown === undefined || shown === present) return true;
  return present !== undefined && shown.split(":")[0] !== present.split(":")[0];
}

/**
 * A hash of everything that an update sends: tells one desired endpoint from another in this process. Fields that only a create sends
 * are not part of it.
 */
export function desiredHash(desired: DesiredEndpoint): string {
  return hashOf(updatableFields.map((field) => [field.path, field.sent(desired)]));
}

/** A hash of everything that a create sends. */
export function requestHash(desired: DesiredEndpoint, account: Pick<HashKey, "digest">): string {
  return account.digest(endpointFields.map((field) => [field.path, field.sent(desired)]));
}

export type DeletionPolicy = GpuEndpoint["spec"]["deletionPolicy"];

/** The value of an annotation that is not a policy: nothing is done until you correct it. */
type Unreadable = { unreadable: string };

const POLICIES: readonly string[] = ["ScaleToZero", "Retain", "Delete"] satisfies DeletionPolicy[];
const isPolicy = (value: string): value is DeletionPolicy => POLICIES.includes(value);

/** The annotation overrides the spec, so that you can release a blocked deletion. */
export function deletionPolicyOf(endpoint: GpuEndpoint): DeletionPolicy | Unreadable {
  const override = endpoint.metadata.annotations?.[ANNOTATIONS.deletionPolicy];
  if (override === undefined) return endpoint.spec.deletionPolicy;
  return isPolicy(override) ? override : { unreadable: override };
}

/** Whether deleting the object has work to do at the remote. */
export function needsFinalizer(endpoint: GpuEndpoint): boolean {
  return endpoint.spec.managementPolicy === "Full" && deletionPolicyOf(endpoint) !== "Retain";
}

/** Whether the deletion of the object leaves its remote endpoint unchanged. Such an object has no finalizer. */
export function isRetained(endpoint: GpuEndpoint): boolean {
  const { spec, status } = endpoint;
  return (
    spec.managementPolicy === "Full" && deletionPolicyOf(endpoint) === "Retain" && status?.endpointID !== undefined
  );
}
