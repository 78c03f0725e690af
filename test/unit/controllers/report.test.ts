import { describe, expect, it } from "vitest";
import { announceStall, conditionsOf, mergeConditions, requeueOf } from "../../../src/controllers/report.ts";
import type { Cause, Verdict } from "../../../src/controllers/verdict.ts";
import { START } from "../../support/fake-clock.ts";
import { shown } from "../../support/kstatus.ts";
import { storedMeta } from "../../support/stored-meta.ts";

const cause: Cause = { reason: "Retrying", message: "no answer" };
const done = { type: "Ready", status: "True", reason: "Ready", message: "" } as const;
const odd = new Error("odd");

describe("conditions and requeue of a verdict", () => {
  const rows: { verdict: Verdict; waiting?: "False" | "Unknown"; conditions: string[]; requeueAfterMs?: number }[] = [
    { verdict: { kind: "Done" }, conditions: ["Ready=True/Ready"] },
    { verdict: { kind: "Done", againMs: 5 }, conditions: ["Ready=True/Ready"], requeueAfterMs: 5 },
    {
      verdict: { kind: "Waiting", ...cause, againMs: 7 },
      conditions: ["Ready=False/Retrying", "Reconciling=True/Retrying"],
      requeueAfterMs: 7,
    },
    {
      verdict: { kind: "Waiting", ...cause },
      waiting: "Unknown",
      conditions: ["Ready=Unknown/Retrying", "Reconciling=True/Retrying"],
    },
    {
      verdict: { kind: "Stalled", ...cause, againMs: 9 },
      conditions: ["Ready=False/Retrying", "Stalled=True/Retrying"],
      requeueAfterMs: 9,
    },
    {
      verdict: { kind: "Failed", ...cause },
      conditions: ["Failed=True/Retrying", "Ready=False/Retrying", "Stalled=True/Retrying"],
    },
  ];
  it.each(rows)("$verdict.kind", ({ verdict, waiting, conditions, requeueAfterMs }) => {
    const after = mergeConditions([], conditionsOf(verdict, done, waiting), 3, START);
    expect(shown(after)).toEqual(conditions);
    expect(after.every(({ observedGeneration }) => observedGeneration === 3)).toBe(true);
    expect(requeueOf(verdict)).toEqual(requeueAfterMs === undefined ? undefined : { requeueAfterMs });
  });

  it("a Retry reads as Waiting and is thrown for the backoff", () => {
    const retry: Verdict = { kind: "Retry", ...cause, error: odd };
    expect(shown(mergeConditions([], conditionsOf(retry, done), 3, START))).toEqual([
      "Ready=False/Retrying",
      "Reconciling=True/Retrying",
    ]);
    expect(() => requeueOf(retry)).toThrow(odd);
  });

  it("removes Reconciling and Stalled when no update sets one of them", () => {
    const stalled = mergeConditions([], conditionsOf({ kind: "Stalled", ...cause }, done), 3, START);
    expect(shown(mergeConditions(stalled, [done], 4, START))).toEqual(["Ready=True/Ready"]);
  });
});

describe("the event of a stalled object", () => {
  it("is emitted once per reason and message", () => {
    const events: string[] = [];
    const recorder = {
      warning: (_object: unknown, reason: string) => void events.push(reason),
    };
    const object = (conditions = mergeConditions([], [], 1, START)) => ({
      metadata: storedMeta({ name: "echo" }),
      spec: {},
      status: { conditions },
    });
    announceStall(recorder, object(), cause, "Reconcile");
    const after = mergeConditions([], conditionsOf({ kind: "Stalled", ...cause }, done), 1, START);
    announceStall(recorder, object(after), cause, "Reconcile");
    announceStall(recorder, object(after), undefined, "Reconcile");
    announceStall(recorder, object(after), { ...cause, message: "still no answer" }, "Reconcile");
    expect(events).toEqual(["Retrying", "Retrying"]);
  });
});
