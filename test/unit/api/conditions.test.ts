import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CONDITIONS,
  type ConditionType,
  type ConditionUpdate,
  getCondition,
  isTrue,
  MESSAGE_LIMIT,
  removeCondition,
  setCondition,
  setConditions,
} from "../../../src/api/v1alpha1/conditions.ts";
import { PENDING_CONDITION } from "../../../src/api/v1alpha1/meta.ts";
import { REASONS, type Reason } from "../../../src/api/v1alpha1/reasons.ts";
import type { Condition } from "../../../src/kube/types.ts";

const early = "2026-03-01T10:00:00Z";
const late = "2026-03-01T11:00:00Z";
const ready = (status: Condition["status"], message = "m"): ConditionUpdate => ({
  type: "Ready",
  status,
  reason: status === "True" ? "Serving" : "Progressing",
  message,
  observedGeneration: 3,
});

describe("setConditions", () => {
  it("moves no time of a status that is as before at the end: an endpoint serves, and its spec is stalled", () => {
    const stalled: ConditionUpdate = { type: "Stalled", status: "True", reason: "OutOfRange", message: "m" };
    const before = setConditions([], [ready("True"), stalled], early);
    const again = setConditions(before, [ready("True"), stalled], late);
    expect(again.map(({ type, lastTransitionTime }) => [type, lastTransitionTime])).toEqual([
      ["Ready", early],
      ["Stalled", early],
    ]);
    expect(setConditions(again, [ready("True")], late)).toMatchObject([{ status: "True", lastTransitionTime: late }]);
  });
});

describe("setCondition", () => {
  it("adds a condition", () => {
    expect(setCondition(undefined, ready("True"), early)).toEqual([
      {
        type: "Ready",
        status: "True",
        reason: "Serving",
        message: "m",
        lastTransitionTime: early,
        observedGeneration: 3,
      },
    ]);
  });

  it("moves lastTransitionTime only when the status moves", () => {
    const first = setCondition([PENDING_CONDITION], ready("False"), early);
    const reworded = setCondition(first, ready("False", "other words"), late);
    expect(getCondition(reworded, "Ready")).toMatchObject({ message: "other words", lastTransitionTime: early });
    expect(getCondition(setCondition(reworded, ready("True"), late), "Ready")?.lastTransitionTime).toBe(late);
  });

  it("changes neither its argument nor the order", () => {
    const before = setConditions([PENDING_CONDITION], [{ ...ready("True"), type: "Synced", reason: "InSync" }], early);
    const copy = structuredClone(before);
    const after = setCondition(before, ready("True"), late);
    expect(before).toEqual(copy);
    expect(after.map(({ type }) => type)).toEqual(["Ready", "Synced"]);
  });

  it("cuts a message, by characters and not inside one", () => {
    const long = getCondition(setCondition([], ready("False", "🚢".repeat(2000)), early), "Ready")?.message ?? "";
    expect(Array.from(long)).toHaveLength(MESSAGE_LIMIT);
    expect(long.endsWith("🚢…")).toBe(true);
    expect(getCondition(setCondition([], ready("False", "🚢".repeat(1024)), early), "Ready")?.message).toHaveLength(
      2048,
    );
  });

  it("makes Ready False when stalled, with the same reason", () => {
    const conditions = setCondition(
      setCondition([], ready("True"), early),
      { type: "Stalled", status: "True", reason: "AppNameTaken", message: "choose another" },
      late,
    );
    expect(getCondition(conditions, "Ready")).toMatchObject({
      status: "False",
      reason: "AppNameTaken",
      message: "choose another",
      lastTransitionTime: late,
    });
  });

  it("removes Reconciling and Stalled instead of writing False", () => {
    const reconciling = setCondition([], { ...ready("True"), type: "Reconciling" }, early);
    expect(isTrue(reconciling, "Reconciling")).toBe(true);
    expect(setCondition(reconciling, { ...ready("False"), type: "Reconciling" }, late)).toEqual([]);
  });

  it("keeps the rules of kstatus, for any conditions in any order", () => {
    const update = fc.record({
      type: fc.constantFrom(...(Object.keys(CONDITIONS) as ConditionType[])),
      status: fc.constantFrom("True" as const, "False" as const, "Unknown" as const),
      reason: fc.constantFrom(...(Object.values(REASONS).flatMap(Object.keys) as Reason[])),
      message: fc.string(),
    });
    fc.assert(
      fc.property(fc.array(update, { maxLength: 30 }), (updates) => {
        const conditions = setConditions([PENDING_CONDITION], updates, late);
        const types = conditions.map(({ type }) => type);
        expect(new Set(types).size).toBe(types.length);
        expect(types).toContain("Ready");
        expect(types.includes("Reconciling") && types.includes("Stalled")).toBe(false);
        for (const type of ["Reconciling", "Stalled"] as const) {
          if (types.includes(type)) expect(isTrue(conditions, type)).toBe(true);
        }
        if (isTrue(conditions, "Stalled")) expect(getCondition(conditions, "Ready")?.status).toBe("False");
      }),
    );
  });
});

it("removeCondition leaves the others", () => {
  const both = setConditions([], [ready("True"), { ...ready("True"), type: "Synced" }], early);
  expect(removeCondition(both, "Ready").map(({ type }) => type)).toEqual(["Synced"]);
  expect(isTrue(removeCondition(both, "Ready"), "Ready")).toBe(false);
  expect(removeCondition(undefined, "Ready")).toEqual([]);
});

it("every reason is a word of its own that metav1.Condition takes", () => {
  const names = Object.values(REASONS).flatMap(Object.keys);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) {
    expect(name).toMatch(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/);
  }
});
