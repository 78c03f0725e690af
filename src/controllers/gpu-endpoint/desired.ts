import { createHash } from "node:crypto";
import {
  DEFAULT_LOCAL_VOLUME_GB,
  type EndpointVolume,
  type GpuEndpoint,
  type GpuEndpointSpec,
} from "../../api/v1alpha1/gpu-endpoint.ts";
import { hashOf } from "../hash.ts";

/** A variable as it is sent. `secret`: it came from a Secret or a ConfigMap, and is never shown. */
export type ResolvedEnv = { name: string; value: string; secret: boolean };

/** The spec with its references resolved and its defaults filled in: what the remote is to be. */
export type DesiredEndpoint = {
  name: string;
  appName: string;
  products: string[];
  image: string;
  command: string;
  registryAuthID: string;
  port: number;
  workers: GpuEndpointSpec["workers"];
  policy: GpuEndpointSpec["policy"];
  rootfsSizeGB: number;
  volumes: EndpointVolume[];
  clusterID: string;
  env: ResolvedEnv[];
  healthPath: string;
};

const NAME_LENGTH = 220;
const APP_NAME_LENGTH = 63;
const HASH_LENGTH = 10;

/**
 * The endpoint's identity at the remote: a function of the object alone, so that an operator that has forgotten
 * everything finds its endpoint again. At most 63 characters, a DNS label.
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
    volumes: spec.volumes ?? [],
    clusterID: spec.clusterID ?? "",
    env,
    healthPath: spec.healthCheck.path,
  };
}

/**
 * Tells whether a value from a Secret or a ConfigMap changed since it was sent, without keeping it: with the UID in it, equal
 * values of two objects do not look equal. undefined when there is no such value.
 */
export function referencesHash(endpoint: GpuEndpoint, env: readonly ResolvedEnv[]): string | undefined {
  const values = env.filter(({ secret }) => secret).map(({ name, value }) => [name, value]);
  return values.length === 0 ? undefined : hashOf([endpoint.metadata.uid, values]);
}

/** The parameters of create and update share a shape (interface: both operations). */
function parameters(desired: DesiredEndpoint) {
  const { workers } = desired;
  return {
    name: desired.name,
    workerConfig: {
      minNum: workers.min,
      maxNum: workers.max,
      freeTimeout: workers.idleTimeoutSeconds,
      maxConcurrent: workers.maxConcurrency,
      gpuNum: workers.gpus,
      requestTimeout: workers.requestTimeoutSeconds,
    },
    ports: [{ port: String(desired.port) }],
    policy: { type: desired.policy.type, value: desired.policy.value },
    image: {
      image: desired.image,
      ...(desired.registryAuthID === "" ? {} : { authId: desired.registryAuthID }),
      ...(desired.command === "" ? {} : { command: desired.command }),
    },
    volumeMounts: desired.volumes.map((volume) =>
      volume.type === "network"
        ? { type: volume.type, id: volume.id, mountPath: volume.mountPath }
        : { type: volume.type, size: volume.sizeGB ?? DEFAULT_LOCAL_VOLUME_GB, mountPath: volume.mountPath },
    ),
    ...(desired.clusterID === "" ? {} : { clusterID: desired.clusterID }),
    envs: desired.env.map(({ name, value }) => ({ key: name, value })),
    healthy: { path: desired.healthPath },
  };
}

export function createBody(desired: DesiredEndpoint) {
  return {
    ...parameters(desired),
    appName: desired.appName,
    products: desired.products.map((id) => ({ id })),
    rootfsSize: desired.rootfsSizeGB,
  };
}

/** Built from the spec alone: an update replaces every parameter (interface: "All parameters must be passed in full"). */
export function updateBody(endpointID: string, desired: DesiredEndpoint) {
  return { id: endpointID, ...parameters(desired) };
}
