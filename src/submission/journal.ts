import type { Logger } from "pino";
import { type Clock, delay } from "../clock.ts";
import { findObject, type KubeClient } from "../kube/client.ts";
import { isAlreadyExists, isConflict, isNotFound, KubeError } from "../kube/errors.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";
import { backoffDelay } from "../runtime/backoff.ts";
import { createGroupCommit } from "./group-commit.ts";

export const configMapResource: Resource = {
  group: "",
  version: "v1",
  plural: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
};

/** The account that a request is sent to, as the status of its object shows it. */
export type IntentAccount = { kind: "Account" | "ClusterAccount"; name: string; baseURL: string };

/** A request that is about to be sent. */
export type Intent = {
  /** Unique per submission. */
  id: string;
  kind: string;
  /** `namespace/name`. */
  key: string;
  uid: string;
  operation: string;
  attempt: number;
  specHash: string;
  account: IntentAccount;
  /** RFC 3339. */
  time: string;
};

/**
 * An intent and its outcome. Without an outcome it is unknown whether the request was sent. `restored`: the journal did not
 * have the intent, and the status of the object shows it (intents.ts). An entry of an earlier version has no account.
 */
export type JournalEntry = Omit<Intent, "account"> & {
  account?: IntentAccount | undefined;
  outcome?: Record<string, string>;
  restored?: true;
};

/** Another leader has written a higher epoch: this process must not send anything any more. */
export class FencedError extends Error {
  override readonly name = "FencedError";
}

/**
 * The submission journal: one ConfigMap that holds an epoch and the intents in flight.
 *
 * # Guarantees
 * - `commit` resolves only when the intent is in etcd under this process's epoch.
 * - After another process has opened the journal, every `commit` of this process fails with FencedError.
 * - A ConfigMap that is deleted and created again is another journal: it has another ID, and every `commit` of this process
 *   fails with FencedError.
 *
 * Commits are grouped (group-commit.ts), and settled entries leave with the next write.
 */
export type Journal = {
  /** Increments the epoch and returns the entries that the previous leader left. */
  open(signal: AbortSignal): Promise<JournalEntry[]>;
  epoch(): number;
  /** UID of the ConfigMap. A journal that is lost and made again has another one. @throws Error before `open` */
  id(): string;
  /** When the ConfigMap was created, ms since the epoch. An object that is older may have had another journal. */
  createdAt(): number;
  /** @throws FencedError | the signal's reason; in both cases the intent was not and will not be sent */
  commit(intent: Intent, signal: AbortSignal): Promise<void>;
  /** Adds an intent that a status shows and that the journal lost. In memory at once, and in etcd with the next write. */
  restore(entry: JournalEntry): void;
  /** Keeps the outcome until it is settled, in memory at once and in etcd with the next write. */
  record(id: string, outcome: Record<string, string>): void;
  /** The outcome is in the object's status, or nothing was sent: removes the entry. */
  settle(id: string): void;
  find(uid: string): JournalEntry | undefined;
  entries(): JournalEntry[];
  /** Writes all pending changes. Call it before the process ends. */
  close(signal: AbortSignal): Promise<void>;
};

type JournalMap = KubeObject & { data?: Record<string, string> };

/** The ConfigMap of the journal. */
type Place = { namespace: string; name: string };

export type JournalOptions = Place & {
  client: KubeClient;
  identity: string;
  clock: Clock;
  random: () => number;
  log: Logger;
  onCommit?: (entries: number) => void;
  /** Called once when another leader has taken over. */
  onFenced?: (error: FencedError) => void;
};

/** The API server refuses ConfigMaps of more than 1 MiB, etcd objects of more than 1.5 MiB. */
const MAX_BYTES = 900_000;
const BACKOFF = { baseMs: 50, capMs: 5_000, jitter: 0.5 };

