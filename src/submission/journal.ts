import type { Logger } from "pino";
import { type Clock, delay } from "../clock.ts";
import type { KubeClient } from "../kube/client.ts";
import { isAlreadyExists, isConflict, isNotFound, KubeError } from "../kube/errors.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";
import { backoffDelay } from "../runtime/backoff.ts";

export const configMapResource: Resource = {
  group: "",
  version: "v1",
  plural: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
};

/** What is about to be sent, written down before it is. */
export type Intent = {
  /** Unique per submission. */
  id: string;
  kind: string;
  /** `namespace/name`, for a person who reads the journal. */
  key: string;
  uid: string;
  operation: string;
  attempt: number;
  specHash: string;
  /** RFC 3339. */
  time: string;
};

/** An intent, with what is known of it. Without an outcome, nobody knows whether it was sent. */
export type JournalEntry = Intent & { outcome?: Record<string, string> };

/** A later leader has written a higher epoch: this process must not send anything any more. */
export class FencedError extends Error {
  override readonly name = "FencedError";
}

/**
 * The submission journal: one ConfigMap that holds an epoch and the intents in flight.
 *
 * Guarantees: `commit` resolves only when the intent is in etcd under this process's epoch; after another process has
 * opened the journal, every `commit` here fails with FencedError. Commits are grouped: one write at a time, what
 * arrived meanwhile goes into the next, and settled entries leave with it.
 */
export type Journal = {
  /** Bumps the epoch and returns the entries that the previous leader left. */
  open(signal: AbortSignal): Promise<JournalEntry[]>;
  epoch(): number;
  /** @throws FencedError | the signal's reason; in both cases the intent was not and will not be sent */
  commit(intent: Intent, signal: AbortSignal): Promise<void>;
  /** Keeps the outcome until it is settled, in memory at once and in etcd with the next write. */
  record(id: string, outcome: Record<string, string>): void;
  /** The outcome stands in the object's status (or nothing was sent): the entry may go. */
  settle(id: string): void;
  find(uid: string): JournalEntry | undefined;
  entries(): JournalEntry[];
  /** Writes what is still to be written; call before the process ends. */
  close(signal: AbortSignal): Promise<void>;
};

type JournalMap = KubeObject & { data?: Record<string, string> };

export type JournalOptions = {
  client: KubeClient;
  namespace: string;
  name: string;
  identity: string;
  clock: Clock;
  random: () => number;
  log: Logger;
  onCommit?: (entries: number) => void;
  /** Called once when another leader has taken over. */
  onFenced?: (error: FencedError) => void;
};

/** Commits that arrive within this time share a write; a create's latency hardly notices it. */
const GATHER_MS = 15;
/** Settled entries wait this long for a write to leave with. */
const SWEEP_MS = 2_000;
/** etcd refuses objects of 1.5 MiB, the API server ConfigMaps of 1 MiB. */
const MAX_BYTES = 900_000;
const BACKOFF = { baseMs: 50, capMs: 5_000, jitter: 0.5 };

