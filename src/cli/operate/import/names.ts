import type { EndpointRecord } from "../../../provider/endpoints/endpoint-record.ts";

/** Short enough for a label, and for names that derive from it (the Secret of the environment). */
const LENGTH = 63;
const SUFFIX = 8;

type NameSource = Pick<EndpointRecord, "id" | "name" | "appName" | "createdAt">;

/**
 * A `metadata.name` for each endpoint, by id: a DNS label of at most 63 characters from its name, else its app name, else
 * its id. Of several with the same name, the oldest has it unchanged and the others end with the start of their id, so a
 * repeated import gives the same names.
 * @param reserved names that other objects have already
 */
export function objectNames(records: readonly NameSource[], reserved: Iterable<string> = []): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set(reserved);
  for (const record of [...records].sort(byAge)) {
    const name = free(record, taken);
    taken.add(name);
    names.set(record.id, name);
  }
  return names;
}

function free({ id, name, appName }: NameSource, taken: ReadonlySet<string>): string {
  const plain = label(name) || label(appName) || label(id) || "endpoint";
  if (!taken.has(plain)) return plain;
  for (const suffix of [label(id).slice(0, SUFFIX), label(id)]) {
    const longer = label(`${plain.slice(0, Math.max(1, LENGTH - 1 - suffix.length))}-${suffix}`);
    if (!taken.has(longer)) return longer;
  }
  for (let number = 2; ; number++) {
    const counted = `${label(plain.slice(0, LENGTH - SUFFIX))}-${number}`;
    if (!taken.has(counted)) return counted;
  }
}

/** The part of a text that is valid in a DNS label; "" when there is none. */
function label(text: string): string {
  return text
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replace(/^-+/, "")
    .slice(0, LENGTH)
    .replace(/-+$/, "");
}

function byAge(a: NameSource, b: NameSource): number {
  return (a.createdAt ?? 0) - (b.createdAt ?? 0) || (a.id < b.id ? -1 : 1);
}
