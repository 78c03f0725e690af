import type { Logger } from "pino";
import type { Clock } from "../base/clock.ts";
import type { KubeClient } from "../kube/client.ts";
import type { FencedError, Journal } from "./journal.ts";
import { createJournalShard, type JournalShard } from "./journal-shard.ts";
import { configMapOf, journalNames } from "./journal-shards.ts";

export type JournalOptions = {
  client: KubeClient;
  namespace: string;
  /** Of the head; the names of the other shards derive from it (journal-shards.ts). */
  name: string;
  identity: string;
  clock: Clock;
  random: () => number;
  log: Logger;
  /** Called after each write of a shard. `entries`: of all shards. */
  onCommit?: (entries: number) => void;
  /** Called once when another leader has taken over a shard, or a shard is another one. */
  onFenced?: (error: FencedError) => void;
};

/** The head takes new intents up to this number: what the reconciles of endpoints have in flight at a time. */
const HEAD_INTENTS = 64;

/** A journal over ConfigMaps (journal.ts has the contract). */
export function createJournal(options: JournalOptions): Journal {
  let fenced: FencedError | undefined;

  const shardAt = (name: string): JournalShard =>
    createJournalShard({
      ...options,
      name,
      isHead: name === options.name,
      onWrite: () => options.onCommit?.(shards.reduce((sum, { entries }) => sum + entries.size(), 0)),
      onFenced(error) {
        if (fenced === undefined) options.onFenced?.(error);
        fenced ??= error;
      },
    });
  const names = journalNames(options.name);
  const [headName, ...otherNames] = names;
  const head = shardAt(headName);
  const others = otherNames.map(shardAt);
  const shards = [head, ...others];
  /** Most shards have no entry for most of the time. */
  const shardsWithEntries = () => shards.filter(({ entries }) => entries.size() > 0);
  const shardFor = (uid: string) => shards[configMapOf(uid)] ?? head;

  /** The shard with this ID, if it can have an intent of the object. */
  const findShard = (uid: string, id: string | undefined) =>
    [head, shardFor(uid)].find((shard) => shard.identity().id === id);

  /** @throws Error when the ID is not of a shard that can have the object's intent */
  function shardWith(id: string, uid: string): JournalShard {
    const found = findShard(uid, id);
    if (found !== undefined) return found;
    throw new Error(
      `the status shows the ConfigMap ${id} for the intent, which is not one of this journal: nothing is sent`,
    );
  }

  /**
   * An earlier version has led since a process that reads all shards: it could not see the entries of the other shards. What it
   * restored of them from statuses is in the head as well.
   */
  async function reviewBypassed(signal: AbortSignal): Promise<void> {
    const bypassed = others.filter(({ entries }) => entries.size() > 0);
    for (const shard of bypassed) {
      for (const entry of shard.entries.all()) {
        if (head.entries.get(entry.id)?.restored === true) head.settle(entry.id);
        shard.put({ ...entry, bypassed: true });
      }
    }
    await Promise.all(bypassed.map((shard) => shard.flush(signal)));
    head.mark();
  }

  return {
    epoch: head.epoch,
    id: (uid) => (head.entries.size() < HEAD_INTENTS ? head : shardFor(uid)).identity().id,
    covers: (uid, id) => findShard(uid, id) !== undefined,
    placesOf: (uid) =>
      [...new Set([headName, names[configMapOf(uid)] ?? headName])].map((name) => `${options.namespace}/${name}`),
    shards: () => [head.identity(), ...others.map((shard) => shard.identity())],
    find: (uid) => head.entries.find(uid) ?? shardFor(uid).entries.find(uid),
    entriesOf: (object) => shardsWithEntries().flatMap(({ entries }) => entries.of(object)),
    entries: () => shardsWithEntries().flatMap(({ entries }) => entries.all()),
    async open(signal) {
      await Promise.all(shards.map((shard) => shard.open(signal)));
      if (!head.isMarked()) await reviewBypassed(signal);
      return shards.flatMap(({ entries }) => entries.all());
    },
    async commit(intent, signal, id) {
      if (fenced !== undefined) throw fenced;
      const shard = id === undefined ? shardFor(intent.uid) : shardWith(id, intent.uid);
      await shard.commit(intent, signal);
    },
    adopt: (entry) => shardFor(entry.uid).put(entry),
    restore: (entry) => shardFor(entry.uid).put({ ...entry, restored: true }),
    record(id, outcome) {
      for (const shard of shards) {
        const entry = shard.entries.get(id);
        if (entry !== undefined) shard.put({ ...entry, outcome });
      }
    },
    settle(id) {
      for (const shard of shards) shard.settle(id);
    },
    async close(signal) {
      await Promise.all(shards.map((shard) => shard.close(signal)));
    },
  };
}
