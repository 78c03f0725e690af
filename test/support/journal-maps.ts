import { z } from "zod";
import { findObject, type KubeClient } from "../../src/kube/client.ts";
import type { KubeObject } from "../../src/kube/types.ts";
import { configMapResource, type JournalEntry } from "../../src/submission/journal.ts";
import { parseEntries } from "../../src/submission/journal-data.ts";
import { journalNames } from "../../src/submission/journal-shards.ts";

export const JOURNAL_MAPS: readonly string[] = journalNames("mooring-journal");

const journalData = z.object({
  data: z.object({ accounts: z.string().optional(), intents: z.string().optional() }).default({}),
});

/** The ConfigMaps of the journal that exist. */
export async function readJournal(world: { kube: KubeClient; namespace: string }): Promise<KubeObject[]> {
  const { kube, namespace } = world;
  const maps = await Promise.all(JOURNAL_MAPS.map((name) => findObject(kube, configMapResource, { namespace, name })));
  return maps.flatMap((map) => map ?? []);
}

/** The entries of the ConfigMaps. */
export function entriesIn(maps: readonly unknown[]): JournalEntry[] {
  return maps.flatMap((map) => {
    const { accounts, intents } = journalData.parse(map).data;
    return parseEntries({ ...(accounts && { accounts }), ...(intents && { intents }) });
  });
}

/** The entries of the journal; none while there is no journal. */
export async function journalEntriesOf(world: { kube: KubeClient; namespace: string }): Promise<JournalEntry[]> {
  return entriesIn(await readJournal(world));
}
