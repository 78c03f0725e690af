import {
  createJournal,
  type FencedError,
  type Intent,
  type Journal,
  type JournalEntry,
} from "../../src/submission/journal.ts";
import { createFakeClock, type FakeClock } from "./fake-clock.ts";
import { createObjectStore, type ObjectStore } from "./object-store.ts";
import { type ScriptedApi, scriptedApi, silentLog } from "./scripted-api-server.ts";

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

export const intent = (id: string): Intent => ({
  id,
  kind: "SpeechJob",
  key: `team/${id}`,
  uid: `uid-${id}`,
  operation: "submitSpeech",
  attempt: 1,
  specHash: "0123456789abcdef",
  account: { kind: "Account", name: "default", baseURL: "https://api.example.com" },
  time: "2026-03-01T00:00:00Z",
});

/** The entries that the API server has. */
export const storedEntries = (store: ObjectStore): JournalEntry[] =>
  JSON.parse(store.objects.get(JOURNAL_PATH)?.data?.["intents"] ?? "[]");
