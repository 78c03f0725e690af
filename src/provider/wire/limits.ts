import { z } from "zod";
import { LIMIT_FIELDS, type LimitField } from "./endpoints-v1.ts";
import { isRecord, toNumber, toText } from "./lenient.ts";

/** The response of the limit operation. A limit that it does not show is absent. */
export type ReportedLimits = { [field in LimitField]?: number } & { cudaVersionList: string[] };

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
      cudaVersionList: Array.isArray(versions) ? versions.map(toText).filter(Boolean) : [],
    };
    for (const field of LIMIT_FIELDS) {
      const limit = toNumber(record[field]);
      if (limit !== undefined) limits[field] = limit;
    }
    return limits;
  });
