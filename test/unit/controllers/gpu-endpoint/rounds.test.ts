import { describe, expect, it } from "vitest";
import type { DriftField } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { createUpdateRounds, type UpdateRounds } from "../../../../src/controllers/gpu-endpoint/rounds.ts";

const minute = 60_000;

type Step =
  /** The service accepted an update because of these fields. */
  | { accepted: DriftField[] }
  /** Nobody knows whether the service took the update. */
  | { lost: DriftField[] }
  /** A read showed that these fields differ. */
  | { read: DriftField[] };

/** One step each minute. */
function play(rounds: UpdateRounds, steps: Step[], desiredHash = "hash"): void {
  for (const [index, step] of steps.entries()) {
    const now = index * minute;
    if ("accepted" in step) rounds.sent("uid", desiredHash, { fields: step.accepted, accepted: true }, now);
    if ("lost" in step) rounds.sent("uid", desiredHash, { fields: step.lost, accepted: false }, now);
    if ("read" in step) rounds.observed("uid", desiredHash, step.read, now);
  }
}

const counts = (rounds: UpdateRounds, field: DriftField, desiredHash = "hash") => {
  const { confirmed, unconfirmed } = rounds.history("uid", desiredHash, field, 0);
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
    const rounds = createUpdateRounds();
    play(rounds, steps);
    expect(counts(rounds, "image")).toEqual({ confirmed, unconfirmed });
  });

  it("are counted for each object and each field by itself", () => {
    const rounds = createUpdateRounds();
    play(rounds, [{ accepted: ["image"] }, { read: [] }]);
    rounds.sent("other", "hash", { fields: ["image"], accepted: true }, 0);
    expect([counts(rounds, "image"), counts(rounds, "port")]).toEqual([
      { confirmed: 1, unconfirmed: 0 },
      { confirmed: 0, unconfirmed: 0 },
    ]);
    expect(rounds.history("other", "hash", "image", 5)).toEqual({ confirmed: 0, unconfirmed: 1, sinceMs: 5 });
  });

  it("do not add up when they are more than half an hour apart", () => {
    const rounds = createUpdateRounds();
    for (const at of [0, 31, 62]) {
      rounds.sent("uid", "hash", { fields: ["image"], accepted: true }, at * minute);
      rounds.observed("uid", "hash", [], at * minute);
    }
    expect(counts(rounds, "image")).toEqual({ confirmed: 1, unconfirmed: 0 });
  });

  it("stay what they are while nothing is sent: a fight that was given up is not taken up by time", () => {
    const rounds = createUpdateRounds();
    play(
      rounds,
      [1, 2, 3].flatMap(() => [{ accepted: ["image"] }, { read: [] }] satisfies Step[]),
    );
    expect(rounds.history("uid", "hash", "image", 1_000 * minute)).toEqual({
      confirmed: 3,
      unconfirmed: 0,
      sinceMs: 996 * minute,
    });
  });

  it("begin anew with another desired endpoint, and when they are forgotten", () => {
    const rounds = createUpdateRounds();
    play(rounds, [{ accepted: ["image"] }, { read: [] }]);
    expect(rounds.history("uid", "other", "image", 5)).toEqual({ confirmed: 0, unconfirmed: 0, sinceMs: Infinity });
    play(rounds, [{ accepted: ["image"] }, { read: [] }], "other");
    expect([counts(rounds, "image", "other").confirmed, counts(rounds, "image").confirmed]).toEqual([1, 0]);
    rounds.forget("uid");
    expect(counts(rounds, "image", "other").confirmed).toBe(0);
  });

  it("go on where another process gave up, and never over what is known here", () => {
    const rounds = createUpdateRounds();
    rounds.resume("uid", "hash", [], 0, 3);
    expect(counts(rounds, "image").confirmed).toBe(0);
    rounds.resume("uid", "hash", ["image"], 0, 3);
    expect([counts(rounds, "image").confirmed, counts(rounds, "port").confirmed]).toEqual([3, 0]);
    rounds.forget("uid");
    play(rounds, [{ accepted: ["image"] }, { read: [] }]);
    rounds.resume("uid", "hash", ["image"], 0, 3);
    expect(counts(rounds, "image").confirmed).toBe(1);
  });
});

it("what a read last showed in full is remembered until it is forgotten", () => {
  const rounds = createUpdateRounds();
  expect(rounds.applied("uid")).toBeUndefined();
  rounds.recordApplied("uid", "hash");
  expect(rounds.applied("uid")).toBe("hash");
  rounds.sent("uid", "hash", { fields: ["image"], accepted: true }, 0);
  expect(rounds.applied("uid")).toBe("hash");
  rounds.forget("uid");
  expect(rounds.applied("uid")).toBeUndefined();
});

it("what a read last showed is not taken for granted once another desired endpoint was sent", () => {
  const rounds = createUpdateRounds();
  rounds.recordApplied("uid", "first");
  rounds.sent("uid", "second", { fields: ["image"], accepted: false }, 0);
  expect(rounds.applied("uid")).toBeUndefined();
});
