import type { Assumptions } from "./assumptions.ts";
import type { SimulatedGeneration, StoredEndpoint } from "./endpoints.ts";

/** Interface: running and ready in the current generation, serving and running in the earlier one. */
const WORDS = {
  current: { endpoint: "running", worker: "ready" },
  earlier: { endpoint: "serving", worker: "running" },
} as const;

function endpointStatus(endpoint: StoredEndpoint, config: Assumptions, now: number, generation: SimulatedGeneration) {
  if (endpoint.status !== undefined) return endpoint.status;
  const plain = (status: string) => ({ status, error: "", message: "" });
  const { maxNum } = endpoint.parameters.workerConfig;
  if (maxNum === 0 && config.zeroWorkersStatus !== null) return plain(config.zeroWorkersStatus);
  return plain(now >= endpoint.servesAtMs ? WORDS[generation].endpoint : config.bootStatus);
}

/** The URL, if it shows by now. */
function urlOf({ url, servesAtMs }: StoredEndpoint, { showsURL }: Assumptions, now: number): string {
  return showsURL === "FromCreation" || now >= servesAtMs ? url : "";
}

/** Returns values in the order in which they come back. */
function ordered<T>(values: readonly T[], textOf: (value: T) => string, { valueOrder }: Assumptions): T[] {
  switch (valueOrder) {
    case "AsSent":
      return [...values];
    case "Sorted":
      return values.toSorted((a, b) => (textOf(a) < textOf(b) ? -1 : 1));
    case "Reversed":
      return values.toReversed();
  }
}

/** Returns an endpoint in the current generation. Only lists show the size of local volumes. */
export function viewCurrent(endpoint: StoredEndpoint, config: Assumptions, now: number, inList: boolean) {
  const { parameters } = endpoint;
  const { workerConfig } = parameters;
  const timeouts = config.timeoutUnit === "Seconds" ? 1 : 1000;
  return {
    id: endpoint.id,
    type: "sync",
    name: parameters.name ?? "",
    app_name: parameters.appName,
    status: endpointStatus(endpoint, config, now, "current"),
    url: urlOf(endpoint, config, now),
    product_id: parameters.products[0]?.id ?? "",
    worker_config: {
      max_replicas: workerConfig.maxNum,
      min_replicas: workerConfig.minNum,
      idle_timeout: workerConfig.freeTimeout * timeouts,
      max_concurrent_per_worker: workerConfig.maxConcurrent,
      gpu_num: workerConfig.gpuNum,
      rootfs_size_gb: parameters.rootfsSize,
      min_cuda_version: "12.4",
      request_timeout: workerConfig.requestTimeout * timeouts,
    },
    policy: parameters.policy,
    image: parameters.image.image,
    registry_auth_id: parameters.image.authId ?? "",
    entrypoint: "",
    command: parameters.image.command ?? "",
    volumes: ordered(parameters.volumeMounts, ({ mountPath }) => mountPath, config).map((volume, i) => ({
      id: volume.id ?? `local-${endpoint.id}-${i}`,
      type: volume.type,
      ...(inList && volume.type === "local" ? { size: volume.size ?? config.localVolumeSizeGB } : {}),
      mount_point: volume.mountPath,
    })),
    envs: ordered(parameters.envs ?? [], ({ key }) => key, config),
    ports: parameters.ports.map(({ port }) => Number(port)),
    workers: endpoint.workers.map((worker) => {
      const ready = now >= worker.readyAtMs;
      return {
        id: worker.id,
        status: { status: ready ? WORDS.current.worker : config.bootStatus, error: "", message: "" },
        log: `/logs/${worker.id}`,
        health: ready,
        drain: false,
      };
    }),
    health_check: { path: parameters.healthy.path, port: Number(parameters.ports[0]?.port ?? 0) },
    region_id: endpoint.regionID,
    member_id: endpoint.memberID,
    owner_id: endpoint.ownerID,
    created_at: Math.floor(endpoint.createdAtMs / (config.createdAtUnit === "Seconds" ? 1000 : 1)),
  };
}

/** Returns an endpoint in the earlier generation. A port is a string in the list and an integer in the detail. */
export function viewEarlier(endpoint: StoredEndpoint, config: Assumptions, now: number, inList: boolean) {
  const { parameters } = endpoint;
  const { workerConfig } = parameters;
  const { status, error, message } = endpointStatus(endpoint, config, now, "earlier");
  return {
    id: endpoint.id,
    name: parameters.name ?? "",
    appName: parameters.appName,
    state: { state: status, ...(error === "" ? {} : { error, message }) },
    url: urlOf(endpoint, config, now),
    workerConfig: {
      minNum: workerConfig.minNum,
      maxNum: workerConfig.maxNum,
      freeTimeout: String(workerConfig.freeTimeout),
      maxConcurrent: String(workerConfig.maxConcurrent),
      gpuNum: workerConfig.gpuNum,
      requestTimeout: workerConfig.requestTimeout,
      cudaVersion: "12.4",
    },
    policy: { type: parameters.policy.type, value: String(parameters.policy.value) },
    image: {
      image: parameters.image.image,
      authId: parameters.image.authId ?? "",
      command: parameters.image.command ?? "",
    },
    rootfsSize: parameters.rootfsSize,
    volumeMounts: ordered(parameters.volumeMounts, ({ mountPath }) => mountPath, config).map((volume) => ({
      type: volume.type,
      ...(volume.type === "network" ? { id: volume.id } : { size: volume.size ?? config.localVolumeSizeGB }),
      mountPath: volume.mountPath,
    })),
    envs: ordered(parameters.envs ?? [], ({ key }) => key, config),
    ports: parameters.ports.map(({ port }) => ({ port: inList ? port : Number(port) })),
    workers: endpoint.workers.map((worker) => {
      const ready = now >= worker.readyAtMs;
      return {
        id: worker.id,
        state: { state: ready ? WORDS.earlier.worker : config.bootStatus },
        log: `/logs/${worker.id}`,
        metrics: `/metrics/${worker.id}`,
        healthy: ready,
      };
    }),
    products: parameters.products,
    healthy: {
      path: parameters.healthy.path,
      initialDelay: 10,
      period: 10,
      timeout: 5,
      successThreshold: 1,
      failureThreshold: 3,
    },
    ...(parameters.volumeMounts.some((volume) => volume.type === "network") ? { clusterID: parameters.clusterID } : {}),
    log: `/logs/${endpoint.id}`,
  };
}
