import type { Logger } from "pino";
import { type Clock, delay } from "../base/clock.ts";
import { findObject, type KubeClient } from "../kube/client.ts";
import { isAlreadyExists, isConflict, isNotFound, KubeError } from "../kube/errors.ts";
import type { KubeObject } from "../kube/types.ts";
import { backoffDelay } from "../runtime/backoff.ts";
import { createEntryIndex, type EntryIndex } from "./entry-index.ts";
import { createGroupCommit } from "./group-commit.ts";
import { configMapResource, FencedError, type Intent, type JournalEntry, type ShardIdentity } from "./journal.ts";
import { epochOf, formatEntries, type JournalData, parseEntries } from "./journal-data.ts";

/** One ConfigMap of the journal: an epoch, its holder, and intents in flight (journal.ts has the contract). */
export type JournalShard = {
  /** Increments the epoch and reads the entries that the previous leader left. */
  open(signal: AbortSignal): Promise<void>;
  epoch(): number;
  /** @throws Error before `open` */
  identity(): ShardIdentity;
  /** Whether the ConfigMap has the mark (`mark`). One that `open` creates has it. */
  isMarked(): boolean;
  /** Adds the mark with the next write. An earlier version of the operator removes it. */
  mark(): void;
  entries: Pick<EntryIndex, "get" | "find" | "of" | "all" | "size">;
  /** @throws FencedError | the signal's reason; in both cases the intent is not in the shard */
  commit(intent: Intent, signal: AbortSignal): Promise<void>;
  /** Adds or replaces an entry, in etcd with the next write. */
  put(entry: JournalEntry): void;
  /** Whether it had the entry. */
  settle(id: string): boolean;
  /** Writes all entries now. @throws FencedError | the signal's reason */
  flush(signal: AbortSignal): Promise<void>;
  /** Writes all pending changes. */
  close(signal: AbortSignal): Promise<void>;
};

/** The ConfigMap of a shard. */
type Place = { namespace: string; name: string };

export type JournalShardOptions = Place & {
  isHead: boolean;
  client: KubeClient;
  identity: string;
  clock: Clock;
  random: () => number;
  log: Logger;
  /** Called after each write. */
  onWrite: () => void;
  /** Called once when another leader has taken over. */
  onFenced: (error: FencedError) => void;
};

type JournalMap = KubeObject & { data?: JournalData };

/** The API server refuses ConfigMaps of more than 1 MiB, etcd objects of more than 1.5 MiB. */
const MAX_BYTES = 900_000;
/** A shard that cannot be taken over ends the start. Each start takes over all of them, so one lost request does not. */
const MAX_OPEN_ATTEMPTS = 5;
const BACKOFF = { baseMs: 50, capMs: 5_000, jitter: 0.5 };

/**
 * What a shard writes for longer, in bytes per ms, up to `MAX_PAUSE_MS`. The head has the intents of most installations alone and
 * few at a time, so it may write more often.
 */
const PACE = { head: { bytesPerMs: 300, minPauseMs: 0 }, other: { bytesPerMs: 20, minPauseMs: 250 } };
const MAX_PAUSE_MS = 2_000;

/** On the head when every process that has led since it was set reads all shards. An earlier version's write removes it. */
const MARK = { "mooring.dev/journal": "sharded" };

