import { describe, expect, it } from "vitest";
import type { Operation } from "../../../src/provider/operations.ts";
import { createSpendingAdmission, type SpendingAdmission } from "../../../src/submission/admission.ts";
import type { Allowance, BudgetState } from "../../../src/submission/allowance.ts";
import type { EndedTask } from "../../../src/submission/reservations.ts";
import type { Work } from "../../../src/submission/work.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const KEY = "Account/team/default";
const work = (uid: string, operation: Operation = "submitSpeech", namespace = "team"): Work => ({
  uid,
  namespace,
  operation,
});
const limited = (headroom: bigint): BudgetState => ({ kind: "Limited", headroom, message: "Key a has some left" });

function setUp(allowed: Partial<Allowance>, inFlight: Work[] = [], ended: EndedTask[] = []) {
  const clock = createFakeClock();
  const allowance: Allowance = { maxTasks: undefined, budget: undefined, reserve: undefined, ...allowed };
  const woken: string[] = [];
  const line = createSpendingAdmission({
    clock,
    allowance: () => allowance,
    inFlight: () => inFlight,
    ended: () => ended,
  });
  const admission: SpendingAdmission = {
    ...line,
    /** Only a request that was sent is charged. */
    release(uid, end) {
      if (end.charged) line.sent(uid);
      line.release(uid, end);
    },
  };
  return {
    clock,
    allowance,
    admission,
    woken,
    admit(uid: string, operation?: Operation, namespace?: string) {
      const answer = admission.request(KEY, work(uid, operation, namespace), () => woken.push(uid));
      return answer.kind === "Waiting" ? answer.reason : answer.kind;
    },
    /** A reading of the money that began now. */
    read: (used: bigint) => admission.moneyRead(KEY, [{ book: "keys", used, startedAt: clock.monotonic() }]),
  };
}