export function createJournal(options: JournalOptions): Journal {
  const { client, clock, log } = options;
  const place = { namespace: options.namespace, name: options.name };
  const live = new Map<string, JournalEntry>();
  let epoch = 0;
  let resourceVersion: string | undefined;
  let fenced: FencedError | undefined;
  let dirty = false;
  let writing: Promise<void> | undefined;
  let waiters: { resolve: () => void; reject: (error: unknown) => void }[] = [];
  let cancelSweep: (() => void) | undefined;
  const ending = new AbortController();

  function body(): JournalMap {
    const entries = JSON.stringify([...live.values()]);
    if (entries.length > MAX_BYTES) {
      throw new Error(
        `journal ${place.namespace}/${place.name}: ${live.size} unresolved intents are ${entries.length} bytes, more than ${MAX_BYTES}; resolve halted jobs first`,
      );
    }
    return {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        ...place,
        labels: { "app.kubernetes.io/managed-by": "mooring" },
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      },
      spec: undefined,
      data: { epoch: String(epoch), holder: options.identity, intents: entries },
    };
  }

  /** One write that surely stands, whatever the network does meanwhile. */
  async function write(signal: AbortSignal): Promise<void> {
    for (let failures = 0; ; ) {
      try {
        const written = await client.update<JournalMap>(configMapResource, place, body(), { signal });
        resourceVersion = written.metadata.resourceVersion;
        options.onCommit?.(live.size);
        return;
      } catch (error) {
        if (signal.aborted) throw error;
        if (isConflict(error) || isNotFound(error)) await reread(signal);
        else if (!(error instanceof KubeError)) throw error;
        failures++;
        log.warn({ failures, reason: String(error) }, "journal write failed; trying again");
        await delay(clock, backoffDelay(failures, { ...BACKOFF, random: options.random }), signal);
        signal.throwIfAborted();
      }
    }
  }

  /** After a lost lock: ours still (a lost answer, a person's annotation), or another leader's? */
  async function reread(signal: AbortSignal): Promise<void> {
    const stored = await read(signal);
    const storedEpoch = Number(stored?.data?.epoch ?? 0);
    if (stored === undefined || storedEpoch !== epoch || stored.data?.holder !== options.identity) {
      fenced = new FencedError(
        `journal ${place.namespace}/${place.name}: epoch ${storedEpoch} of ${stored?.data?.holder ?? "nobody"} has replaced our epoch ${epoch}`,
      );
      options.onFenced?.(fenced);
      throw fenced;
    }
    resourceVersion = stored.metadata.resourceVersion;
  }

  async function read(signal: AbortSignal): Promise<JournalMap | undefined> {
    try {
      return await client.get<JournalMap>(configMapResource, place, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  function schedule(): void {
    dirty = true;
    cancelSweep?.();
    cancelSweep = undefined;
    writing ??= run().finally(() => {
      writing = undefined;
    });
  }

  async function run(): Promise<void> {
    while (dirty) {
      await delay(clock, GATHER_MS, ending.signal);
      dirty = false;
      const group = waiters;
      waiters = [];
      try {
        await write(ending.signal);
        for (const waiter of group) waiter.resolve();
      } catch (error) {
        for (const waiter of group) waiter.reject(error);
        if (fenced === undefined && !ending.signal.aborted) continue;
        for (const waiter of waiters.splice(0)) waiter.reject(error); // what came meanwhile has no later write to wait for
        return;
      }
    }
  }

  /** Leaves with the next commit; with a write of its own only when none comes. */
  function sweepLater(): void {
    cancelSweep ??= clock.setTimeout(() => {
      cancelSweep = undefined;
      if (epoch > 0 && fenced === undefined) schedule();
    }, SWEEP_MS);
  }

  return {
    epoch: () => epoch,
    find: (uid) => [...live.values()].find((entry) => entry.uid === uid),
    entries: () => [...live.values()],
    async open(signal) {
      for (;;) {
        const stored = await read(signal);
        for (const entry of parseEntries(stored?.data?.intents)) live.set(entry.id, entry);
        epoch = Number(stored?.data?.epoch ?? 0) + 1;
        resourceVersion = stored?.metadata.resourceVersion;
        try {
          const written =
            stored === undefined
              ? await client.create<JournalMap>(configMapResource, { namespace: place.namespace }, body(), { signal })
              : await client.update<JournalMap>(configMapResource, place, body(), { signal });
          resourceVersion = written.metadata.resourceVersion;
          return [...live.values()];
        } catch (error) {
          if (!isConflict(error) && !isAlreadyExists(error)) throw error;
          live.clear(); // someone else wrote meanwhile: what they left counts, not what we read
        }
      }
    },
    async commit(intent, signal) {
      if (fenced !== undefined) throw fenced;
      signal.throwIfAborted();
      live.set(intent.id, intent);
      const written = Promise.withResolvers<void>();
      const abort = () => written.reject(signal.reason);
      signal.addEventListener("abort", abort, { once: true });
      try {
        waiters.push(written);
        schedule();
        await written.promise;
      } catch (error) {
        live.delete(intent.id); // never sent
        sweepLater();
        throw error;
      } finally {
        signal.removeEventListener("abort", abort); // the signal may live as long as the process
      }
    },
    record(id, outcome) {
      const entry = live.get(id);
      if (entry === undefined) return;
      live.set(id, { ...entry, outcome });
      sweepLater();
    },
    settle(id) {
      if (live.delete(id)) sweepLater();
    },
    async close(signal) {
      cancelSweep?.();
      const giveUp = () => ending.abort(signal.reason);
      signal.addEventListener("abort", giveUp, { once: true });
      await writing; // it tries for as long as it is let
      signal.removeEventListener("abort", giveUp);
      if (epoch > 0 && fenced === undefined) await write(signal);
      ending.abort(new Error("the journal is closed"));
    },
  };
}

function parseEntries(text: string | undefined): JournalEntry[] {
  if (text === undefined) return [];
  return JSON.parse(text) as JournalEntry[];
}
