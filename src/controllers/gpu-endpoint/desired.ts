import { createHash } from "node:crypto";
import { DEFAULT_LOCAL_VOLUME_GB, type GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { EndpointSpec, EndpointVariable } from "../../provider/types.ts";
import { hashOf } from "../hash.ts";

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

export function desiredEndpoint(endpoint: GpuEndpoint, clusterUID: string, env: ResolvedEnv[]): DesiredEndpoint {
  const { spec, metadata } = endpoint;
  return {
    name: spec.name ?? `${metadata.namespace}-${metadata.name}`.slice(0, NAME_LENGTH),
    appName: appNameOf(endpoint, clusterUID),
    products: spec.products.map((product) => product.id),
    image: spec.image,
    command: spec.command ?? "",
    registryAuthID: spec.registryAuthID ?? "",
    port: spec.port,
    workers: spec.suspend ? { ...spec.workers, min: 0, max: 0 } : spec.workers,
    policy: spec.policy,
    rootfsSizeGB: spec.rootfsSizeGB,
    volumes: (spec.volumes ?? []).map((volume) =>
      volume.type === "local" ? { ...volume, sizeGB: volume.sizeGB ?? DEFAULT_LOCAL_VOLUME_GB } : volume,
    ),
    clusterID: spec.clusterID ?? "",
    env,
    healthPath: spec.healthCheck.path,
  };
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
 * A hash of everything that an update sends: tells one desired endpoint from another. appName, products and rootfsSizeGB are
 * not part of it.
 */
export function desiredHash({ appName: _a, products: _p, rootfsSizeGB: _r, ...updatable }: DesiredEndpoint): string {
  return hashOf({ ...updatable, env: variables(updatable.env) });
}

/** A hash of everything that a create sends. */
export function requestHash({ env, ...sent }: DesiredEndpoint): string {
  return hashOf({ ...sent, env: variables(env) });
}

/** The variables of the request, without the origin of their values. */
function variables(env: readonly ResolvedEnv[]) {
  return env.map(({ name, value }) => ({ name, value }));
}
