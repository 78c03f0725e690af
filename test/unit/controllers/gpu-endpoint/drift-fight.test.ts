import { describe, expect, it } from "vitest";
import type { DriftField } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import {
  type Attempts,
  historyOf,
  newAttempts,
  noteRead,
  noteUpdate,
} from "../../../../src/controllers/gpu-endpoint/attempts.ts";

const minute = 60_000;

type Step =
  /** The service accepted an update because of these fields. */
  | { accepted: DriftField[] }
  /** Nobody knows whether the service took the update. */
  | { lost: DriftField[] }
  /** A read showed that these fields differ. */
  | { read: DriftField[] };

/** `stopped`: the fields that another process gave up. */
const attemptsOf = (stopped: DriftField[] = []) => newAttempts("hash", { fields: stopped, confirmed: 3 }, 0);

/** One step each minute. */
function play(attempts: Attempts, steps: Step[]): void {
  for (const [index, step] of steps.entries()) {
    const now = index * minute;
    if ("accepted" in step) noteUpdate(attempts, step.accepted, true, now);
    if ("lost" in step) noteUpdate(attempts, step.lost, false, now);
    if ("read" in step) noteRead(attempts, step.read, now);
  }
}

const counts = (attempts: Attempts, field: DriftField) => {
  const { confirmed, unconfirmed } = historyOf(attempts, field, 0);
  return { confirmed, unconfirmed };
};

describe("updates of a field", () => {
  it.each<{ name: string; steps: Step[]; confirmed: number; unconfirmed: number }>([
    { name: "none", steps: [{ read: ["image"] }], confirmed: 0, unconfirmed: 0 },
    { name: "one that no read followed", steps: [{ accepted: ["image"] }], confirmed: 0, unconfirmed: 1 },
    { name: "one that a read shows", steps: [{ accepted: ["image"] }, { read: [] }], confirmed: 1, unconfirmed: 0 },
    {
      name: "one that two reads show counts once",
      steps: [{ accepted: ["image"] }, { read: [] }, { read: [] }],
      confirmed: 1,
      unconfirmed: 0,
    },
    {
      name: "three without effect are no fight",
      steps: [1, 2, 3].flatMap(() => [{ accepted: ["image"] }, { read: ["image"] }] satisfies Step[]),
      confirmed: 0,
      unconfirmed: 3,
    },
    {
      name: "three that another client reverts are one",
      steps: [1, 2, 3].flatMap(() => [{ accepted: ["image"] }, { read: [] }, { read: ["image"] }] satisfies Step[]),
      confirmed: 3,
      unconfirmed: 0,
    },
    {
      name: "three whose response was lost, and that had no effect",
      steps: [1, 2, 3].flatMap(() => [{ lost: ["image"] }, { read: ["image"] }] satisfies Step[]),
      confirmed: 0,
      unconfirmed: 0,
    },
    {
      name: "one whose response was lost, and that a read shows",
      steps: [{ lost: ["image"] }, { read: [] }],
      confirmed: 1,
      unconfirmed: 0,
    },
    {
      name: "one that takes effect after two that did not",
      steps: [{ accepted: ["image"] }, { accepted: ["image"] }, { accepted: ["image"] }, { read: [] }],
      confirmed: 1,
      unconfirmed: 0,
    },
    {
      name: "another field that takes effect confirms nothing for this one",
      steps: [{ accepted: ["image", "port"] }, { read: ["image"] }],
      confirmed: 0,
      unconfirmed: 1,
    },
  ])("$name", ({ steps, confirmed, unconfirmed }) => {
    const attempts = attemptsOf();
    play(attempts, steps);
    expect(counts(attempts, "image")).toEqual({ confirmed, unconfirmed });
  });

  it("are counted for each field by itself", () => {
    const attempts = attemptsOf();
    play(attempts, [{ accepted: ["image"] }, { read: [] }]);
    expect([counts(attempts, "image"), counts(attempts, "port")]).toEqual([
      { confirmed: 1, unconfirmed: 0 },
      { confirmed: 0, unconfirmed: 0 },
    ]);
    expect(historyOf(attempts, "port", 5).sinceMs).toBe(Infinity);
  });

  it("do not add up when they are more than half an hour apart", () => {
    const attempts = attemptsOf();
    for (const at of [0, 31, 62]) {
      noteUpdate(attempts, ["image"], true, at * minute);
      noteRead(attempts, [], at * minute);
    }
    expect(counts(attempts, "image")).toEqual({ confirmed: 1, unconfirmed: 0 });
  });

  it("stay what they are while nothing is sent: a fight that was given up is not taken up by time", () => {
    const attempts = attemptsOf();
    play(
      attempts,
      [1, 2, 3].flatMap(() => [{ accepted: ["image"] }, { read: [] }] satisfies Step[]),
    );
    expect(historyOf(attempts, "image", 1_000 * minute)).toEqual({
      confirmed: 3,
      unconfirmed: 0,
      sinceMs: 996 * minute,
    });
  });

  it("go on where another process gave up", () => {
    expect(counts(attemptsOf(), "image").confirmed).toBe(0);
    const attempts = attemptsOf(["image"]);
    expect([counts(attempts, "image").confirmed, counts(attempts, "port").confirmed]).toEqual([3, 0]);
  });
});
