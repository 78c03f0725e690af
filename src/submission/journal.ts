import type { Resource } from "../kube/resource.ts";

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
  /** Version of the API key that the request is sent with. Only a create has one. */
  keyVersion?: string | undefined;
  /** RFC 3339. */
  time: string;
};

/**
 * An intent and its outcome. Without an outcome it is unknown whether the request was sent. An entry of an earlier version has
 * no account and no version of the key.
 *
 * `restored`: the journal did not have the intent, and the status of the object shows it (intents.ts). `bypassed`: since the
 * intent was committed, an earlier version of the operator has led, which reads the head only.
 */
export type JournalEntry = Omit<Intent, "account"> & {
  account?: IntentAccount | undefined;
  outcome?: Record<string, string>;
  restored?: true;
  bypassed?: true;
};

/** Another leader has written a higher epoch: this process must not send anything any more. */
export class FencedError extends Error {
  override readonly name = "FencedError";
}

/** One ConfigMap of the journal. */
export type ShardIdentity = {
  /** UID of the ConfigMap. A shard that is lost and made again has another one. */
  id: string;
  /** When the ConfigMap was created, ms since the epoch. An object that is older may have had another one. */
  createdAt: number;
  /** The IDs of ConfigMaps of other journals whose entries were moved to this one. Default: none. */
  earlier?: readonly string[];
};

/**
 * The submission journal: the intents in flight, in a fixed number of ConfigMaps, the shards (journal-shards.ts). Each shard has
 * an epoch and a holder. An intent is in the first shard, the head, or in the shard of its object's UID. The head takes intents
 * while it has few, so that the intents of many objects share a write. In earlier versions, the head was the whole journal.
 *
 * # Guarantees
 * - `commit` resolves only when the intent is in etcd under this process's epoch.
 * - After another process has opened the journal, every `commit` of this process fails with FencedError. When it takes over the
 *   shards one by one, a commit either fails, or its intent is among the entries that the other process's `open` returns.
 * - A ConfigMap that is deleted and created again is another shard: it has another ID, and every `commit` of this process
 *   fails with FencedError once it is noticed.
 *
 * The commits of a shard are grouped (group-commit.ts), and settled entries leave with its next write.
 */
export type Journal = {
  /** Takes over every shard and returns the entries that the previous leader left. */
  open(signal: AbortSignal): Promise<JournalEntry[]>;
  /** Of the head. */
  epoch(): number;
  /**
   * The ID of the shard for the next request of an object: the head's while it has few intents, else that of the shard of the
   * UID. @throws Error before `open`
   */
  id(uid: string): string;
  /**
   * Whether the journal has the request that the status of an object shows with this ID, if it was sent. The ID is that of the
   * object's shard, or that of the head: an earlier version wrote every intent there.
   */
  covers(uid: string, id: string | undefined): boolean;
  /** The ConfigMaps that can have the requests of an object, each as `namespace/name`. The head first. */
  placesOf(uid: string): string[];
  /** The head first. @throws Error before `open` */
  shards(): [head: ShardIdentity, ...others: ShardIdentity[]];
  /**
   * @param shard ID of the shard, as the status of the object shows it; default: the shard of its UID
   * @throws FencedError | the signal's reason | Error for an ID that is not of this journal; the intent was not and will not be sent
   */
  commit(intent: Intent, signal: AbortSignal, shard?: string): Promise<void>;
  /** Adds an intent that a status shows and that the journal lost. In memory at once, and in etcd with the next write. */
  restore(entry: JournalEntry): void;
  /** Adds the entry of another journal of this installation. In memory at once, and in etcd with the next write. */
  adopt(entry: JournalEntry): void;
  /** Keeps the outcome until it is settled, in memory at once and in etcd with the next write. */
  record(id: string, outcome: Record<string, string>): void;
  /** The outcome is in the object's status, or nothing was sent: removes the entry. */
  settle(id: string): void;
  /** The oldest entry of an object. */
  find(uid: string): JournalEntry | undefined;
  /** The entries of the objects that have, or had, this key. */
  entriesOf(object: Pick<JournalEntry, "kind" | "key">): JournalEntry[];
  entries(): JournalEntry[];
  /** Writes all pending changes. Call it before the process ends. */
  close(signal: AbortSignal): Promise<void>;
};
