import { describe, expect, it } from "vitest";
import {
  announceStall,
  conditionsOf,
  mergeConditions,
  patienceOf,
  requeueOf,
} from "../../../src/controllers/report.ts";
import type { Cause, Verdict } from "../../../src/controllers/verdict.ts";
import { START } from "../../support/fake-clock.ts";
import { shown } from "../../support/kstatus.ts";
import { storedMeta } from "../../support/stored-meta.ts";

const cause: Cause = { reason: "Retrying", message: "no answer" };
const done = { type: "Ready", status: "True", reason: "Ready", message: "" } as const;
const odd = new Error("odd");
const of = (generation: number) => storedMeta({ name: "echo", generation });

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
    const after = mergeConditions([], conditionsOf(verdict, done, waiting), of(3), START);
    expect(shown(after)).toEqual(conditions);
    expect(after.every(({ observedGeneration }) => observedGeneration === 3)).toBe(true);
    expect(requeueOf(verdict)).toEqual(requeueAfterMs === undefined ? undefined : { requeueAfterMs });
  });

  it("a Retry reads as Waiting and is thrown for the backoff", () => {
    const retry: Verdict = { kind: "Retry", ...cause, error: odd };
    expect(shown(mergeConditions([], conditionsOf(retry, done), of(3), START))).toEqual([
      "Ready=False/Retrying",
      "Reconciling=True/Retrying",
    ]);
    expect(() => requeueOf(retry)).toThrow(odd);
  });

  it("removes Reconciling and Stalled when no update sets one of them", () => {
    const stalled = mergeConditions([], conditionsOf({ kind: "Stalled", ...cause }, done), of(3), START);
    expect(shown(mergeConditions(stalled, [done], of(4), START))).toEqual(["Ready=True/Ready"]);
  });
});

describe("an object that refers to something that is not there", () => {
  const verdict: Verdict = { kind: "Stalled", reason: "SecretNotFound", message: "create it" };
  const created = (agoMs: number) => ({ ...of(1), creationTimestamp: new Date(START - agoMs).toISOString() });

  it.each([
    { agoMs: -5_000, conditions: ["Ready=False", "Reconciling=True"], againMs: 15_000 },
    { agoMs: 0, conditions: ["Ready=False", "Reconciling=True"], againMs: 15_000 },
    { agoMs: 14_000, conditions: ["Ready=False", "Reconciling=True"], againMs: 1_000 },
    { agoMs: 15_000, conditions: ["Ready=False", "Stalled=True"], againMs: undefined },
  ])("and was created $agoMs ms ago: $conditions", ({ agoMs, conditions, againMs }) => {
    const metadata = created(agoMs);
    const status = { conditions: mergeConditions([], conditionsOf(verdict, done), metadata, START) };
    expect(shown(status.conditions)).toEqual(conditions.map((one) => `${one}/SecretNotFound`));
    expect(patienceOf({ metadata, spec: {}, status }, START)?.requeueAfterMs).toBe(againMs);
  });

  it("does not wait for another reason", () => {
    const updates = conditionsOf({ ...verdict, reason: "SecretKeyMissing" }, done);
    expect(shown(mergeConditions([], updates, created(0), START))).toContain("Stalled=True/SecretKeyMissing");
  });
});

describe("the event of a stalled object", () => {
  it("is emitted once per reason and message", () => {
    const events: string[] = [];
    const recorder = {
      warning: (_object: unknown, reason: string) => void events.push(reason),
    };
    const statusOf = (verdict: Verdict) => ({
      conditions: mergeConditions([], conditionsOf(verdict, done), of(1), START),
    });
    const object = (status = statusOf({ kind: "Done" })) => ({ metadata: of(1), spec: {}, status });
    const stalled = statusOf({ kind: "Stalled", ...cause });
    announceStall(recorder, object(), stalled, "Reconcile");
    announceStall(recorder, object(stalled), stalled, "Reconcile");
    announceStall(recorder, object(stalled), statusOf({ kind: "Done" }), "Reconcile");
    const other = statusOf({ kind: "Stalled", ...cause, message: "still no answer" });
    announceStall(recorder, object(stalled), other, "Reconcile");
    expect(events).toEqual(["Retrying", "Retrying"]);
  });
});
