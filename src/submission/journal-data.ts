import type { IntentAccount, JournalEntry } from "./journal.ts";

/** The data of a ConfigMap of the journal. `accounts` and `intents` are JSON. */
export type JournalData = {
  epoch?: string;
  holder?: string;
  /** The accounts of the intents, by the name that `to` of an intent has. */
  accounts?: string;
  intents?: string;
};

/** An entry in the form that etcd has. `to` names its account. Earlier versions stored the whole account with each entry. */
type StoredEntry = JournalEntry & { to?: string };

/** The entries as text, one to a line. An account is written once, however many intents it has. */
export function formatEntries(entries: readonly JournalEntry[]): Pick<JournalData, "accounts" | "intents"> {
  const names = new Map<string, string>();
  const nameOf = (account: IntentAccount): string => {
    const text = JSON.stringify(account);
    const name = names.get(text) ?? String(names.size + 1);
    names.set(text, name);
    return name;
  };
  const lines = entries.map(({ account, ...entry }) =>
    JSON.stringify(account === undefined ? entry : { ...entry, to: nameOf(account) }),
  );
  if (lines.length === 0) return { intents: "[]" };
  const intents = `[\n${lines.join(",\n")}\n]`;
  if (names.size === 0) return { intents };
  return { accounts: `{\n${[...names].map(([text, name]) => `"${name}":${text}`).join(",\n")}\n}`, intents };
}

export function parseEntries({ accounts, intents }: JournalData): JournalEntry[] {
  if (intents === undefined) return [];
  const named = JSON.parse(accounts ?? "{}") as Record<string, IntentAccount>;
  return (JSON.parse(intents) as StoredEntry[]).map(({ to, ...entry }) => {
    const account = to === undefined ? undefined : named[to];
    return account === undefined ? entry : { ...entry, account };
  });
}

export function epochOf(data: JournalData | undefined): number {
  return Number(data?.epoch ?? 0);
}
