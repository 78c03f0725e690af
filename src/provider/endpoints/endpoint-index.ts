import type { Clock } from "../../base/clock.ts";
import { createMultiMap } from "../../base/multi-map.ts";
import { isSameJSON } from "../../base/same-json.ts";
import { type EndpointRecord, weightOf } from "./endpoint-record.ts";

/** Stands for one API key, compared by identity: what one key shows proves nothing about what another key can see. */
export type KeySession = symbol;

/** One list while it is read. */
export type Listing = {
  /** Takes over a record of a page that was requested at `askedAt` (monotonic ms). Returns whether it is new or changed. */
  take(record: EndpointRecord, askedAt: number): boolean;
  /** The list is complete. Returns the endpoints that are gone now, and those that it is the first to lack. */
  end(): Record<"gone" | "missing", { id: string; appName: string }[]>;
  /** The list cannot be trusted: forgets what it alone showed, so that lists without an end do not fill the memory. */
  discard(): void;
};

/** An endpoint is gone when so many complete lists in a row lack it: a list that changes while it is read proves nothing. */
const LISTS_WITHOUT = 2;
/**
 * Endpoints without a record whose absence is remembered. A service that lists other endpoints each time would fill the memory. The
 * absence of one that is forgotten is proven anew.
 */
const MOST_ABSENT = 10_000;
/** Bytes of memory of an ID whose absence is remembered, about. */
const ABSENT_BYTES = 256;

/**
 * The records of one account's endpoints, from lists and from single reads. The newer one counts. `EndpointObserver` and `EndpointSweep`
 * say what each function does.
 */
export function createEndpointIndex(clock: Clock) {
  const records = createNamedRecords();
  /** Complete lists in a row that lacked the endpoint, with the current key. No entry: the service shows it. */
  const missed = new Map<string, number>();
  let session: KeySession = Symbol("key session");
  const alone = createOwnTimes(clock);
  const state = { records, missed, alone };

  return {
    get: records.get,
    byAppName(appName: string): EndpointRecord[] {
      const found = records.named(appName);
      return [...found.filter(({ id }) => !missed.has(id)), ...found.filter(({ id }) => missed.has(id))];
    },
    all: () => [...records.values()],
    size: records.size,
    /** Bytes of memory that all of it takes, about. */
    weight: () => records.weight() + ABSENT_BYTES * missed.size,
    missing: (id: string) => (missed.get(id) ?? 0) > 0,
    gone(id: string): boolean {
      if (!records.has(id) && !missed.has(id)) missed.set(id, 0);
      return (missed.get(id) ?? 0) >= LISTS_WITHOUT;
    },
    shown: () => [...records.values()].filter(({ id }) => !missed.has(id)),
    session: () => session,
    keyChanged(): void {
      session = Symbol("key session");
      missed.clear();
      for (const id of records.ids()) missed.set(id, 0);
    },
    observe(record: EndpointRecord, requestedIn: KeySession = session): void {
      if (requestedIn !== session) return;
      alone.touch(record.id);
      missed.delete(record.id);
      records.put(record);
    },
    wrote: alone.touch,
    forget(id: string): void {
      alone.touch(id);
      records.remove(id);
    },
    notFound(id: string): void {
      alone.touch(id);
      if (!missed.has(id)) missed.set(id, 0);
      records.remove(id);
    },
    beginList: () => beginList(state),
  };
}

type IndexState = {
  records: ReturnType<typeof createNamedRecords>;
  missed: Map<string, number>;
  alone: ReturnType<typeof createOwnTimes>;
};

function beginList({ records, missed, alone }: IndexState): Listing {
  alone.listing(true);
  const seen = new Set<string>();
  const added = new Set<string>();
  const askedBefore = [...missed.keys()];
  return {
    take(record, askedAt) {
      seen.add(record.id);
      if ((alone.get(record.id) ?? Number.NEGATIVE_INFINITY) > askedAt) return false;
      if (!records.has(record.id)) added.add(record.id);
      missed.delete(record.id);
      return records.put(record);
    },
    discard() {
      for (const id of added) if (alone.get(id) === undefined) records.remove(id);
    },
    end() {
      alone.listing(false);
      const absent = [...new Set([...records.ids(), ...askedBefore])].filter((id) => !seen.has(id));
      for (const id of absent) missed.set(id, (missed.get(id) ?? 0) + 1);
      const result = {
        missing: absent
          .filter((id) => missed.get(id) === 1)
          .map((id) => ({ id, appName: records.get(id)?.appName ?? "" })),
        gone: absent.filter((id) => missed.get(id) === LISTS_WITHOUT).map(records.remove),
      };
      forgetAbsent(records, missed);
      return result;
    },
  };
}

/**
 * When endpoints were read or written on their own (monotonic ms): a page that the list requested before is outdated. A list that begins
 * later requests all pages later.
 */
function createOwnTimes(clock: Clock) {
  const times = new Map<string, number>();
  let isListing = false;
  return {
    listing(begins: boolean): void {
      isListing = begins;
      times.clear();
    },
    touch(id: string): void {
      if (isListing) times.set(id, clock.monotonic());
    },
    get: (id: string) => times.get(id),
  };
}

/** Forgets the oldest ones. */
function forgetAbsent(records: IndexState["records"], missed: IndexState["missed"]): void {
  const absent = [...missed.keys()].filter((id) => !records.has(id));
  for (const id of absent.slice(0, Math.max(0, absent.length - MOST_ABSENT))) missed.delete(id);
}

/** Records by ID and by app name. */
function createNamedRecords() {
  const records = new Map<string, EndpointRecord>();
  /** A service can accept an app name more than once. */
  const idsByAppName = createMultiMap<string>();
  /** Of all records. */
  let weight = 0;

  return {
    get: (id: string) => records.get(id),
    has: (id: string) => records.has(id),
    ids: () => records.keys(),
    values: () => records.values(),
    size: () => records.size,
    weight: () => weight,
    named: (appName: string) => [...idsByAppName.of(appName)].flatMap((id) => records.get(id) ?? []),
    /** Returns whether the record is new or changed. */
    put(record: EndpointRecord): boolean {
      const previous = records.get(record.id);
      if (previous === record) return false;
      records.set(record.id, record); // also when equal: the list returns this object until the endpoint changes
      weight += weightOf(record) - (previous === undefined ? 0 : weightOf(previous));
      if (previous !== undefined && isSameJSON(previous, record)) return false;
      if (previous !== undefined && previous.appName !== record.appName) {
        idsByAppName.remove(previous.appName, record.id);
      }
      if (record.appName !== "") idsByAppName.add(record.appName, record.id);
      return true;
    },
    remove(id: string): { id: string; appName: string } {
      const record = records.get(id);
      const appName = record?.appName ?? "";
      if (record !== undefined) weight -= weightOf(record);
      records.delete(id);
      idsByAppName.remove(appName, id);
      return { id, appName };
    },
  };
}
