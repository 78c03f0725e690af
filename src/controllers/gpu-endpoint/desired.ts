import { createHash } from "node:crypto";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { EndpointSpec, EndpointVariable } from "../../provider/types.ts";
import { hashOf } from "../hash.ts";
import { endpointFields } from "./fields.ts";

/** A variable with its value. `secret`: the value comes from a Secret or a ConfigMap and is never shown. */
export type ResolvedEnv = EndpointVariable;

/** The spec with its references resolved and its defaults set. */
export type DesiredEndpoint = EndpointSpec;

const NAME_LENGTH = 220;
const APP_NAME_LENGTH = 63;
const HASH_LENGTH = 10;

/**
 * The endpoint's identity at the remote. It depends on the object alone, so an operator without any state finds its endpoint
 * again. A DNS label of at most 63 characters.
 * @param clusterUID the UID of the namespace kube-system
 */
export function appNameOf(endpoint: GpuEndpoint, clusterUID: string): string {
  if (endpoint.spec.appName !== undefined) return endpoint.spec.appName;
  const hash = createHash("sha256")
    .update(`${clusterUID}/${endpoint.metadata.uid}`)
    .digest("hex")
    .slice(0, HASH_LENGTH);
  const room = APP_NAME_LENGTH - HASH_LENGTH - 1;
  const name = endpoint.metadata.name.replaceAll(".", "-").slice(0, room).replace(/-+$/, "");
  return `${name}-${hash}`;
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

export function desiredEndpoint(endpoint: GpuEndpoint, clusterUID: string, env: ResolvedEnv[]): DesiredEndpoint {
  const { spec, metadata } = endpoint;
  const name = `${metadata.namespace}-${metadata.name}`.slice(0, NAME_LENGTH);
  const source = { spec, name, appName: appNameOf(endpoint, clusterUID), env };
  return endpointFields.reduce((desired, field) => field.build(desired, source), EMPTY);
}

/**
 * A hash of the values from Secrets and ConfigMaps: shows whether one changed since it was sent. It includes the UID, so that
 * equal values of two objects have different hashes. undefined: there is no such value.
 */
export function referencesHash(endpoint: GpuEndpoint, env: readonly ResolvedEnv[]): string | undefined {
  const values = env.filter(({ secret }) => secret).map(({ name, value }) => [name, value]);
  return values.length === 0 ? undefined : hashOf([endpoint.metadata.uid, values]);
}

/**
 * A hash of everything that an update sends: tells one desired endpoint from another. Fields that only a create sends are not
 * part of it.
 */
export function desiredHash(desired: DesiredEndpoint): string {
  const updatable = endpointFields.filter((field) => field.updatable);
  return hashOf(updatable.map((field) => [field.path, field.sent(desired)]));
}

/** A hash of everything that a create sends. */
export function requestHash(desired: DesiredEndpoint): string {
  return hashOf(endpointFields.map((field) => [field.path, field.sent(desired)]));
}
