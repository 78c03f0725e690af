import { createHash } from "node:crypto";
import * as z from "zod";
import { isRecord, toText } from "../wire/lenient.ts";
import { type EndpointRecord, weightOf } from "./endpoint-record.ts";
import type { RecordShare } from "./record-budget.ts";

type KnownRecord = { digest: string; record: EndpointRecord };

/** At this many records, or bytes of them, the memory starts anew, so deleted endpoints do not fill it. */
const MOST = 50_000;
const MOST_BYTES = 32 * 1024 * 1024;

/**
 * Parses records of the endpoint list. Returns the same object again while the service shows the same bytes, so an idle
 * account's list costs one hash per record instead of a parse and a comparison.
 */
export function createEndpointReader<S extends z.ZodType>(
  wire: S,
  recordFrom: (endpoint: z.output<S>) => EndpointRecord,
  fits: RecordShare,
): z.ZodType<EndpointRecord> {
  const memory = new Map<string, KnownRecord>();
  /** Of all records since the memory started; a changed one counts again. */
  let bytes = 0;
  return z.unknown().transform((raw, context) => {
    const id = isRecord(raw) ? toText(raw["id"]) : "";
    const digest = createHash("sha1").update(JSON.stringify(raw)).digest("base64");
    const known = memory.get(id);
    if (known?.digest === digest) return known.record;
    const parsed = wire.safeParse(raw);
    if (!parsed.success) {
      for (const { message, path } of parsed.error.issues) {
        context.addIssue({ code: "custom", message, path: [...path], input: raw });
      }
      return z.NEVER;
    }
    const record = recordFrom(parsed.data);
    bytes += weightOf(record);
    if (memory.size >= MOST || bytes > MOST_BYTES || !fits(bytes)) {
      memory.clear();
      bytes = weightOf(record);
      fits(bytes);
    }
    memory.set(id, { digest, record });
    return record;
  });
}