export function createJournalShard(options: JournalShardOptions): JournalShard {
  const { client, clock, log, identity } = options;
  const place: Place = { namespace: options.namespace, name: options.name };
  const pace = options.isHead ? PACE.head : PACE.other;
  const entries = createEntryIndex();
  let epoch = 0;
  let stored: Version | undefined;
  let createdAt = Number.NEGATIVE_INFINITY;
  let fenced: FencedError | undefined;
  let marked = false;
  let writtenBytes = 0;

  function body(): JournalMap {
    const formatted = formatEntries(entries.all());
    writtenBytes = sizeOf(formatted);
    if (writtenBytes > MAX_BYTES) throw tooLarge(place, entries.size(), writtenBytes);
    return mapOf(place, { version: stored, marked }, { epoch: String(epoch), holder: identity, ...formatted });
  }

  /** Reads the entries and increments the epoch. */
  async function take(signal: AbortSignal): Promise<void> {
    const found = await findObject<JournalMap>(client, configMapResource, place, { signal });
    for (const entry of parseEntries(found?.data ?? {})) entries.set(entry);
    epoch = epochOf(found?.data) + 1;
    stored = found && versionOf(found);
    marked = found === undefined || isMarked(found);
    const written = await store(client, place, body(), signal);
    stored = versionOf(written);
    createdAt = Date.parse(written.metadata.creationTimestamp ?? "") || createdAt;
  }

  /** Repeats a write until it is confirmed, another leader has the shard, or the signal aborts. */
  async function write(signal: AbortSignal): Promise<void> {
    let changed = false;
    for (let failures = 1; ; failures++) {
      try {
        if (changed) await reread(signal);
        changed = false;
        stored = versionOf(await store(client, place, body(), signal));
        options.onWrite();
        return;
      } catch (error) {
        if (signal.aborted || !(error instanceof KubeError)) throw error;
        changed ||= isConflict(error) || isNotFound(error);
        log.warn({ failures, journal: place.name, reason: String(error) }, "journal write failed; trying again");
        await delay(clock, backoffDelay(failures, { ...BACKOFF, random: options.random }), signal);
        signal.throwIfAborted();
      }
    }
  }

  /** After a conflict: reads whether the shard is still ours (a lost response, an edited annotation) or another leader's. */
  async function reread(signal: AbortSignal): Promise<void> {
    const found = await findObject<JournalMap>(client, configMapResource, place, { signal });
    if (found?.metadata.uid !== stored?.uid) {
      throw fence("the ConfigMap was deleted, and it may have been created again: it is another journal");
    }
    const epochFound = epochOf(found?.data);
    if (found === undefined || epochFound !== epoch || found.data?.holder !== identity) {
      const holder = found?.data?.holder ?? "an unknown holder";
      throw fence(`epoch ${epochFound} of ${holder} has replaced our epoch ${epoch}`);
    }
    stored = versionOf(found);
  }

  function fence(reason: string): FencedError {
    fenced = new FencedError(`journal ${place.namespace}/${place.name}: ${reason}`);
    options.onFenced(fenced);
    return fenced;
  }

  const group = createGroupCommit({
    clock,
    write,
    writable: () => epoch > 0 && fenced === undefined,
    pauseMs: () => Math.min(MAX_PAUSE_MS, Math.max(pace.minPauseMs, writtenBytes / pace.bytesPerMs)),
  });

  return {
    epoch: () => epoch,
    identity() {
      if (stored === undefined) throw new Error(`journal ${place.namespace}/${place.name} is not open`);
      return { id: stored.uid, createdAt };
    },
    isMarked: () => marked,
    mark() {
      marked = true;
      group.writeLater();
    },
    entries,
    async open(signal) {
      for (let failures = 0; ; ) {
        try {
          return await take(signal);
        } catch (error) {
          entries.clear(); // another process can write in between: its entries count
          if (isConflict(error) || isAlreadyExists(error)) continue;
          failures++;
          if (signal.aborted || !isTransient(error) || failures === MAX_OPEN_ATTEMPTS) throw error;
          await delay(clock, backoffDelay(failures, { ...BACKOFF, random: options.random }), signal);
        }
      }
    },
    async commit(intent, signal) {
      if (fenced !== undefined) throw fenced;
      signal.throwIfAborted();
      entries.set(intent);
      try {
        await group.commit(signal);
      } catch (error) {
        entries.delete(intent.id); // never sent
        group.writeLater();
        throw error;
      }
    },
    put(entry) {
      entries.set(entry);
      group.writeLater();
    },
    settle(id) {
      const existed = entries.delete(id);
      if (existed) group.writeLater();
      return existed;
    },
    flush: (signal) => group.commit(signal),
    close: (signal) => group.close(signal),
  };
}

/** Creates the ConfigMap, or updates the version that the body names. */
function store(client: KubeClient, place: Place, body: JournalMap, signal: AbortSignal): Promise<JournalMap> {
  return body.metadata.resourceVersion === undefined
    ? client.create<JournalMap>(configMapResource, { namespace: place.namespace }, body, { signal })
    : client.update<JournalMap>(configMapResource, place, body, { signal });
}

type Version = { uid: string; resourceVersion: string };

function versionOf({ metadata: { uid = "", resourceVersion = "" } }: JournalMap): Version {
  return { uid, resourceVersion };
}

function isTransient(error: unknown): boolean {
  return error instanceof KubeError && (error.status === 0 || error.status === 429 || error.status >= 500);
}

function isMarked({ metadata }: JournalMap): boolean {
  return Object.entries(MARK).every(([name, value]) => metadata.annotations?.[name] === value);
}

/** With a version, the API server accepts the write only while it stores this version of this object. */
function mapOf(
  place: Place,
  { version, marked }: { version: Version | undefined; marked: boolean },
  data: JournalData,
): JournalMap {
  const labels = { "app.kubernetes.io/managed-by": "mooring", "app.kubernetes.io/component": "journal" };
  const metadata = { ...place, labels, ...(marked ? { annotations: MARK } : {}), ...version };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, spec: undefined, data };
}

function sizeOf({ accounts = "", intents = "" }: JournalData): number {
  return Buffer.byteLength(accounts) + Buffer.byteLength(intents);
}

function tooLarge({ namespace, name }: Place, count: number, bytes: number): Error {
  return new Error(
    `journal ${namespace}/${name}: ${count} unresolved intents are ${bytes} bytes, more than ${MAX_BYTES}; resolve halted jobs first`,
  );
}
