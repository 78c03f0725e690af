import type { Logger } from "pino";
import type { Clock } from "../clock.ts";
import { isForbidden, isNotFound } from "../kube/errors.ts";
import type { Place, Resource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";
import { createPollLoop } from "../poll-loop.ts";
import type { ReadBudget } from "./read-budget.ts";
import { createReferenceLine, type Line } from "./reference-line.ts";

/** An object that another one refers to and that may not be watched (Secrets: `get` only). */
export type Reference = { resource: Resource; namespace: string; name: string };

/**
 * Notices changes of referenced objects by reading each one once an interval, however many objects refer to it. Only
 * its resource version is kept.
 *
 * Guarantees: no more reads begin than the budget allows, so the interval grows with the number of referenced objects. Namespaces take
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
  /** How long ago that referenced object was read which has not been read for the longest time, ms. 0 without any. */
  oldestReadMs(): number;
};

export type ReferencePollerOptions = {
  client: { get(resource: Resource, place: Place, options: { signal: AbortSignal }): Promise<KubeObject> };
  clock: Clock;
  /** The shortest time between two reads of an object, ms. */
  intervalMs: number;
  budget: ReadBudget;
  log: Logger;
  /** A referenced object has appeared, changed or gone. */
  onChange: (key: string) => void;
};

type Followed = {
  id: string;
  reference: Reference;
  dependants: Set<string>;
  /** Of the dependants, those that cannot continue before the object changes. */
  waiting: Set<string>;
  version: string | undefined;
  /** Monotonic ms of the last read; before the first one, when it was referred to first. */
  readAt: number;
};

const ABSENT = "absent";
/** Reads at once: polling must never be what loads the API server. */
const CONCURRENCY = 4;

export function createReferencePoller(options: ReferencePollerOptions): ReferencePoller {
  const { client, clock, log, budget } = options;
  const followed = new Map<string, Followed>();
  const referencesOf = new Map<string, Set<string>>();
  const line = createReferenceLine<Followed>(clock);

  const lineOf = ({ version, waiting }: Followed): Line =>
    version === ABSENT || waiting.size > 0 ? "First" : "Others";

  function untrack(key: string): void {
    for (const id of referencesOf.get(key) ?? []) {
      const one = followed.get(id);
      one?.dependants.delete(key);
      one?.waiting.delete(key);
      if (one?.dependants.size !== 0) continue;
      followed.delete(id);
      line.remove(id);
    }
    referencesOf.delete(key);
  }

  function follow(id: string, reference: Reference): Followed {
    const known = followed.get(id);
    if (known !== undefined) return known;
    const readAt = clock.monotonic();
    const one = {
      id,
      reference,
      dependants: new Set<string>(),
      waiting: new Set<string>(),
      version: undefined,
      readAt,
    };
    followed.set(id, one);
    line.add(one, readAt);
    return one;
  }

  async function pollOne(one: Followed, signal: AbortSignal): Promise<void> {
    const { resource, namespace, name } = one.reference;
    let version: string;
    try {
      const object = await client.get(resource, { namespace, name }, { signal });
      version = `${object.metadata.uid}/${object.metadata.resourceVersion}`;
    } catch (error) {
      if (signal.aborted) return;
      if (!isNotFound(error) && !isForbidden(error)) {
        log.debug({ resource: resource.plural, namespace, name, reason: String(error) }, "reference not read");
        return;
      }
      version = ABSENT;
    }
    one.readAt = clock.monotonic();
    // The first sight counts as a change: it may be newer than what the dependant read before.
    const changed = one.version !== version;
    one.version = version;
    if (changed) for (const key of one.dependants) options.onChange(key);
  }

  /** Reads the object in its turn. It is due again an interval later. */
  async function pollInTurn(one: Followed, signal: AbortSignal): Promise<void> {
    await budget.turn(signal);
    if (signal.aborted || followed.get(one.id) !== one) return;
    await pollOne(one, signal);
    if (followed.get(one.id) === one) line.add(one, clock.monotonic() + options.intervalMs);
  }

  const loop = createPollLoop({
    clock,
    stopReason: "the operator is stopping",
    dueInMs: () => line.dueInMs(lineOf),
    async poll(signal) {
      await Promise.all(line.take(CONCURRENCY).map((one) => pollInTurn(one, signal)));
    },
  });

  return {
    track(key, references, { waits = false } = {}) {
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
        line.move(id, lineOf(one));
      }
    },
    forget: untrack,
    size: () => followed.size,
    oldestReadMs() {
      let oldest = clock.monotonic();
      for (const { readAt } of followed.values()) oldest = Math.min(oldest, readAt);
      return clock.monotonic() - oldest;
    },
    start: loop.start,
    stop: loop.stop,
  };
}
