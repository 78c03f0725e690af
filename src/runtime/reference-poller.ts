import type { Logger } from "pino";
import type { Clock } from "../clock.ts";
import type { KubeClient } from "../kube/client.ts";
import { isForbidden, isNotFound } from "../kube/errors.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";
import { createPollLoop } from "../poll-loop.ts";

/** An object that another one refers to and that may not be watched (Secrets: `get` only). */
export type Reference = { resource: Resource; namespace: string; name: string };

/**
 * Notices changes of referenced objects by reading each one once an interval, however many objects refer to it. Only
 * its resource version is kept.
 */
export type ReferencePoller = {
  /** What the object of this key refers to now; replaces what it referred to before. */
  track(key: string, references: readonly Reference[]): void;
  forget(key: string): void;
  start(): void;
  stop(): Promise<void>;
  /** Referenced objects. */
  size(): number;
};

export type ReferencePollerOptions = {
  client: Pick<KubeClient, "get">;
  clock: Clock;
  intervalMs: number;
  log: Logger;
  /** A referenced object has appeared, changed or gone. */
  onChange: (key: string) => void;
};

type Followed = { reference: Reference; dependants: Set<string>; version: string | undefined };

const ABSENT = "absent";
/** Reads at once: polling must never be what loads the API server. */
const CONCURRENCY = 4;

export function createReferencePoller(options: ReferencePollerOptions): ReferencePoller {
  const { client, clock, log } = options;
  const followed = new Map<string, Followed>();
  const referencesOf = new Map<string, Set<string>>();
  let polledAt = Number.NEGATIVE_INFINITY;

  function untrack(key: string): void {
    for (const id of referencesOf.get(key) ?? []) {
      const one = followed.get(id);
      one?.dependants.delete(key);
      if (one?.dependants.size === 0) followed.delete(id);
    }
    referencesOf.delete(key);
  }

  async function pollOne(one: Followed, signal: AbortSignal): Promise<void> {
    const { resource, namespace, name } = one.reference;
    let version: string;
    try {
      const object = await client.get<KubeObject>(resource, { namespace, name }, { signal });
      version = `${object.metadata.uid}/${object.metadata.resourceVersion}`;
    } catch (error) {
      if (signal.aborted) return;
      if (!isNotFound(error) && !isForbidden(error)) {
        log.debug({ resource: resource.plural, namespace, name, reason: String(error) }, "reference not read");
        return;
      }
      version = ABSENT;
    }
    // The first sight counts as a change: it may be newer than what the dependant read before.
    const changed = one.version !== version;
    one.version = version;
    if (changed) for (const key of one.dependants) options.onChange(key);
  }

  const loop = createPollLoop({
    clock,
    stopReason: "the operator is stopping",
    dueInMs: () => polledAt + options.intervalMs - clock.monotonic(),
    async poll(signal) {
      const queue = [...followed.values()];
      const worker = async () => {
        for (let one = queue.shift(); one !== undefined && !signal.aborted; one = queue.shift()) {
          await pollOne(one, signal);
        }
      };
      await Promise.all(Array.from({ length: CONCURRENCY }, worker));
      polledAt = clock.monotonic();
    },
  });

  return {
    track(key, references) {
      const ids = new Map(references.map((one) => [`${one.resource.plural}/${one.namespace}/${one.name}`, one]));
      const before = referencesOf.get(key);
      if (before !== undefined && before.size === ids.size && [...ids.keys()].every((id) => before.has(id))) return;
      untrack(key);
      if (ids.size === 0) return;
      referencesOf.set(key, new Set(ids.keys()));
      for (const [id, reference] of ids) {
        const one = followed.get(id) ?? { reference, dependants: new Set<string>(), version: undefined };
        one.dependants.add(key);
        followed.set(id, one);
      }
    },
    forget: untrack,
    size: () => followed.size,
    start: loop.start,
    stop: loop.stop,
  };
}
