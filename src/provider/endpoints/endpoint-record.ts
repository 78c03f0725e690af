import { plainText, type Sanitizer } from "../../base/sanitizer.ts";
import { ENDPOINT_URL, TEXT, unixSeconds } from "../wire/bounds.ts";
import type { EndpointV1 } from "../wire/endpoints-v1.ts";
import type { EndpointV2 } from "../wire/endpoints-v2.ts";

export type RemoteStatus = { status: string; error: string; message: string };

/**
 * An endpoint as the service shows it, in one shape for both generations. An absent string is "", an absent list is [],
 * an absent number is undefined. Values of enumerations are the service's own words.
 *
 * Texts that only describe the endpoint are sanitized. Values that are compared with a spec are exact (name, appName, image,
 * command, envs and the like): sanitize them before they are shown.
 */
export type EndpointRecord = {
  id: string;
  /** `sync` or `async`; "" where the service does not show it. */
  type: string;
  name: string;
  appName: string;
  status: RemoteStatus;
  url: string;
  productID: string;
  workers: {
    id: string;
    status: RemoteStatus;
    log: string;
    /** undefined where the service does not show it. */
    healthy: boolean | undefined;
    draining: boolean | undefined;
  }[];
  /** How many workers run, and what each of them takes. */
  scaling: {
    min: number | undefined;
    max: number | undefined;
    idleTimeout: number | undefined;
    maxConcurrency: number | undefined;
    gpus: number | undefined;
    requestTimeout: number | undefined;
    minCudaVersion: string;
  };
  rootfsSizeGB: number | undefined;
  policy: { type: string; value: number | undefined };
  image: string;
  registryAuthID: string;
  entrypoint: string;
  command: string;
  volumes: { type: string; id: string; sizeGB: number | undefined; mountPath: string }[];
  envs: { key: string; value: string }[];
  ports: number[];
  healthCheck: { path: string; port: number | undefined };
  regionID: string;
  memberID: string;
  ownerID: string;
  /** Unix seconds; undefined where the service does not show it. */
  createdAt: number | undefined;
  /** Fields that only one of the two generations shows (`Endpoints.complete`); undefined until they are read. */
  details?: {
    /** Cluster of the network storage; "" where none is mounted. */
    clusterID: string;
    /** Every product of the endpoint; `productID` is the first. */
    products: string[];
    log: string;
    health: {
      initialDelay: number | undefined;
      period: number | undefined;
      timeout: number | undefined;
      successThreshold: number | undefined;
      failureThreshold: number | undefined;
    };
  };
};

const isNumber = (value: number | undefined): value is number => value !== undefined;

export function fromCurrent(wire: EndpointV2, sanitize: Sanitizer = plainText): EndpointRecord {
  const config = wire.worker_config;
  const status = statusWith(sanitize);
  return {
    id: wire.id,
    type: sanitize(wire.type, TEXT.word),
    name: wire.name,
    appName: wire.app_name,
    status: status(wire.status),
    url: sanitize(wire.url, ENDPOINT_URL),
    productID: sanitize(wire.product_id, TEXT.name),
    workers: wire.workers.map((worker) => ({
      id: sanitize(worker.id, TEXT.name),
      status: status(worker.status),
      log: sanitize(worker.log, ENDPOINT_URL),
      healthy: worker.health,
      draining: worker.drain,
    })),
    scaling: {
      min: config.min_replicas,
      max: config.max_replicas,
      idleTimeout: config.idle_timeout,
      maxConcurrency: config.max_concurrent_per_worker,
      gpus: config.gpu_num,
      requestTimeout: config.request_timeout,
      minCudaVersion: config.min_cuda_version,
    },
    rootfsSizeGB: config.rootfs_size_gb,
    policy: { type: wire.policy.type, value: wire.policy.value },
    image: wire.image,
    registryAuthID: wire.registry_auth_id,
    entrypoint: wire.entrypoint,
    command: wire.command,
    volumes: wire.volumes.map((volume) => ({
      type: volume.type,
      id: volume.id,
      sizeGB: volume.size,
      mountPath: volume.mount_point,
    })),
    envs: wire.envs.map(({ key, value }) => ({ key, value })),
    ports: wire.ports.filter(isNumber),
    healthCheck: { path: wire.health_check.path, port: wire.health_check.port },
    regionID: sanitize(wire.region_id, TEXT.name),
    memberID: sanitize(wire.member_id, TEXT.name),
    ownerID: sanitize(wire.owner_id, TEXT.name),
    createdAt: unixSeconds(wire.created_at),
  };
}

