import { describe, expect, it } from "vitest";
import { createUpdateRounds } from "../../../../src/controllers/gpu-endpoint/rounds.ts";

const minute = 60_000;

describe("rounds of updates", () => {
  it("are counted for one wish, each object and each field by itself", () => {
    const rounds = createUpdateRounds();
    for (const at of [0, 10, 20]) rounds.note("uid", "wish", at === 10 ? ["image", "port"] : ["image"], at * minute);
    rounds.note("other", "wish", ["image"], 20 * minute);
    expect(rounds.count("uid", "wish", ["image"])).toBe(3);
    expect(rounds.count("uid", "wish", ["port"])).toBe(1);
    expect(rounds.count("uid", "wish", ["command", "port", "image"])).toBe(3);
    expect(rounds.count("uid", "wish", ["command"])).toBe(0);
    expect(rounds.count("other", "wish", ["image"])).toBe(1);
  });

  it("do not add up when they are more than half an hour apart", () => {
    const rounds = createUpdateRounds();
    for (const at of [0, 31, 62]) rounds.note("uid", "wish", ["image"], at * minute);
    expect(rounds.count("uid", "wish", ["image"])).toBe(1);
  });

  it("stay what they are while nothing is sent: a fight that was given up is not taken up by time", () => {
    const rounds = createUpdateRounds();
    for (const at of [0, 1, 2]) rounds.note("uid", "wish", ["image"], at * minute);
    expect(rounds.count("uid", "wish", ["image"])).toBe(3);
    expect(rounds.sinceMs("uid", "wish", 1_000 * minute)).toBe(998 * minute);
  });

  it("begin anew with another wish, and when they are forgotten", () => {
    const rounds = createUpdateRounds();
    rounds.note("uid", "wish", ["image"], 0);
    expect([rounds.count("uid", "other", ["image"]), rounds.sinceMs("uid", "other", 5)]).toEqual([0, Infinity]);
    rounds.note("uid", "other", ["image"], 1);
    expect([rounds.count("uid", "other", ["image"]), rounds.count("uid", "wish", ["image"])]).toEqual([1, 0]);
    rounds.forget("uid");
    expect(rounds.count("uid", "other", ["image"])).toBe(0);
  });

  it("go on where another process gave up, and never over what is known here", () => {
    const rounds = createUpdateRounds();
    rounds.resume("uid", "wish", [], 0, 3);
    expect(rounds.count("uid", "wish", ["image"])).toBe(0);
    rounds.resume("uid", "wish", ["image"], 0, 3);
    expect([rounds.count("uid", "wish", ["image"]), rounds.count("uid", "wish", ["port"])]).toEqual([3, 0]);
    rounds.forget("uid");
    rounds.note("uid", "wish", ["image"], 0);
    rounds.resume("uid", "wish", ["image"], 0, 3);
    expect(rounds.count("uid", "wish", ["image"])).toBe(1);
  });

  it("of an unknown outcome count only when the remote is seen to match: an update that fails is not undone", () => {
    const rounds = createUpdateRounds();
    for (const at of [0, 1, 2, 3]) rounds.noteUnknown("uid", "wish", ["image"], at * minute);
    expect(rounds.count("uid", "wish", ["image"])).toBe(0);
    rounds.confirm("uid", "another wish");
    expect(rounds.count("uid", "wish", ["image"])).toBe(0);
    rounds.confirm("uid", "wish");
    rounds.confirm("uid", "wish");
    expect(rounds.count("uid", "wish", ["image"])).toBe(1);
    expect(rounds.sinceMs("uid", "wish", 4 * minute)).toBe(minute);
    rounds.noteUnknown("uid", "wish", ["image"], 5 * minute);
    rounds.forget("uid");
    rounds.confirm("uid", "wish");
    expect(rounds.count("uid", "wish", ["image"])).toBe(0);
  });

  it("remember what the remote was last given", () => {
    const rounds = createUpdateRounds();
    expect(rounds.given("uid")).toBeUndefined();
    rounds.give("uid", "wish");
    expect(rounds.given("uid")).toBe("wish");
    rounds.forget("uid");
    expect(rounds.given("uid")).toBeUndefined();
  });
});
