import type { EndpointV1 } from "../wire/endpoints-v1.ts";
import type { EndpointV2 } from "../wire/endpoints-v2.ts";

export type RemoteStatus = { status: string; error: string; message: string };

/**
 * An endpoint as the service shows it, in one shape for both generations. An absent string is "", an absent list is [],
 * an absent number is undefined. Values of enumerations are the service's own words.
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

export function fromCurrent(wire: EndpointV2): EndpointRecord {
  const config = wire.worker_config;
  return {
    id: wire.id,
    type: wire.type,
    name: wire.name,
    appName: wire.app_name,
    status: pickStatus(wire.status),
    url: wire.url,
    productID: wire.product_id,
    workers: wire.workers.map((worker) => ({
      id: worker.id,
      status: pickStatus(worker.status),
      log: worker.log,
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
    regionID: wire.region_id,
    memberID: wire.member_id,
    ownerID: wire.owner_id,
    createdAt: wire.created_at,
  };
}

export function fromEarlier(wire: EndpointV1): EndpointRecord {
  const config = wire.workerConfig;
  const { path, initialDelay, period, timeout, successThreshold, failureThreshold } = wire.healthy;
  return {
    id: wire.id,
    type: "",
    name: wire.name,
    appName: wire.appName,
    status: stateAsStatus(wire.state),
    url: wire.url,
    productID: wire.products[0]?.id ?? "",
    workers: wire.workers.map((worker) => ({
      id: worker.id,
      status: stateAsStatus(worker.state),
      log: worker.log,
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
      products: wire.products.map(({ id }) => id).filter((id) => id !== ""),
      log: wire.log,
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

function pickStatus({ status, error, message }: RemoteStatus): RemoteStatus {
  return { status, error, message };
}

function stateAsStatus(state: { state: string; error: string; message: string }): RemoteStatus {
  return { status: state.state, error: state.error, message: state.message };
}
