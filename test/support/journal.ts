import type { FencedError, Intent, Journal, JournalEntry } from "../../src/submission/journal.ts";
import { parseEntries } from "../../src/submission/journal-data.ts";
import { configMapOf, journalNames } from "../../src/submission/journal-shards.ts";
import { createJournal } from "../../src/submission/sharded-journal.ts";
import { createFakeClock, type FakeClock, until } from "./fake-clock.ts";
import { createObjectStore, type ObjectStore } from "./object-store.ts";
import { type ScriptedApi, scriptedApi, silentLog } from "./scripted-api-server.ts";

/** The paths of the shards, by number. */
export const SHARD_PATHS = journalNames("mooring-journal").map(
  (name) => `/api/v1/namespaces/mooring/configmaps/${name}`,
);
/** The head. */
export const JOURNAL_PATH = "/api/v1/namespaces/mooring/configmaps/mooring-journal";

export type JournalWorld = { api: ScriptedApi; store: ObjectStore; clock: FakeClock; fenced: FencedError[] };

export async function journalWorld(): Promise<JournalWorld> {
  const store = createObjectStore();
  return { store, api: await scriptedApi(store.script), clock: createFakeClock(), fenced: [] };
}

/** The journal as this process sees it; not opened. */
export function journalOf({ api, clock, fenced }: JournalWorld, identity = "one"): Journal {
  return createJournal({
    client: api.client,
    namespace: "mooring",
    name: "mooring-journal",
    identity,
    clock,
    random: () => 0.5,
    log: silentLog,
    onFenced: (error) => fenced.push(error),
  });
}

/** How the promise ends. */
export async function outcomeOf(w: JournalWorld, promise: Promise<unknown>): Promise<unknown> {
  let outcome: { value: unknown } | undefined;
  promise.then(
    () => {
      outcome = { value: "resolved" };
    },
    (error: unknown) => {
      outcome = { value: error };
    },
  );
  await until(() => outcome !== undefined, w);
  return outcome?.value;
}

/** A UID whose requests are in this shard. */
export function uidIn(shard: number, prefix: string): string {
  for (let suffix = 0; ; suffix++) {
    const uid = `${prefix}-${suffix}`;
    if (configMapOf(uid) === shard) return uid;
  }
}

/** @param shard default: the head */
export const intent = (id: string, shard = 0): Intent => ({
  id,
  kind: "SpeechJob",
  key: `team/${id}`,
  uid: uidIn(shard, `uid-${id}`),
  operation: "submitSpeech",
  attempt: 1,
  specHash: "0123456789abcdef",
  account: { kind: "Account", name: "default", baseURL: "https://api.example.com" },
  time: "2026-03-01T00:00:00Z",
});

/** The entries that the API server has. */
export const storedEntries = (store: ObjectStore): JournalEntry[] =>
  SHARD_PATHS.flatMap((path) => parseEntries(store.objects.get(path)?.data ?? {}));