export function createJournal(options: JournalOptions): Journal {
  const { client, clock, log, identity } = options;
  const place: Place = { namespace: options.namespace, name: options.name };
  const live = new Map<string, JournalEntry>();
  let epoch = 0;
  let stored: Version | undefined;
  let createdAt = Number.NEGATIVE_INFINITY;
  let fenced: FencedError | undefined;

  function body(): JournalMap {
    const intents = formatEntries(place, [...live.values()]);
    return mapOf(place, stored, { epoch: String(epoch), holder: identity, intents });
  }

  /** Repeats a write until it is confirmed, another leader has the journal, or the signal aborts. */
  async function write(signal: AbortSignal): Promise<void> {
    for (let failures = 1; ; failures++) {
      try {
        stored = versionOf(await store(client, place, body(), signal));
        options.onCommit?.(live.size);
        return;
      } catch (error) {
        if (signal.aborted) throw error;
        if (isConflict(error) || isNotFound(error)) await reread(signal);
        else if (!(error instanceof KubeError)) throw error;
        log.warn({ failures, reason: String(error) }, "journal write failed; trying again");
        await delay(clock, backoffDelay(failures, { ...BACKOFF, random: options.random }), signal);
        signal.throwIfAborted();
      }
    }
  }

  /** After a conflict: reads whether the journal is still ours (a lost response, an edited annotation) or another leader's. */
  async function reread(signal: AbortSignal): Promise<void> {
    const found = await findObject<JournalMap>(client, configMapResource, place, { signal });
    if (found?.metadata.uid !== stored?.uid) {
      throw fence("the ConfigMap was deleted, and it may have been created again: it is another journal");
    }
    const epochFound = epochOf(found);
    if (found === undefined || epochFound !== epoch || found.data?.holder !== identity) {
      const holder = found?.data?.holder ?? "an unknown holder";
      throw fence(`epoch ${epochFound} of ${holder} has replaced our epoch ${epoch}`);
    }
    stored = versionOf(found);
  }

  function fence(reason: string): FencedError {
    fenced = new FencedError(`journal ${place.namespace}/${place.name}: ${reason}`);
    options.onFenced?.(fenced);
    return fenced;
  }

  const group = createGroupCommit({ clock, write, writable: () => epoch > 0 && fenced === undefined });

  return {
    epoch: () => epoch,
    id() {
      if (stored === undefined) throw new Error(`journal ${place.namespace}/${place.name} is not open`);
      return stored.uid;
    },
    createdAt: () => createdAt,
    find: (uid) => [...live.values()].find((entry) => entry.uid === uid),
    entries: () => [...live.values()],
    async open(signal) {
      for (;;) {
        const found = await findObject<JournalMap>(client, configMapResource, place, { signal });
        for (const entry of parseEntries(found?.data?.intents)) live.set(entry.id, entry);
        epoch = epochOf(found) + 1;
        stored = found && versionOf(found);
        try {
          const written = await store(client, place, body(), signal);
          stored = versionOf(written);
          createdAt = Date.parse(written.metadata.creationTimestamp ?? "") || createdAt;
          return [...live.values()];
        } catch (error) {
          if (!isConflict(error) && !isAlreadyExists(error)) throw error;
          live.clear(); // another process wrote in between: its entries count
        }
      }
    },
    async commit(intent, signal) {
      if (fenced !== undefined) throw fenced;
      signal.throwIfAborted();
      live.set(intent.id, intent);
      try {
        await group.commit(signal);
      } catch (error) {
        live.delete(intent.id); // never sent
        group.writeLater();
        throw error;
      }
    },
    restore(entry) {
      live.set(entry.id, { ...entry, restored: true });
      group.writeLater();
    },
    record(id, outcome) {
      const entry = live.get(id);
      if (entry === undefined) return;
      live.set(id, { ...entry, outcome });
      group.writeLater();
    },
    settle(id) {
      if (live.delete(id)) group.writeLater();
    },
    close: (signal) => group.close(signal),
  };
}

/** Creates the ConfigMap, or updates the version that the body names. */
function store(client: KubeClient, place: Place, body: JournalMap, signal: AbortSignal): Promise<JournalMap> {
  return body.metadata.resourceVersion === undefined
    ? client.create<JournalMap>(configMapResource, { namespace: place.namespace }, body, { signal })
    : client.update<JournalMap>(configMapResource, place, body, { signal });
}

function epochOf(found: JournalMap | undefined): number {
  return Number(found?.data?.epoch ?? 0);
}

type Version = { uid: string; resourceVersion: string };

function versionOf({ metadata: { uid = "", resourceVersion = "" } }: JournalMap): Version {
  return { uid, resourceVersion };
}

/** With a version, the API server accepts the write only while it stores this version of this object. */
function mapOf(place: Place, version: Version | undefined, data: Record<string, string>): JournalMap {
  const labels = { "app.kubernetes.io/managed-by": "mooring" };
  const metadata = { ...place, labels, ...version };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, spec: undefined, data };
}

/** @throws Error when the entries do not fit into a ConfigMap */
function formatEntries({ namespace, name }: Place, entries: readonly JournalEntry[]): string {
  const text = JSON.stringify(entries);
  if (text.length <= MAX_BYTES) return text;
  throw new Error(
    `journal ${namespace}/${name}: ${entries.length} unresolved intents are ${text.length} bytes, more than ${MAX_BYTES}; resolve halted jobs first`,
  );
}

function parseEntries(text: string | undefined): JournalEntry[] {
  if (text === undefined) return [];
  return JSON.parse(text) as JournalEntry[];
}
