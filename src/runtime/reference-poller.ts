import type { Logger } from "pino";
import type { Clock } from "../base/clock.ts";
import { createLanedQueue, type Lane, type LanedQueue } from "../base/fair-queue.ts";
import { createSchedule } from "../base/schedule.ts";
import type { Pace } from "../base/token-bucket.ts";
import { isForbidden, isNotFound } from "../kube/errors.ts";
import type { Place, Resource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";

/** An object that another one refers to and that may not be watched (Secrets: `get` only). */
export type Reference = { resource: Resource; namespace: string; name: string };

/**
 * Notices changes of referenced objects by reading each one once an interval, however many objects refer to it. Only
 * its resource version is kept.
 *
 * Guarantees: no more reads begin than the pace allows, so the interval grows with the number of referenced objects. Namespaces take
 * turns. A referenced object that does not exist, or that an object waits for, is read before the others. One read in four is for the
 * others, if one of them is due.
 */
export type ReferencePoller = {
  /**
   * What the object of this key refers to now; replaces what it referred to before. `waits`: the object cannot continue before one of
   * them changes; default false.
   */
  track(key: string, references: readonly Reference[], options?: { waits?: boolean }): void;
  forget(key: string): void;
  start(): void;
  stop(): Promise<void>;
  /** Referenced objects. */
  size(): number;
  /** Age of the stalest read, ms. 0 without any. */
  oldestReadMs(): number;
};

export type ReferencePollerOptions = {
  client: { get(resource: Resource, place: Place, options: { signal: AbortSignal }): Promise<KubeObject> };
  clock: Clock;
  /** The shortest time between two reads of an object, ms. */
  intervalMs: number;
  /** Reads that may begin in a second, of all pollers that share it. */
  pace: Pace;
  log: Logger;
  /** A referenced object appeared, changed or was deleted. */
  onChange: (key: string) => void;
};

type FollowedReference = {
  id: string;
  reference: Reference;
  dependants: Set<string>;
  /** Of the dependants, those that cannot continue before the object changes. */
  waiting: Set<string>;
  version: string | undefined;
  /** Monotonic ms of the last read; before the first one, when it was referred to first. */
  readAt: number;
  /** Monotonic ms of the next read; undefined while it waits for its turn or is read. */
  dueAt: number | undefined;
};

const ABSENT = "absent";
/** One in this many reads is for objects that nothing waits for. */
const ROUTINE_EVERY = 4;
/** Concurrent reads: polling must not load the API server. */
const CONCURRENCY = 4;

export function createReferencePoller(options: ReferencePollerOptions): ReferencePoller {
  const { client, clock, log, pace } = options;
  const due = createLanedQueue<FollowedReference>(ROUTINE_EVERY, (_, { reference }) => reference.namespace);
  const { followed, track, untrack } = createReferenceIndex(clock, due);
  const schedule = createSchedule<FollowedReference>(clock, (items) => {
    for (const { item, due: at } of items) {
      // An object that is no longer followed, or has another time, leaves its old entry behind.
      if (followed.get(item.id) !== item || item.dueAt !== at) continue;
      item.dueAt = undefined;
      due.push(laneOf(item), item.id, item);
    }
    pump();
  });
  const ended = new AbortController();
  const reads = new Set<Promise<void>>();
  let started = false;

  /** Reads the object in its turn. It is due again an interval later. */
  async function pollInTurn(one: FollowedReference): Promise<void> {
    await pace.turn(ended.signal);
    if (ended.signal.aborted || followed.get(one.id) !== one) return;
    const version = await readVersion(client, one.reference, { signal: ended.signal, log });
    if (version !== undefined) {
      one.readAt = clock.monotonic();
      // The first read counts as a change: it may be newer than what the dependant read before.
      const changed = one.version !== version;
      one.version = version;
      if (changed) for (const key of one.dependants) options.onChange(key);
    }
    if (followed.get(one.id) !== one) return;
    one.dueAt = clock.monotonic() + options.intervalMs;
    schedule.add(one, one.dueAt);
  }

  function pump(): void {
    while (started && !ended.signal.aborted && reads.size < CONCURRENCY) {
      const next = due.shift();
      if (next === undefined) return;
      const read = pollInTurn(next.value).finally(() => {
        reads.delete(read);
        pump();
      });
      reads.add(read);
    }
  }

  return {
    track(key, references, { waits = false } = {}) {
      track(key, references, waits);
      pump();
    },
    forget: untrack,
    size: () => followed.size,
    oldestReadMs() {
      let oldest = clock.monotonic();
      for (const { readAt } of followed.values()) oldest = Math.min(oldest, readAt);
      return clock.monotonic() - oldest;
    },
    start() {
      started = true;
      pump();
    },
    async stop() {
      ended.abort(new Error("the operator is stopping"));
      schedule.stop();
      await Promise.all(reads);
    },
  };
}

const laneOf = ({ version, waiting }: FollowedReference): Lane =>
  version === ABSENT || waiting.size > 0 ? "urgent" : "routine";

/** Who refers to what. A reference is in `due` from the first time that an object refers to it. */
function createReferenceIndex(clock: Pick<Clock, "monotonic">, due: LanedQueue<FollowedReference>) {
  const followed = new Map<string, FollowedReference>();
  const referencesOf = new Map<string, Set<string>>();

  function untrack(key: string): void {
    for (const id of referencesOf.get(key) ?? []) {
      const one = followed.get(id);
      one?.dependants.delete(key);
      one?.waiting.delete(key);
      if (one?.dependants.size !== 0) continue;
      followed.delete(id);
      due.remove(id);
    }
    referencesOf.delete(key);
  }

  function follow(id: string, reference: Reference): FollowedReference {
    const known = followed.get(id);
    if (known !== undefined) return known;
    const own = { dependants: new Set<string>(), waiting: new Set<string>(), version: undefined, dueAt: undefined };
    const one: FollowedReference = { id, reference, readAt: clock.monotonic(), ...own };
    followed.set(id, one);
    due.push(laneOf(one), id, one);
    return one;
  }

  function track(key: string, references: readonly Reference[], waits: boolean): void {
    const ids = new Map(references.map((one) => [`${one.resource.plural}/${one.namespace}/${one.name}`, one]));
    const before = referencesOf.get(key);
    if (before === undefined || before.size !== ids.size || ![...ids.keys()].every((id) => before.has(id)))
      untrack(key);
    if (ids.size === 0) return;
    referencesOf.set(key, new Set(ids.keys()));
    for (const [id, reference] of ids) {
      const one = follow(id, reference);
      one.dependants.add(key);
      if (waits) one.waiting.add(key);
      else one.waiting.delete(key);
      due.move(laneOf(one), id);
    }
  }

  return { followed, track, untrack };
}

/** The version of an object; `ABSENT` for one that is not there or may not be read; undefined: the read failed. */
async function readVersion(
  client: ReferencePollerOptions["client"],
  { resource, namespace, name }: Reference,
  { signal, log }: { signal: AbortSignal; log: Logger },
): Promise<string | undefined> {
  try {
    const { metadata } = await client.get(resource, { namespace, name }, { signal });
    return `${metadata.uid}/${metadata.resourceVersion}`;
  } catch (error) {
    if (signal.aborted) return undefined;
    if (isNotFound(error) || isForbidden(error)) return ABSENT;
    log.debug({ resource: resource.plural, namespace, name, reason: String(error) }, "reference not read");
    return undefined;
  }
}