export function fromEarlier(wire: EndpointV1, sanitize: Sanitizer = plainText): EndpointRecord {
  const config = wire.workerConfig;
  const shown = statusWith(sanitize);
  const status = ({ state, error, message }: EndpointV1["state"]) => shown({ status: state, error, message });
  const { path, initialDelay, period, timeout, successThreshold, failureThreshold } = wire.healthy;
  return {
    id: wire.id,
    type: "",
    name: wire.name,
    appName: wire.appName,
    status: status(wire.state),
    url: sanitize(wire.url, ENDPOINT_URL),
    productID: sanitize(wire.products[0]?.id ?? "", TEXT.name),
    workers: wire.workers.map((worker) => ({
      id: sanitize(worker.id, TEXT.name),
      status: status(worker.state),
      log: sanitize(worker.log, ENDPOINT_URL),
      healthy: worker.healthy,
      draining: undefined,
    })),
    scaling: {
      min: config.minNum,
      max: config.maxNum,
      idleTimeout: config.freeTimeout,
      maxConcurrency: config.maxConcurrent,
      gpus: config.gpuNum,
      requestTimeout: config.requestTimeout,
      minCudaVersion: config.cudaVersion,
    },
    rootfsSizeGB: wire.rootfsSize,
    policy: { type: wire.policy.type, value: wire.policy.value },
    image: wire.image.image,
    registryAuthID: wire.image.authId,
    entrypoint: "",
    command: wire.image.command,
    volumes: wire.volumeMounts.map((volume) => ({
      type: volume.type,
      id: volume.id,
      sizeGB: volume.size,
      mountPath: volume.mountPath,
    })),
    envs: wire.envs.map(({ key, value }) => ({ key, value })),
    ports: wire.ports.filter(isNumber),
    healthCheck: { path, port: undefined },
    regionID: "",
    memberID: "",
    ownerID: "",
    createdAt: undefined,
    details: {
      clusterID: wire.clusterID,
      products: wire.products.map(({ id }) => sanitize(id, TEXT.name)).filter((id) => id !== ""),
      log: sanitize(wire.log, ENDPOINT_URL),
      health: { initialDelay, period, timeout, successThreshold, failureThreshold },
    },
  };
}

/**
 * Adds to a record of the current generation what only the earlier generation shows of the same endpoint: the cluster of
 * its storage, all products, and the sizes of local volumes that a single read leaves out.
 */
export function withDetails(record: EndpointRecord, detailed: EndpointRecord): EndpointRecord {
  const sizes = new Map(detailed.volumes.map(({ type, mountPath, sizeGB }) => [`${type} ${mountPath}`, sizeGB]));
  return {
    ...record,
    volumes: record.volumes.map((volume) => ({
      ...volume,
      sizeGB: volume.sizeGB ?? sizes.get(`${volume.type} ${volume.mountPath}`),
    })),
    ...(detailed.details === undefined ? {} : { details: detailed.details }),
  };
}

/** Bytes that an element of a record takes, beside its texts. */
const ELEMENT_BYTES = 100;
const RECORD_BYTES = 500;

/** About how much memory a record takes, in bytes. */
export function weightOf({ workers, volumes, envs, ports, details, ...record }: EndpointRecord): number {
  const texts = [record.id, record.name, record.appName, record.image, record.entrypoint, record.command, record.url];
  const { status, error, message } = record.status;
  const elements = workers.length + volumes.length + envs.length + ports.length + (details?.products.length ?? 0);
  return (
    RECORD_BYTES +
    elements * ELEMENT_BYTES +
    lengthOf([...texts, record.productID, record.registryAuthID, record.healthCheck.path, status, error, message]) +
    envs.reduce((sum, { key, value }) => sum + key.length + value.length, 0) +
    volumes.reduce((sum, { id, mountPath }) => sum + id.length + mountPath.length, 0) +
    workers.reduce((sum, { log, status }) => sum + log.length + status.error.length + status.message.length, 0) +
    lengthOf(details?.products ?? []) +
    lengthOf([details?.clusterID ?? "", details?.log ?? ""])
  );
}

const lengthOf = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + text.length, 0);

function statusWith(sanitize: Sanitizer) {
  return ({ status, error, message }: RemoteStatus): RemoteStatus => ({
    status: sanitize(status, TEXT.state),
    error: sanitize(error, TEXT.error),
    message: sanitize(message, TEXT.message),
  });
}