describe("maxConcurrentTasks", () => {
  it("admits as many as allowed, and the next when one has ended, the first that asked first", () => {
    const { admission, admit, woken } = setUp({ maxTasks: 2 });
    expect(["a", "b", "c", "d"].map((uid) => admit(uid))).toEqual([
      "Admitted",
      "Admitted",
      "ConcurrencyLimited",
      "ConcurrencyLimited",
    ]);
    expect(admit("a")).toBe("Admitted"); // asked twice, one place
    admission.release("a", { charged: true });
    expect(woken).toEqual(["c"]); // one place, one job
    expect(admit("d")).toBe("ConcurrencyLimited"); // c was here first
    expect(admit("c")).toBe("Admitted");
    expect(admit("d")).toBe("ConcurrencyLimited");
  });

  it("counts what was in flight before this process", () => {
    const { admission, admit } = setUp({ maxTasks: 2 }, [work("old-1"), work("old-2")]);
    expect(admit("a")).toBe("ConcurrencyLimited");
    admission.running(KEY, work("old-1"));
    admission.release("old-2", { charged: true });
    expect(admit("a")).toBe("Admitted");
  });

  it("one that has gone, or does not ask any more, holds nobody up", async () => {
    const { clock, admission, admit } = setUp({ maxTasks: 1 });
    admit("running");
    admit("deleted");
    admit("forgotten");
    admission.release("deleted", { charged: false });
    admission.release("running", { charged: true });
    expect(admit("late")).toBe("ConcurrencyLimited");
    await clock.advance(151_000);
    expect(admit("late")).toBe("Admitted");
    expect(admission.waiting(KEY)).toBe(0);
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
    const { clock, allowance, admission, admit, read } = setUp({ budget: limited(30n), reserve: 30n });
    read(0n);
    admit("a");
    admission.release("a", { charged: true });
    expect(admit("b")).toBe("BudgetExceeded");
    await clock.advance(1_000);
    read(0n); // not shown yet
    expect(admit("b")).toBe("BudgetExceeded");
    await clock.advance(1_000);
    allowance.budget = limited(0n);
    read(30n);
    expect(admit("b")).toBe("BudgetExceeded");
    expect(admission.urgency(KEY)).toBe("Waiting");
    allowance.budget = limited(1_000n); // a new period
    expect(admit("b")).toBe("Admitted");
  });

  it("keeps a reservation while no charge shows, until settleTime is over", async () => {
    const { clock, admission, admit, read } = setUp({ budget: limited(30n), reserve: 30n, settleMs: 6 * 3_600_000 });
    read(0n);
    admit("a");
    admission.release("a", { charged: true });
    await clock.advance(61_000);
    read(0n);
    expect(admit("b")).toBe("BudgetExceeded");
    expect(admission.urgency(KEY)).toBe("Waiting"); // and not every 5 s for hours
    await clock.advance(6 * 3_600_000 - 62_000);
    read(0n);
    expect(admit("b")).toBe("BudgetExceeded");
    await clock.advance(2_000);
    read(0n);
    expect(admit("b")).toBe("Admitted");
  });

  it("leaves nothing for work without a price while it is exceeded, unknown, or reserved", () => {
    const exhausted = (allowed: Partial<Allowance>, tasks = 0) => {
      const { admission, admit } = setUp(allowed);
      for (let i = 0; i < tasks; i++) admit(`task-${i}`);
      return admission.exhausted(KEY, "team")?.reason;
    };
    expect(exhausted({})).toBeUndefined();
    expect(exhausted({ budget: { kind: "Unlimited", message: "none" } })).toBeUndefined();
    expect(exhausted({ budget: { kind: "Unknown", message: "not read" } })).toBe("BudgetUnknown");
    expect(exhausted({ budget: limited(0n) })).toBe("BudgetExceeded");
    expect(exhausted({ budget: limited(60n), reserve: 30n }, 1)).toBeUndefined();
    expect(exhausted({ budget: limited(59n), reserve: 30n }, 1)).toBe("BudgetExceeded");
  });

  it("counts what an endpoint that gets workers reserves, unless its request had no effect", () => {
    const { admission, admit } = setUp({ budget: limited(60n), reserve: 30n });
    admission.spend(KEY, "createEndpoint");
    const cancel = admission.spend(KEY, "updateEndpoint");
    expect(admission.exhausted(KEY, "team")?.reason).toBe("BudgetExceeded");
    expect(admission.urgency(KEY)).toBe("Settling");
    expect(admit("a")).toBe("BudgetExceeded");
    cancel();
    expect(admission.exhausted(KEY, "team")).toBeUndefined();
    expect(admit("a")).toBe("Admitted");
  });

  it("is read soon while an endpoint waits for it", async () => {
    const { admission, clock } = setUp({ budget: limited(0n) });
    expect(admission.urgency(KEY)).toBe("None");
    admission.exhausted(KEY, "team");
    expect(admission.urgency(KEY)).toBe("Waiting");
    await clock.advance(151_000);
    expect(admission.urgency(KEY)).toBe("None");
  });

  it("gives back at once what surely cost nothing", () => {
    const { admission, admit, woken } = setUp({ budget: limited(30n), reserve: 30n });
    admit("a");
    admit("b");
    admission.release("a", { charged: false });
    expect(woken).toEqual(["b"]);
    expect(admit("b")).toBe("Admitted");
  });

  it("without a reserve, goes one at a time until a task was seen to cost something", async () => {
    const { clock, allowance, admission, admit, read } = setUp({ budget: limited(100n) });
    read(500n);
    expect(admit("a")).toBe("Admitted");
    expect(admit("b")).toBe("BudgetExceeded");
    admission.release("a", { charged: true });
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

/** Jobs that end at once and whose charge never shows, one each second, while the account's cost rises by 1 each 5 s. */
async function sentIn(seconds: number, { clock, admission, admit, read }: ReturnType<typeof setUp>) {
  read(0n);
  const sent: string[] = [];
  for (let second = 1; second <= seconds; second++) {
    await clock.advance(1_000);
    if (second % 5 === 0) read(BigInt(second / 5));
    const uid = `job-${second}`;
    if (admit(uid) === "Admitted") sent.push(uid);
    admission.release(uid, { charged: true });
  }
  return sent.length;
}

describe("a reservation ends with a cost that is attributed to it, or with its time", () => {
  it("not with any rise: a budget for 2 lets 2 go each minute", async () => {
    expect(await sentIn(100, setUp({ budget: limited(60n), reserve: 30n }))).toBe(4);
  });

  it("not with any rise while the cost of a task is not known: 2 go in the first minute", async () => {
    expect(await sentIn(60, setUp({ budget: limited(60n) }))).toBe(2);
  });

  it("a rise ends as many as it pays for, those that ended first before the others", async () => {
    const { clock, admission, admit, read } = setUp({ budget: limited(60n), reserve: 30n });
    read(0n);
    for (const uid of ["a", "b"]) admit(uid);
    admission.release("a", { charged: true });
    await clock.advance(10_000);
    admission.release("b", { charged: true });
    await clock.advance(10_000);
    read(20n);
    expect(admit("c")).toBe("BudgetExceeded");
    await clock.advance(10_000);
    read(35n); // 30 for a, 5 for b
    expect([admit("c"), admit("d")]).toEqual(["Admitted", "BudgetExceeded"]);
    await clock.advance(10_000);
    read(60n);
    expect(admit("d")).toBe("Admitted");
  });

  it("a charge that shows before the end of its task counts", async () => {
    const { clock, admission, admit, read } = setUp({ budget: limited(60n), reserve: 30n });
    read(0n);
    for (const uid of ["a", "b"]) admit(uid);
    await clock.advance(5_000);
    read(70n); // a, b, and 10 of another cause
    admission.release("a", { charged: true });
    expect(admit("c")).toBe("BudgetExceeded");
    await clock.advance(5_000);
    read(70n);
    expect(admit("c")).toBe("Admitted");
    admission.release("b", { charged: true });
    admission.release("c", { charged: true });
    await clock.advance(5_000);
    read(70n);
    expect([admit("d"), admit("e")]).toEqual(["Admitted", "BudgetExceeded"]); // c is not paid for
  });

  it("a task that costs less than it reserves is billed when a part shows a minute after its end", async () => {
    const { clock, admission, admit, read } = setUp({ budget: limited(30n), reserve: 30n });
    read(0n);
    admit("a");
    admission.release("a", { charged: true });
    await clock.advance(5_000);
    read(10n);
    expect(admit("b")).toBe("BudgetExceeded");
    await clock.advance(56_000);
    read(10n);
    expect(admit("b")).toBe("Admitted");
  });

  it("each book that the budget counts has to show the cost", async () => {
    const { clock, admission, admit } = setUp({ budget: limited(30n), reserve: 30n });
    const readBoth = (keys: bigint, bills: bigint) =>
      admission.moneyRead(KEY, [
        { book: "keys", used: keys, startedAt: clock.monotonic() },
        { book: "bills", used: bills, startedAt: clock.monotonic() },
      ]);
    readBoth(0n, 0n);
    admit("a");
    admission.release("a", { charged: true });
    await clock.advance(5_000);
    readBoth(30n, 0n);
    expect(admit("b")).toBe("BudgetExceeded");
    await clock.advance(5_000);
    readBoth(30n, 30n);
    expect(admit("b")).toBe("Admitted");
  });

  it("a book that is not read any more ends none, whatever other books are read", async () => {
    const { clock, admission, admit } = setUp({ budget: limited(30n), reserve: 30n });
    const keys = { book: "keys", used: 0n, startedAt: clock.monotonic() };
    const readBills = () => admission.moneyRead(KEY, [keys, { book: "bills", used: 0n, startedAt: clock.monotonic() }]);
    readBills();
    admit("a");
    admission.release("a", { charged: true });
    for (let minute = 0; minute < 60; minute++) {
      await clock.advance(60_000);
      readBills();
    }
    expect(admit("b")).toBe("BudgetExceeded");
  });

  it("the difference between two books is no cost", async () => {
    const { clock, admission, admit } = setUp({ budget: limited(30n), reserve: 30n });
    const readOf = (book: string, used: bigint) =>
      admission.moneyRead(KEY, [{ book, used, startedAt: clock.monotonic() }]);
    readOf("key a", 0n);
    admit("a");
    admission.release("a", { charged: true });
    await clock.advance(5_000);
    readOf("key b", 500n);
    expect(admit("b")).toBe("BudgetExceeded");
  });

  it("a task whose end was not seen reserves its cost for a quarter of an hour more", async () => {
    const { clock, admission, admit, read } = setUp({ budget: limited(30n), reserve: 30n, settleMs: 0 });
    read(0n);
    admit("a");
    admission.release("a", { charged: true, unseen: true });
    await clock.advance(14 * 60_000);
    read(0n);
    expect(admit("b")).toBe("BudgetExceeded");
    expect(admission.urgency(KEY)).toBe("Waiting");
    await clock.advance(61_000);
    read(0n);
    expect(admit("b")).toBe("Admitted");
  });

  it("a task that ends while the budget cannot be read reserves its cost too", async () => {
    const { clock, allowance, admission, admit, read } = setUp({ budget: limited(30n), reserve: 30n });
    read(0n);
    admit("a");
    allowance.budget = { kind: "Unknown", message: "expired" };
    admission.release("a", { charged: true });
    await clock.advance(5_000);
    allowance.budget = limited(30n);
    read(0n);
    expect(admit("b")).toBe("BudgetExceeded");
  });

  it("tasks that ended just before this process reserve their cost", async () => {
    const ended: EndedTask[] = [{ operation: "submitSpeech", end: "Seen", agoMs: 30_000, lenient: true }];
    const { clock, admit, read } = setUp({ budget: limited(30n), reserve: 30n, settleMs: 60_000 }, [], ended);
    read(0n);
    expect(admit("a")).toBe("BudgetExceeded");
    await clock.advance(31_000);
    read(0n);
    expect(admit("a")).toBe("Admitted");
  });

  it("tasks of an earlier process hold nobody up while the cost of a task is not known", () => {
    const ended: EndedTask[] = [{ operation: "submitSpeech", end: "Seen", agoMs: 30_000, lenient: true }];
    const { admit, read } = setUp({ budget: limited(30n) }, [], ended);
    read(0n);
    expect([admit("a"), admit("b")]).toEqual(["Admitted", "BudgetExceeded"]);
  });

  it("another process learns of the tasks that ended a minute ago and are not billed", async () => {
    const { clock, admission, admit, read } = setUp({ budget: limited(90n), reserve: 30n });
    const start = clock.now();
    read(0n);
    expect(admission.unbilled(KEY)).toBeUndefined();
    for (const uid of ["a", "b", "c"]) admit(uid);
    admission.release("a", { charged: true });
    await clock.advance(61_500);
    read(30n);
    admission.release("b", { charged: true });
    expect(admission.unbilled(KEY)).toEqual({ asOf: start, tasks: [] });
    await clock.advance(61_500);
    const b = { operation: "submitSpeech", count: 1, lastEnd: start + 61_500 };
    expect(admission.unbilled(KEY)).toEqual({ asOf: start + 62_000, tasks: [b] });
    admission.release("c", { charged: true });
    await clock.advance(3_600_000);
    const c = { operation: "submitSpeech", count: 2, lastEnd: start + 123_000 };
    expect(admission.unbilled(KEY)).toEqual({ asOf: start + 124_000, tasks: [c] });
    read(60n);
    expect(admission.unbilled(KEY)?.tasks).toMatchObject([{ count: 1 }]);
  });

  it("learns the cost of a task from everything that shows in its minute", async () => {
    const { clock, admission, admit, read } = setUp({ budget: limited(100n) });
    read(0n);
    admit("a");
    admission.release("a", { charged: true });
    await clock.advance(5_000);
    read(1n); // of another cause
    await clock.advance(20_000);
    read(41n); // a's charge
    await clock.advance(40_000);
    read(41n);
    expect([admit("b"), admit("c"), admit("d")]).toEqual(["Admitted", "Admitted", "BudgetExceeded"]);
  });

  it("says that a task costs more than is left", () => {
    const { admission } = setUp({ budget: { ...limited(20n), message: "Key a has 0.002 yuan left" }, reserve: 30n });
    expect(admission.request(KEY, work("a"), () => {})).toMatchObject({
      reason: "BudgetExceeded",
      message: "A task reserves 0.003 yuan, which is more than is left: Key a has 0.002 yuan left",
    });
  });
});

describe("the order of an account's jobs", () => {
  it("lets another namespace's first job go next, however many jobs wait before it", () => {
    const { admission, admit, woken } = setUp({ maxTasks: 1 });
    admit("running");
    for (let i = 0; i < 10_000; i++) admit(`busy-${i}`, "submitSpeech", "busy");
    admit("quiet", "submitSpeech", "quiet");
    admission.release("running", { charged: true });
    admission.release("busy-0", { charged: true });
    admission.release("quiet", { charged: true });
    expect(woken).toEqual(["busy-0", "quiet", "busy-1"]);
  });

  it("says how many jobs of the namespace go first, and why all of them wait", () => {
    const { admission, admit } = setUp({ maxTasks: 1 });
    const ask = (uid: string, namespace?: string) =>
      admission.request(KEY, work(uid, "submitSpeech", namespace), () => {});
    admit("running");
    admit("a");
    const message = "The account allows 1 tasks in flight (maxConcurrentTasks)";
    expect(ask("b")).toEqual({ kind: "Waiting", reason: "ConcurrencyLimited", message, ahead: 1 });
    expect(ask("c", "other")).toMatchObject({ ahead: 0 });
  });

  it("lets nobody overtake a job that needs more of the budget", async () => {
    const { admission, admit, read, clock } = setUp({ budget: limited(100n) });
    read(0n);
    admit("a");
    admission.release("a", { charged: true });
    await clock.advance(1_000);
    read(40n); // a speech costs 40
    expect(admit("b")).toBe("Admitted");
    expect(admit("video", "submitImageToVideo")).toBe("BudgetExceeded");
    expect(admit("c")).toBe("BudgetExceeded");
    admission.release("b", { charged: false });
    expect(admit("c")).toBe("BudgetExceeded");
    expect(admit("video", "submitImageToVideo")).toBe("Admitted");
  });
});

describe("a place", () => {
  it("that is withdrawn before the request begins goes to the next job", () => {
    const { admission, admit, woken } = setUp({ maxTasks: 1 });
    admit("a");
    admit("b");
    admission.withdraw("a");
    expect(woken).toEqual(["b"]);
  });

  it("stays with a request under way and with its task", () => {
    const { admission, admit, woken } = setUp({ maxTasks: 1 });
    admit("a");
    admit("b");
    for (const step of [admission.began, admission.sent, () => admission.running(KEY, work("a"))]) {
      step("a");
      admission.withdraw("a");
    }
    expect(woken).toEqual([]);
    admission.release("a", { charged: false });
    expect(woken).toEqual(["b"]);
  });

  it("is given to at most 256 requests under way", () => {
    const { admission, admit, woken } = setUp({});
    for (let i = 0; i < 256; i++) {
      expect(admit(`u${i}`)).toBe("Admitted");
      admission.began(`u${i}`);
      admission.sent(`u${i}`);
    }
    expect(admit("late")).toBe("ConcurrencyLimited");
    admission.running(KEY, work("u7"));
    expect(woken).toEqual(["late"]);
  });

  it("goes to the next job when its job does not come back for it", async () => {
    const { admission, admit, clock } = setUp({ maxTasks: 1 });
    admit("lost");
    await clock.advance(149_000);
    expect(admit("b")).toBe("ConcurrencyLimited");
    await clock.advance(2_000);
    expect(admit("b")).toBe("Admitted");
    admission.began("b");
    await clock.advance(600_000);
    expect(admit("c")).toBe("ConcurrencyLimited"); // a request under way keeps its place
  });

  it("moves with a job to another account", () => {
    const { admission, admit, woken } = setUp({ maxTasks: 1 });
    admit("a");
    admit("b");
    expect(admission.request("Account/team/other", work("a"), () => {})).toEqual({ kind: "Admitted" });
    expect(woken).toEqual(["b"]);
  });
});

describe("an empty balance", () => {
  const EMPTY = "submitSpeech: the balance is empty: top up the account";
  const refuse = (w: ReturnType<typeof setUp>, uid: string) => {
    w.admission.unpaid(KEY, EMPTY);
    w.admission.release(uid, { charged: false });
  };

  it("holds all jobs; one tries after each pause, and the pauses grow to half an hour", async () => {
    const w = setUp({});
    const uids = ["a", "b", "c"];
    expect(uids.map((uid) => w.admit(uid))).toEqual(["Admitted", "Admitted", "Admitted"]);
    for (const uid of uids) refuse(w, uid); // all three were under way: one pause
    const tried: number[] = [];
    for (let minute = 1; minute <= 180; minute++) {
      await w.clock.advance(60_000);
      const admitted = uids.filter((uid) => w.admit(uid) === "Admitted");
      expect(admitted.length).toBeLessThanOrEqual(1);
      for (const uid of admitted) {
        tried.push(minute);
        refuse(w, uid);
      }
    }
    expect(tried).toEqual([1, 3, 7, 15, 31, 61, 91, 121, 151]);
    expect(w.admission.request(KEY, work("a"), () => {})).toMatchObject({
      reason: "InsufficientBalance",
      message: EMPTY,
    });
    expect(w.admission.exhausted(KEY, "team")).toEqual({ reason: "InsufficientBalance", message: EMPTY });
    expect(w.admission.balance(KEY)).toBe(EMPTY);
  });

  it("ends with a success: all go at once", async () => {
    const w = setUp({});
    w.admit("a");
    refuse(w, "a");
    expect([w.admit("b"), w.admit("c")]).toEqual(["InsufficientBalance", "InsufficientBalance"]);
    await w.clock.advance(60_000);
    expect(w.woken).toContain("b");
    expect([w.admit("b"), w.admit("c")]).toEqual(["Admitted", "InsufficientBalance"]);
    w.admission.paid(KEY);
    expect([w.admit("c"), w.admission.balance(KEY)]).toEqual(["Admitted", undefined]);
  });

  it("is tried again after the same pause when the request that tried did not tell", async () => {
    const w = setUp({});
    w.admit("a");
    refuse(w, "a");
    w.admit("b");
    await w.clock.advance(60_000);
    w.admission.release("b", { charged: false });
    expect(w.admit("c")).toBe("InsufficientBalance");
    await w.clock.advance(60_000);
    expect(w.admit("c")).toBe("Admitted");
  });

  it("is tried at once when the budget shows more money", async () => {
    const w = setUp({ budget: limited(100n), reserve: 10n });
    w.read(0n);
    w.admit("a");
    refuse(w, "a");
    w.admit("b");
    await w.clock.advance(1_000);
    w.read(0n);
    expect(w.admit("b")).toBe("InsufficientBalance");
    w.allowance.budget = limited(200n);
    await w.clock.advance(1_000);
    w.read(0n);
    expect(w.admit("b")).toBe("Admitted");
  });
});

it("tells waiting jobs when the budget's state changes, and not with every reading", () => {
  const { allowance, admit, read, woken } = setUp({ budget: { kind: "Unknown", message: "not read" } });
  admit("a");
  admit("b");
  allowance.budget = limited(0n);
  read(1n);
  expect(woken).toEqual(["a", "b"]);
  read(1n);
  expect(woken).toEqual(["a", "b"]);
});

describe("a changed allowance", () => {
  it("lets waiting jobs go at once", () => {
    const { allowance, admission, admit, woken } = setUp({ budget: limited(0n), reserve: 30n });
    admit("a");
    allowance.budget = limited(30n);
    admission.recheck(KEY);
    expect(woken).toEqual(["a"]);
    expect(admit("a")).toBe("Admitted");
  });

  it("wakes every waiting job to show the new reason, some each second", async () => {
    const { clock, allowance, admission, admit, woken } = setUp({ budget: limited(0n) });
    const uids = Array.from({ length: 150 }, (_, index) => `u${index}`);
    for (const uid of uids) admit(uid);
    admission.recheck(KEY);
    await clock.advance(5_000);
    woken.length = 0;
    admission.recheck(KEY);
    await clock.advance(5_000);
    expect(woken).toEqual([]);
    allowance.budget = { ...limited(0n), message: "Key a has -5 yuan left" };
    admission.recheck(KEY);
    expect(woken).toHaveLength(64);
    await clock.advance(2_000);
    expect(woken).toEqual(uids);
  });
});
