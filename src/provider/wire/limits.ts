import { plainText } from "../../base/sanitizer.ts";
import { limitOf, TEXT } from "./bounds.ts";
import { firstValues, toFields, toNumber, toText, UnusableError } from "./lenient.ts";

/** The parameter limits that are integers, in the service's spelling (interface: Endpoint parameter limits). */
export const LIMIT_FIELDS = [
  "minRootfsSize",
  "maxRootfsSize",
  "freeRootfsSize",
  "minLocalVolumeSize",
  "maxLocalVolumeSize",
  "freeLocalVolumeSize",
  "minWorkerNum",
  "maxWorkerNum",
  "minFreeTimeout",
  "maxFreeTimeout",
  "minConcurrencyNum",
  "maxConcurrencyNum",
  "minQueueWaitTime",
  "maxQueueWaitTime",
  "minRequestNum",
  "maxRequestNum",
  "minGPUNum",
  "maxGPUNum",
  "minRequestTimeout",
  "maxRequestTimeout",
] as const;
export type LimitField = (typeof LIMIT_FIELDS)[number];

/** The response of the limit operation. A limit that it does not show is absent. */
export type ReportedLimits = { [field in LimitField]?: number } & { cudaVersionList: string[] };

/** Most versions that a status lists. */
const CUDA_VERSIONS = 100;

/** @throws UnusableError for a response without a single limit: it is not the limits record */
export function endpointLimits(value: unknown): ReportedLimits {
  const record = toFields(value);
  if (LIMIT_FIELDS.every((field) => toNumber(record[field]) === undefined)) {
    throw new UnusableError("", "shows none of the endpoint parameter limits");
  }
  const versions = firstValues(record["cudaVersionList"], CUDA_VERSIONS);
  const limits: ReportedLimits = {
    cudaVersionList: versions.map((version) => plainText(toText(version), TEXT.word)).filter((text) => text !== ""),
  };
  for (const field of LIMIT_FIELDS) {
    const limit = limitOf(toNumber(record[field]));
    if (limit !== undefined) limits[field] = limit;
  }
  return limits;
}
