import { describe, expect, it } from "vitest";
import type { DriftField } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import {
  createDriftFightTracker,
  type DriftFightTracker,
} from "../../../../src/controllers/gpu-endpoint/write-limits.ts";

const minute = 60_000;

type Step =
  /** The service accepted an update because of these fields. */
  | { accepted: DriftField[] }
  /** Nobody knows whether the service took the update. */
  | { lost: DriftField[] }
  /** A read showed that these fields differ. */
  | { read: DriftField[] };

/** One step each minute. */
function play(fights: DriftFightTracker, steps: Step[], desiredHash = "hash"): void {
  for (const [index, step] of steps.entries()) {
    const now = index * minute;
    if ("accepted" in step) fights.sent("uid", desiredHash, { fields: step.accepted, accepted: true }, now);
    if ("lost" in step) fights.sent("uid", desiredHash, { fields: step.lost, accepted: false }, now);
    if ("read" in step) fights.observed("uid", desiredHash, step.read, now);
  }
}

const counts = (fights: DriftFightTracker, field: DriftField, desiredHash = "hash") => {
  const { confirmed, unconfirmed } = fights.history("uid", desiredHash, field, 0);
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
    const fights = createDriftFightTracker();
    play(fights, steps);
    expect(counts(fights, "image")).toEqual({ confirmed, unconfirmed });
  });

  it("are counted for each object and each field by itself", () => {
    const fights = createDriftFightTracker();
    play(fights, [{ accepted: ["image"] }, { read: [] }]);
    fights.sent("other", "hash", { fields: ["image"], accepted: true }, 0);
    expect([counts(fights, "image"), counts(fights, "port")]).toEqual([
      { confirmed: 1, unconfirmed: 0 },
      { confirmed: 0, unconfirmed: 0 },
    ]);
    expect(fights.history("other", "hash", "image", 5)).toEqual({ confirmed: 0, unconfirmed: 1, sinceMs: 5 });
  });

  it("do not add up when they are more than half an hour apart", () => {
    const fights = createDriftFightTracker();
    for (const at of [0, 31, 62]) {
      fights.sent("uid", "hash", { fields: ["image"], accepted: true }, at * minute);
      fights.observed("uid", "hash", [], at * minute);
    }
    expect(counts(fights, "image")).toEqual({ confirmed: 1, unconfirmed: 0 });
  });

  it("stay what they are while nothing is sent: a fight that was given up is not taken up by time", () => {
    const fights = createDriftFightTracker();
    play(
      fights,
      [1, 2, 3].flatMap(() => [{ accepted: ["image"] }, { read: [] }] satisfies Step[]),
    );
    expect(fights.history("uid", "hash", "image", 1_000 * minute)).toEqual({
      confirmed: 3,
      unconfirmed: 0,
      sinceMs: 996 * minute,
    });
  });

  it("begin anew with another desired endpoint, and when they are forgotten", () => {
    const fights = createDriftFightTracker();
    play(fights, [{ accepted: ["image"] }, { read: [] }]);
    expect(fights.history("uid", "other", "image", 5)).toEqual({ confirmed: 0, unconfirmed: 0, sinceMs: Infinity });
    play(fights, [{ accepted: ["image"] }, { read: [] }], "other");
    expect([counts(fights, "image", "other").confirmed, counts(fights, "image").confirmed]).toEqual([1, 0]);
    fights.forget("uid");
    expect(counts(fights, "image", "other").confirmed).toBe(0);
  });

  it("go on where another process gave up, and never over what is known here", () => {
    const fights = createDriftFightTracker();
    fights.resume("uid", "hash", { fields: [], confirmed: 3 }, 0);
    expect(counts(fights, "image").confirmed).toBe(0);
    fights.resume("uid", "hash", { fields: ["image"], confirmed: 3 }, 0);
    expect([counts(fights, "image").confirmed, counts(fights, "port").confirmed]).toEqual([3, 0]);
    fights.forget("uid");
    play(fights, [{ accepted: ["image"] }, { read: [] }]);
    fights.resume("uid", "hash", { fields: ["image"], confirmed: 3 }, 0);
    expect(counts(fights, "image").confirmed).toBe(1);
  });
});

it("what a read last showed in full is remembered until it is forgotten", () => {
  const fights = createDriftFightTracker();
  expect(fights.applied("uid")).toBeUndefined();
  fights.recordApplied("uid", "hash");
  expect(fights.applied("uid")).toBe("hash");
  fights.sent("uid", "hash", { fields: ["image"], accepted: true }, 0);
  expect(fights.applied("uid")).toBe("hash");
  fights.forget("uid");
  expect(fights.applied("uid")).toBeUndefined();
});

it("what a read last showed is not taken for granted once another desired endpoint was sent", () => {
  const fights = createDriftFightTracker();
  fights.recordApplied("uid", "first");
  fights.sent("uid", "second", { fields: ["image"], accepted: false }, 0);
  expect(fights.applied("uid")).toBeUndefined();
});
