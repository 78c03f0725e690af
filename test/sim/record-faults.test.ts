import { describe, expect, it } from "vitest";
import type { ObjectPlan } from "./scenario/objects.ts";
import type { Plan } from "./scenario/plan.ts";
import type { RecordFault } from "./scenario/record-faults.ts";
import { runPlan } from "./scenario/run.ts";

const CREATED_AT = 20_000;
const object = (serial: number, kind: ObjectPlan["kind"], more: Partial<ObjectPlan> = {}): ObjectPlan => ({
  serial,
  kind,
  namespace: "team-a",
  name: `object-${serial}`,
  at: CREATED_AT,
  ...more,
});
const objects = [
  object(0, "GpuEndpoint"),
  object(1, "VideoJob"),
  object(2, "SpeechJob", { synchronous: true }),
  object(3, "GpuEndpoint", { deletionPolicy: "Delete" }),
];

/** After the creation of the objects: before the records, before the first bytes, before the responses and after the outcomes. */
const TIMES = [-5, 60, 120, 600, 2_600];

function planWith(faults: Plan["faults"]): Plan {
  return {
    seed: 1,
    replicas: 1,
    spares: 0,
    streamingLists: true,
    generation: "Current",
    listDelayMs: 0,
    duplicateAppName: "Accept",
    maxConcurrentTasks: undefined,
    budgetTasks: undefined,
    objects,
    actions: [],
    faults,
    chaosMs: 120_000,
  };
}

const writes = (
  only: "Record" | "Outcome",
  ...kinds: (RecordFault & { fault: "recordWrites" })["kinds"]
): RecordFault => {
  return { fault: "recordWrites", only, kinds, share: 1, forMs: 20_000 };
};

const FAULTS: Record<string, RecordFault[]> = {
  "the write of the record is applied late": [writes("Record", "late")],
  "the API server stores the record and reports an error, so that the repeated write is a conflict": [
    writes("Record", "errorAfter", "responseLost", "gatewayAfter"),
  ],
  "the writes of records stall, and then all complete": [writes("Record", "stalled")],
  "the API server refuses the record": [writes("Record", "invalid")],
  "the API server refuses the outcome": [writes("Outcome", "invalid", "tooLarge")],
  "the write of the outcome is applied late": [writes("Outcome", "late", "stalled", "errorAfter")],
  "somebody removes the records": objects.map(({ serial }) => ({ fault: "removeRecord", serial })),
  "somebody removes the finalizers": [0, 3].map((serial) => ({ fault: "removeFinalizer", serial })),
  "an endpoint gets the record of another one": [{ fault: "copyRecord", serial: 0, from: 3 }],
  "an endpoint gets its first record again": [{ fault: "restoreRecord", serial: 0 }],
  "the object is gone when its create answers": [{ fault: "goneWhenCreated", serial: 3 }],
  "the CRDs do not have the sender": [{ fault: "pruneSender", forMs: 20_000 }],
};

describe.each(Object.entries(FAULTS))("%s", (_what, faults) => {
  it.each(TIMES)("%i ms after the objects are created: the invariants hold", async (afterMs) => {
    const { violation, paid } = await runPlan(
      planWith(faults.map((fault) => ({ at: CREATED_AT + afterMs, ...fault }))),
    );
    expect(violation).toBeUndefined();
    // A job that has a task and no record halts, until a user releases it.
    const isReleased = paid === 3 && faults.some(({ fault }) => fault === "removeRecord");
    expect(isReleased ? 2 : paid).toBe(2);
  });
});
