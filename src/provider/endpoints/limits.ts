import { plainText } from "../../base/sanitizer.ts";
import { limitOf, TEXT } from "../wire/bounds.ts";
import { firstValues, toFields, toNumber, toText, UnusableError } from "../wire/lenient.ts";

/**
 * The account's endpoint parameter limits (interface: Endpoint parameter limits): by field of `EndpointSpec`, how the service's name of
 * the range ends. `workers` counts for min and max, and a policy's value has a range per type.
 */
const RANGES = {
  workers: "WorkerNum",
  "workers.idleTimeoutSeconds": "FreeTimeout",
  "workers.maxConcurrency": "ConcurrencyNum",
  "workers.gpus": "GPUNum",
  "workers.requestTimeoutSeconds": "RequestTimeout",
  "policy.queue": "QueueWaitTime",
  "policy.concurrency": "RequestNum",
  rootfsSizeGB: "RootfsSize",
  "volumes.sizeGB": "LocalVolumeSize",
} as const;
export type LimitName = keyof typeof RANGES;

type LimitField = `${"min" | "max"}${(typeof RANGES)[LimitName]}` | "freeRootfsSize" | "freeLocalVolumeSize";
export const LIMIT_FIELDS: readonly LimitField[] = [
  ...Object.values(RANGES).flatMap((range) => [`min${range}`, `max${range}`] as const),
  "freeRootfsSize",
  "freeLocalVolumeSize",
];

/** The response of the limit operation, as the service names the limits. One that it does not show is absent. */
export type EndpointLimits = { [field in LimitField]?: number } & { cudaVersionList: string[] };

/** The smallest and the largest value that the account allows; undefined: the service does not show it. */
export function rangeOf(limits: EndpointLimits, name: LimitName): { min: number | undefined; max: number | undefined } {
  return { min: limits[`min${RANGES[name]}`], max: limits[`max${RANGES[name]}`] };
}

/** Most versions that a status lists. */
const CUDA_VERSIONS = 100;

/** @throws UnusableError for a response without a single limit: it is not the limits record */
export function endpointLimits(value: unknown): EndpointLimits {
  const record = toFields(value);
  if (LIMIT_FIELDS.every((field) => toNumber(record[field]) === undefined)) {
    throw new UnusableError("", "shows none of the endpoint parameter limits");
  }
  const versions = firstValues(record["cudaVersionList"], CUDA_VERSIONS);
  const limits: EndpointLimits = {
    cudaVersionList: versions.map((version) => plainText(toText(version), TEXT.word)).filter((text) => text !== ""),
  };
  for (const field of LIMIT_FIELDS) {
    const limit = limitOf(toNumber(record[field]));
    if (limit !== undefined) limits[field] = limit;
  }
  return limits;
}
