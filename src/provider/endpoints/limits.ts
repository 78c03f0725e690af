import type { LimitField, ReportedLimits } from "../wire/limits.ts";

/** The smallest and the largest value that the account allows; undefined: the service does not show it. */
export type AllowedRange = { min: number | undefined; max: number | undefined };

/** Ranges by field of `EndpointSpec`; `workers` counts for min and max, and a policy's value has a range per type. */
export type LimitName =
  | "workers"
  | "workers.idleTimeoutSeconds"
  | "workers.maxConcurrency"
  | "workers.gpus"
  | "workers.requestTimeoutSeconds"
  | "policy.queue"
  | "policy.concurrency"
  | "rootfsSizeGB"
  | "volumes.sizeGB";

/** The account's endpoint parameter limits (interface: Endpoint parameter limits). */
export type EndpointLimits = {
  ranges: Readonly<Record<LimitName, AllowedRange>>;
  /** As the service names them, to be shown. */
  reported: ReportedLimits;
};

export function limitsFrom(reported: ReportedLimits): EndpointLimits {
  const range = (min: LimitField, max: LimitField): AllowedRange => ({ min: reported[min], max: reported[max] });
  return {
    reported,
    ranges: {
      workers: range("minWorkerNum", "maxWorkerNum"),
      "workers.idleTimeoutSeconds": range("minFreeTimeout", "maxFreeTimeout"),
      "workers.maxConcurrency": range("minConcurrencyNum", "maxConcurrencyNum"),
      "workers.gpus": range("minGPUNum", "maxGPUNum"),
      "workers.requestTimeoutSeconds": range("minRequestTimeout", "maxRequestTimeout"),
      "policy.queue": range("minQueueWaitTime", "maxQueueWaitTime"),
      "policy.concurrency": range("minRequestNum", "maxRequestNum"),
      rootfsSizeGB: range("minRootfsSize", "maxRootfsSize"),
      "volumes.sizeGB": range("minLocalVolumeSize", "maxLocalVolumeSize"),
    },
  };
}
