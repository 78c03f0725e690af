import type { Assumptions } from "./assumptions.ts";
import { refuse } from "./refusal.ts";
import type { Parameters } from "./requests/endpoint.ts";

type Check = readonly [field: string, value: number, min: number, max: number];

/** Checks the ranges of the limit operation, the fixed sizes and the cluster of the storage. @throws Refusal */
export function checkLimits(parameters: Parameters, config: Assumptions): void {
  const { limits } = config;
  const { workerConfig: workers, policy, rootfsSize, volumeMounts } = parameters;
  const checks: Check[] = [
    ["workerConfig.minNum", workers.minNum, limits.minWorkerNum, limits.maxWorkerNum],
    ["workerConfig.maxNum", workers.maxNum, limits.minWorkerNum, limits.maxWorkerNum],
    ["workerConfig.freeTimeout", workers.freeTimeout, limits.minFreeTimeout, limits.maxFreeTimeout],
    ["workerConfig.maxConcurrent", workers.maxConcurrent, limits.minConcurrencyNum, limits.maxConcurrencyNum],
    ["workerConfig.gpuNum", workers.gpuNum, limits.minGPUNum, limits.maxGPUNum],
    ["workerConfig.requestTimeout", workers.requestTimeout, limits.minRequestTimeout, limits.maxRequestTimeout],
    policy.type === "queue"
      ? ["policy.value", policy.value, limits.minQueueWaitTime, limits.maxQueueWaitTime]
      : ["policy.value", policy.value, limits.minRequestNum, limits.maxRequestNum],
    ["rootfsSize", rootfsSize, config.rootfsSizeGB, config.rootfsSizeGB],
    ...volumeMounts
      .filter((volume) => volume.type === "local")
      .map((volume, i): Check => {
        const size = volume.size ?? config.localVolumeSizeGB;
        return [`volumeMounts[${i}].size`, size, config.localVolumeSizeGB, config.localVolumeSizeGB];
      }),
  ];
  for (const [field, value, min, max] of checks) {
    if (value < min || value > max) throw refuse.invalid(`${field} is ${value}, allowed ${min} to ${max}`);
  }
  // Assumption: the interface does not show this rule.
  if (workers.minNum > workers.maxNum) throw refuse.invalid("workerConfig.minNum is greater than workerConfig.maxNum");
  for (const volume of volumeMounts) {
    if (volume.type === "network") checkStorage(volume.id ?? "", parameters.clusterID ?? "", config);
  }
}

function checkStorage(id: string, clusterID: string, config: Assumptions): void {
  const cluster = Object.hasOwn(config.storages, id) ? config.storages[id] : undefined;
  if (cluster === undefined && config.refuseUnknownStorage)
    throw refuse.invalid(`network storage ${id} does not exist`);
  if (cluster !== undefined && cluster !== clusterID) {
    throw refuse.invalid(`clusterID is ${clusterID}, but storage ${id} is in cluster ${cluster}`);
  }
}
