import { describe, expect, it } from "vitest";
import { hasUnsettledEntry, nextAttempt, type ShownRequest, unsettledEntry } from "../../../src/submission/intents.ts";
import type { JournalEntry } from "../../../src/submission/journal.ts";
import { entryOf } from "../../support/jobs.ts";

const { kind, key, uid, operation, specHash, time, account } = entryOf();
const newID = () => "new-id";
const subject = { kind, key, uid, operation };

/** A journal with the ID `ours` that holds these entries. */
function journalWith(...entries: JournalEntry[]) {
  const live = new Map(entries.map((entry) => [entry.id, entry]));
  return {
    covers: (_uid: string, id: string | undefined) => id === "ours",
    find: (wanted: string) => [...live.values()].find((entry) => entry.uid === wanted),
    settle: (id: string) => void live.delete(id),
    entriesOf: (object: Pick<JournalEntry, "key">) => [...live.values()].filter((entry) => entry.key === object.key),
    restore: (entry: JournalEntry) => void live.set(entry.id, { ...entry, restored: true }),
    left: () => [...live.keys()],
  };
}

type State = NonNullable<ShownRequest["submission"]>["state"];

const shown = (state: State, journal?: string, attempt = 1): ShownRequest => ({
  submission: { id: "intent-1", specHash, attempt, state, journal, time },
  account,
});
const lost = entryOf({ restored: true });
const own = entryOf();
const earlier = entryOf({ id: "intent-0" });
const next = entryOf({ id: "intent-2", attempt: 2 });

describe("the request of an object whose status does not show the outcome", () => {
  it.each<{
    name: string;
    journal: JournalEntry[];
    status: ShownRequest;
    expected: JournalEntry | undefined;
    left: string[];
  }>([
    { name: "nothing was ever intended", journal: [], status: {}, expected: undefined, left: [] },
    {
      name: "the journal has the intent that the status shows",
      journal: [own],
      status: shown("Intended", "ours"),
      expected: own,
      left: ["intent-1"],
    },
    {
      name: "the journal has an intent that no status shows",
      journal: [own],
      status: {},
      expected: own,
      left: ["intent-1"],
    },
    {
      name: "the status shows the outcome of the entry already",
      journal: [own],
      status: shown("Accepted"),
      expected: undefined,
      left: [],
    },
    {
      name: "this journal does not have the intent: it was not sent",
      journal: [],
      status: shown("Intended", "ours"),
      expected: undefined,
      left: [],
    },
    {
      name: "another journal had the intent",
      journal: [],
      status: shown("Intended", "lost"),
      expected: lost,
      left: ["intent-1"],
    },
    {
      name: "a restored journal has the intent",
      journal: [own],
      status: shown("Intended", "lost"),
      expected: own,
      left: ["intent-1"],
    },
    {
      name: "the journal has an earlier attempt only",
      journal: [earlier],
      status: shown("Intended", "lost"),
      expected: earlier,
      left: ["intent-0"],
    },
    {
      name: "a restored journal has an earlier attempt, and the status shows that a later one was accepted",
      journal: [earlier],
      status: shown("Accepted", undefined, 2),
      expected: undefined,
      left: [],
    },
    {
      name: "a restored journal has an earlier attempt, and the later one is still about to be sent",
      journal: [earlier],
      status: shown("Intended", "ours", 2),
      expected: undefined,
      left: [],
    },
    {
      name: "a restored journal has an earlier attempt, and the lost one had the later one",
      journal: [earlier],
      status: shown("Intended", "lost", 2),
      expected: entryOf({ attempt: 2, restored: true }),
      left: ["intent-1"],
    },
    {
      name: "a restored journal has a request of the same attempt that was not sent, and the next one was accepted",
      journal: [earlier],
      status: shown("Accepted"),
      expected: undefined,
      left: [],
    },
    {
      name: "the journal has another request of the same attempt, and the status shows one that was not sent",
      journal: [earlier],
      status: shown("NotSent"),
      expected: earlier,
      left: ["intent-0"],
    },
    {
      name: "the journal has a later attempt than a status that is read too early",
      journal: [next],
      status: shown("Accepted"),
      expected: next,
      left: ["intent-2"],
    },
    {
      name: "the object is finished, and a restored journal has a request that was not sent",
      journal: [earlier],
      status: { ...shown("NotSent"), finished: true },
      expected: undefined,
      left: [],
    },
    {
      name: "the object is finished, and another journal had the intent that was not sent",
      journal: [],
      status: { ...shown("Intended", "lost"), finished: true },
      expected: undefined,
      left: [],
    },
  ])("$name", ({ journal, status, expected, left }) => {
    const j = journalWith(...journal);
    expect(hasUnsettledEntry(j, subject, status)).toBe(expected !== undefined);
    expect(j.left()).toEqual(journal.map(({ id }) => id));
    expect(unsettledEntry(j, subject, status, newID)).toEqual(expected);
    expect(j.left()).toEqual(left);
  });

  it.each([
    ["that the status shows", "0123456789abcdef"],
    ["of an earlier version, which shows none", undefined],
  ])("a lost entry has the version of the key %s", (_name, keyVersion) => {
    const { submission } = shown("Intended", "lost");
    const status = { submission: submission && { ...submission, ...(keyVersion && { keyVersion }) }, account };
    const entry = unsettledEntry(journalWith(), subject, status, newID);
    expect(entry?.restored).toBe(true);
    expect(entry?.keyVersion).toBe(keyVersion);
  });

  const created = "2026-02-28T23:00:00Z";
  it.each<[string, ShownRequest, { attempt: number; time: string | undefined }]>([
    ["without a submission", { account }, { attempt: 1, time: created }],
    [
      "after an earlier attempt",
      { ...shown("Accepted"), account },
      { attempt: 2, time: shown("Accepted").submission?.time },
    ],
  ])("a request under way that no submission explains is lost, %s", (_name, status, expected) => {
    const j = journalWith();
    const entry = unsettledEntry(j, subject, { ...status, unexplainedSince: created }, newID);
    expect(entry).toMatchObject({ id: "new-id", uid, ...expected, account, restored: true });
    expect(entry).not.toHaveProperty("outcome");
    expect(j.left()).toEqual([entry?.id]);
  });
});

it.each<[State | "None", number]>([
  ["None", 1],
  ["Intended", 1],
  ["NotSent", 1],
  ["Accepted", 2],
  ["Unknown", 2],
  ["Refused", 2],
])("after an attempt that is %s, the next attempt is number %i", (state, expected) => {
  expect(nextAttempt(state === "None" ? undefined : shown(state).submission)).toBe(expected);
});
