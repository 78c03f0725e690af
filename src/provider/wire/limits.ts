import * as z from "zod";
import { plainText } from "../../base/sanitizer.ts";
import { limitOf, TEXT } from "./bounds.ts";
import { LIMIT_FIELDS, type LimitField } from "./endpoints-v1.ts";
import { isRecord, toNumber, toText } from "./lenient.ts";

/** The response of the limit operation. A limit that it does not show is absent. */
export type ReportedLimits = { [field in LimitField]?: number } & { cudaVersionList: string[] };

/** Most versions that a status lists. */
const CUDA_VERSIONS = 100;

function versionOf(value: unknown): string[] {
  const text = plainText(toText(value), TEXT.word);
  return text === "" ? [] : [text];
}

/** A response without a single limit is not the limits record. */
export const endpointLimits = z
  .unknown()
  .refine((value) => isRecord(value) && LIMIT_FIELDS.some((field) => toNumber(value[field]) !== undefined), {
    error: "shows none of the endpoint parameter limits",
  })
  .transform((value): ReportedLimits => {
    const record = isRecord(value) ? value : {};
    const versions = record["cudaVersionList"];
    const limits: ReportedLimits = {
      cudaVersionList: Array.isArray(versions) ? versions.slice(0, CUDA_VERSIONS).flatMap(versionOf) : [],
    };
    for (const field of LIMIT_FIELDS) {
      const limit = limitOf(toNumber(record[field]));
      if (limit !== undefined) limits[field] = limit;
    }
    return limits;
  });
