import { createHash } from "node:crypto";
import { isRecord } from "../../base/own-value.ts";
import { toText } from "../wire/lenient.ts";
import type { EndpointRecord } from "./endpoint-record.ts";

/** Of the bytes that a record was read from. */
const digests = new WeakMap<EndpointRecord, string>();

/**
 * Reads a record of the endpoint list. Returns the `known` record again while the service shows the same bytes, so an idle account's
 * list costs one hash per record instead of a reading and a comparison.
 * @throws what `recordFrom` throws
 */
export function readEndpoint(
  endpoint: unknown,
  recordFrom: (endpoint: unknown) => EndpointRecord,
  known: (id: string) => EndpointRecord | undefined = () => undefined,
): EndpointRecord {
  const before = known(isRecord(endpoint) ? toText(endpoint["id"]) : "");
  const digest = createHash("sha1").update(JSON.stringify(endpoint)).digest("base64");
  if (before !== undefined && digests.get(before) === digest) return before;
  const record = recordFrom(endpoint);
  digests.set(record, digest);
  return record;
}
