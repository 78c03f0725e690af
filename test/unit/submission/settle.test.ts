import { describe, expect, it } from "vitest";
import { GONE_MESSAGE, settleGone, settleLeft } from "../../../src/submission/intents.ts";
import type { JournalEntry } from "../../../src/submission/journal.ts";
import { entryOf, videoJobOf } from "../../support/jobs.ts";
import { capturedLog } from "../../support/scripted-api-server.ts";

function setUp(entries: JournalEntry[]) {
  const { log, lines } = capturedLog();
  const settled: string[] = [];
  const journal = {
    entriesOf: ({ kind, key }: Pick<JournalEntry, "kind" | "key">) =>
      entries.filter((entry) => entry.kind === kind && entry.key === key),
    settle: (id: string) => void settled.push(id),
  };
  return { deps: { journal, log }, settled, logged: () => lines.filter(({ msg }) => msg === GONE_MESSAGE).length };
}

const job = videoJobOf("image");
const own = entryOf({ id: "own" });
const former = entryOf({ id: "former", uid: "former" });
const otherKey = entryOf({ id: "other-key", uid: "other", key: "team/other" });
const otherKind = entryOf({ id: "other-kind", uid: "other", kind: "SpeechJob" });

describe("journal entries whose object is deleted", () => {
  it.each<{ name: string; present: string | undefined; expected: string[] }>([
    { name: "no object has the key", present: undefined, expected: ["own", "former"] },
    { name: "another object has the key", present: job.metadata.uid, expected: ["former"] },
  ])("are logged and settled when $name", ({ present, expected }) => {
    const { deps, settled, logged } = setUp([own, former, otherKey, otherKind]);
    settleGone(deps, { kind: "VideoJob", key: "team/sea" }, present);
    expect([settled, logged()]).toEqual([expected, expected.length]);
  });

  it("are logged and settled at a takeover", () => {
    const left = [own, former];
    const { deps, settled, logged } = setUp(left);
    settleLeft(deps, left, [job]);
    expect([settled, logged()]).toEqual([["former"], 1]);
  });
});
