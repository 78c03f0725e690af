import { createHash } from "node:crypto";
import { isRecord, toText } from "../wire/lenient.ts";
import { type EndpointRecord, weightOf } from "./endpoint-record.ts";
import type { RecordShare } from "./record-budget.ts";

type KnownRecord = { digest: string; record: EndpointRecord };

/** At this many records, or bytes of them, the memory starts anew, so deleted endpoints do not fill it. */
const MOST = 50_000;
const MOST_BYTES = 32 * 1024 * 1024;

/**
 * Reads records of the endpoint list. Returns the same object again while the service shows the same bytes, so an idle
 * account's list costs one hash per record instead of a reading and a comparison.
 * @throws what `recordFrom` throws
 */
export function createEndpointReader(
  recordFrom: (endpoint: unknown) => EndpointRecord,
  fits: RecordShare,
): (endpoint: unknown) => EndpointRecord {
  const memory = new Map<string, KnownRecord>();
  /** Of all records since the memory started; a changed one counts again. */
  let bytes = 0;
  return (endpoint) => {
    const id = isRecord(endpoint) ? toText(endpoint["id"]) : "";
    const digest = createHash("sha1").update(JSON.stringify(endpoint)).digest("base64");
    const known = memory.get(id);
    if (known?.digest === digest) return known.record;
    const record = recordFrom(endpoint);
    bytes += weightOf(record);
    if (memory.size >= MOST || bytes > MOST_BYTES || !fits(bytes)) {
      memory.clear();
      bytes = weightOf(record);
      fits(bytes);
    }
    memory.set(id, { digest, record });
    return record;
  };
}
