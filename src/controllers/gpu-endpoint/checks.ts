import { DEFAULT_LOCAL_VOLUME_GB } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { LimitField } from "../../provider/wire/endpoints-v1.ts";
import type { EndpointLimits } from "../../provider/wire/limits.ts";
import type { DesiredEndpoint } from "./desired.ts";

type RangeRule = {
  field: string;
  value: number;
  min: LimitField;
  max: LimitField;
};

/**
 * What of the endpoint lies outside the account's limits (interface: Endpoint parameter limits), one sentence a field;
 * empty when all is well or a limit is not known. Zero workers are always allowed for a suspended endpoint, and what an
 * update does not send is not held against it.
 */
export function outOfRange(
  desired: DesiredEndpoint,
  limits: EndpointLimits,
  suspended: boolean,
  operation: "create" | "update",
): string[] {
  const { workers, policy } = desired;
  const rules: RangeRule[] = [
    {
      field: "workers.idleTimeoutSeconds",
      value: workers.idleTimeoutSeconds,
      min: "minFreeTimeout",
      max: "maxFreeTimeout",
    },
    {
      field: "workers.maxConcurrency",
      value: workers.maxConcurrency,
      min: "minConcurrencyNum",
      max: "maxConcurrencyNum",
    },
    { field: "workers.gpus", value: workers.gpus, min: "minGPUNum", max: "maxGPUNum" },
    {
      field: "workers.requestTimeoutSeconds",
      value: workers.requestTimeoutSeconds,
      min: "minRequestTimeout",
      max: "maxRequestTimeout",
    },
    policy.type === "queue"
      ? { field: "policy.value", value: policy.value, min: "minQueueWaitTime", max: "maxQueueWaitTime" }
      : { field: "policy.value", value: policy.value, min: "minRequestNum", max: "maxRequestNum" },
  ];
  if (operation === "create") {
    rules.push({ field: "rootfsSizeGB", value: desired.rootfsSizeGB, min: "minRootfsSize", max: "maxRootfsSize" });
  }
  if (!suspended) {
    rules.unshift(
      { field: "workers.min", value: workers.min, min: "minWorkerNum", max: "maxWorkerNum" },
      { field: "workers.max", value: workers.max, min: "minWorkerNum", max: "maxWorkerNum" },
    );
  }
  for (const [index, volume] of desired.volumes.entries()) {
    if (volume.type !== "local") continue;
    rules.push({
      field: `volumes[${index}].sizeGB`,
      value: volume.sizeGB ?? DEFAULT_LOCAL_VOLUME_GB,
      min: "minLocalVolumeSize",
      max: "maxLocalVolumeSize",
    });
  }
  return rules.flatMap(({ field, value, min, max }) => {
    const low = limits[min];
    const high = limits[max];
    const below = low !== undefined && value < low;
    const above = high !== undefined && value > high;
    return below || above ? [`${field} is ${value}, allowed is ${low ?? "any"} to ${high ?? "any"}`] : [];
  });
}
