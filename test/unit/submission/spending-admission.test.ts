import { describe, expect, it } from "vitest";
import type { BudgetState } from "../../../src/controllers/account/budget.ts";
import type { Operation } from "../../../src/provider/operations.ts";
import { type Allowance, createPaidWork, type Work } from "../../../src/submission/spending-admission.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const KEY = "Account/team/default";
const work = (uid: string, operation: Operation = "submitSpeech"): Work => ({ uid, operation });
const limited = (headroom: bigint): BudgetState => ({ kind: "Limited", headroom, message: "Key a has some left" });

function setUp(allowed: Partial<Allowance>, inFlight: Work[] = []) {
  const clock = createFakeClock();
  const allowance: Allowance = { maxTasks: undefined, budget: undefined, reserve: undefined, ...allowed };
  const woken: string[] = [];
  const paid = createPaidWork({
    clock,
    allowance: () => allowance,
    inFlight: () => inFlight,
  });
  return {
    clock,
    allowance,
    paid,
    woken,
    admit: (uid: string, operation?: Operation) =>
      paid.admit(KEY, work(uid, operation), () => woken.push(uid))?.reason ?? "Admitted",
    /** A reading of the money that began now. */
    read: (used: bigint) => paid.moneyRead(KEY, used, clock.monotonic()),
  };
}

describe("maxConcurrentTasks", () => {
  it("admits as many as allowed, and the next when one has ended, the first that asked first", () => {
    const { paid, admit, woken } = setUp({ maxTasks: 2 });
    expect(["a", "b", "c", "d"].map((uid) => admit(uid))).toEqual([
      "Admitted",
      "Admitted",
      "ConcurrencyLimited",
      "ConcurrencyLimited",
    ]);
    expect(admit("a")).toBe("Admitted"); // asked twice, one place
    paid.ended("a", true);
    expect(woken).toEqual(["c", "d"]);
    expect(admit("d")).toBe("ConcurrencyLimited"); // c was here first
    expect(admit("c")).toBe("Admitted");
    expect(admit("d")).toBe("ConcurrencyLimited");
  });

  it("counts what was in flight before this process", () => {
    const { paid, admit } = setUp({ maxTasks: 2 }, [work("old-1"), work("old-2")]);
    expect(admit("a")).toBe("ConcurrencyLimited");
    paid.running(KEY, work("old-1"));
    paid.ended("old-2", true);
    expect(admit("a")).toBe("Admitted");
  });

  it("one that has gone, or does not ask any more, holds nobody up", async () => {
    const { clock, paid, admit } = setUp({ maxTasks: 1 });
    admit("running");
    admit("deleted");
    admit("forgotten");
    paid.ended("deleted", false);
    paid.ended("running", true);
    expect(admit("late")).toBe("ConcurrencyLimited");
    await clock.advance(151_000);
    expect(admit("late")).toBe("Admitted");
    expect(paid.waiting(KEY)).toBe(0);
  });
});

describe("a budget that holds new work", () => {
  it("is not overdrawn by what is in flight: each place reserves its cost", () => {
    const { admit } = setUp({ budget: limited(100n), reserve: 30n });
    expect(["a", "b", "c", "d"].map((uid) => admit(uid))).toEqual([
      "Admitted",
      "Admitted",
      "Admitted",
      "BudgetExceeded",
    ]);
  });

  it("keeps a reservation until the money was read after the end and the charge shows", async () => {
    const { clock, allowance, paid, admit, read } = setUp({ budget: limited(30n), reserve: 30n });
    read(0n);
    admit("a");
    paid.ended("a", true);
    expect(admit("b")).toBe("BudgetExceeded");
    await clock.advance(1_000);
    read(0n); // not shown yet
    expect(admit("b")).toBe("BudgetExceeded");
    await clock.advance(1_000);
    allowance.budget = limited(0n);
    read(30n);
    expect(admit("b")).toBe("BudgetExceeded");
    expect(paid.urgency(KEY)).toBe("Waiting");
    allowance.budget = limited(1_000n); // a new period
    expect(admit("b")).toBe("Admitted");
  });

  it("gives up waiting for a charge that never shows", async () => {
    const { clock, paid, admit, read } = setUp({ budget: limited(30n), reserve: 30n });
    read(0n);
    admit("a");
    paid.ended("a", true);
    await clock.advance(61_000);
    read(0n);
    expect(admit("b")).toBe("Admitted");
  });

  it("gives back at once what surely cost nothing", () => {
    const { paid, admit, woken } = setUp({ budget: limited(30n), reserve: 30n });
    admit("a");
    admit("b");
    paid.ended("a", false);
    expect(woken).toEqual(["b"]);
    expect(admit("b")).toBe("Admitted");
  });

  it("without a reserve, goes one at a time until a task was seen to cost something", async () => {
    const { clock, allowance, paid, admit, read } = setUp({ budget: limited(100n) });
    read(500n);
    expect(admit("a")).toBe("Admitted");
    expect(admit("b")).toBe("BudgetExceeded");
    paid.ended("a", true);
    expect(admit("b")).toBe("BudgetExceeded");
    await clock.advance(1_000);
    allowance.budget = limited(60n);
    read(540n); // it cost 40
    expect(admit("b")).toBe("Admitted");
    expect(admit("c")).toBe("BudgetExceeded");
    expect(admit("v", "submitImageToVideo")).toBe("BudgetExceeded"); // what that costs is not known
  });

  it("holds everything while the budget is exceeded or not known", () => {
    expect(setUp({ budget: limited(0n), reserve: 1n }).admit("a")).toBe("BudgetExceeded");
    expect(setUp({ budget: { kind: "Unknown", message: "not read" } }).admit("a")).toBe("BudgetUnknown");
    expect(setUp({ budget: { kind: "Unlimited", message: "none" } }).admit("a")).toBe("Admitted");
  });
});
