import { z } from "zod";
import { LIMIT_FIELDS, type LimitField } from "./endpoints-v1.ts";
import { isRecord, toNumber, toText } from "./lenient.ts";

/** What the limit operation answers; a range that it does not show is absent and not checked. */
export type EndpointLimits = { [field in LimitField]?: number } & { cudaVersionList: string[] };

/** At least one range must be shown: an answer with none of them is not the limits record. */
export const endpointLimits = z
  .unknown()
  .refine((value) => isRecord(value) && LIMIT_FIELDS.some((field) => toNumber(value[field]) !== undefined), {
    error: "shows none of the endpoint parameter limits",
  })
  .transform((value): EndpointLimits => {
    const record = isRecord(value) ? value : {};
    const versions = record["cudaVersionList"];
    const limits: EndpointLimits = {
      cudaVersionList: Array.isArray(versions) ? versions.map(toText).filter(Boolean) : [],
    };
    for (const field of LIMIT_FIELDS) {
      const limit = toNumber(record[field]);
      if (limit !== undefined) limits[field] = limit;
    }
    return limits;
  });
