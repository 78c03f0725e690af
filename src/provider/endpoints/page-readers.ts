import * as z from "zod";
import type { Sanitizer } from "../../base/sanitizer.ts";
import { PAGE_RECORDS } from "../wire/bounds.ts";
import { endpointPageOfV1, endpointV1 } from "../wire/endpoints-v1.ts";
import { endpointPageOf, endpointV2 } from "../wire/endpoints-v2.ts";
import { createEndpointReader } from "./endpoint-memory.ts";
import { type EndpointRecord, fromCurrent, fromEarlier } from "./endpoint-record.ts";
import type { AccountRecords } from "./record-budget.ts";

/** How the pages of both generations of the endpoint list are read. Each has a memory of its own. */
export function createPageReaders(sanitize: Sanitizer, records: AccountRecords) {
  const record = z.custom<EndpointRecord>();
  const usable = (endpoint: EndpointRecord, context: z.RefinementCtx) => {
    if (!sanitize.quotesSecret(endpoint.id)) return;
    context.addIssue({ code: "custom", path: ["id"], message: "quotes the API key", input: undefined });
  };
  const current = createEndpointReader(endpointV2, (wire) => fromCurrent(wire, sanitize), records.share());
  const earlier = createEndpointReader(endpointV1, (wire) => fromEarlier(wire, sanitize), records.share());
  return {
    current: {
      answer: endpointPageOf(record),
      page: { list: "data", record: current.superRefine(usable), most: PAGE_RECORDS },
    },
    earlier: {
      answer: endpointPageOfV1(record),
      page: { list: "endpoints", record: earlier.superRefine(usable), most: PAGE_RECORDS },
    },
  };
}
