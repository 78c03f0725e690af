import { describe, expect, it } from "vitest";
import type { Money } from "../../../src/base/money.ts";
import type { Operation } from "../../../src/provider/operations.ts";
import { createSpendingAdmission } from "../../../src/submission/admission.ts";
import type { Allowance } from "../../../src/submission/allowance.ts";
import type { Division, Pool, PoolCost } from "../../../src/submission/division.ts";
import type { Work } from "../../../src/submission/work.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const KEY = "ClusterAccount/shared";
const PRICE: Money = 10n;

const poolOf = (share: string, change: Partial<Pool> = {}): Pool => ({
  share,
  weight: 1,
  namespaces: [share],
  concurrentTasks: undefined,
  requestsPerMinute: undefined,
  dailyLimit: undefined,
  monthlyLimit: undefined,
  ...change,
});

type Before = { inFlight?: (Work & { isUnderWay?: boolean })[] };

function setUp(pools: Pool[], maxTasks?: number, before: Before = {}) {
  const clock = createFakeClock();
  const cost: PoolCost = { day: 0n, month: 0n, unpriced: undefined };
  const price = { known: true };
  const division: Division = {
    poolOf: (namespace) => pools.find((pool) => pool.namespaces.includes(namespace)),
    spent: () => cost,
    costOf: (_operation, quantity) => (price.known ? BigInt(quantity ?? 1) * PRICE : undefined),
  };
  const allowance: Allowance = { maxTasks, budget: undefined, reserve: undefined, division };
  const woken: string[] = [];
  const admission = createSpendingAdmission({
    clock,
    allowance: () => allowance,
    inFlight: () => before.inFlight ?? [],
  });
  return {
    clock,
    admission,
    woken,
    cost,
    price,
    ask(uid: string, namespace: string, operation: Operation = "submitSpeech") {
      const answer = admission.request(KEY, { uid, namespace, operation, quantity: 1 }, () => woken.push(uid));
      return answer.kind === "Waiting" ? `${answer.reason}: ${answer.message}` : answer.kind;
    },
    /** It is sent, and its task ends at once. */
    finish(uid: string) {
      admission.sent(uid);
      admission.release(uid, { charged: true });
    },
  };
}

describe("limits.concurrentTasks", () => {
  it("holds the jobs of the share, with the limit, the number and the place, while other shares go on", () => {
    const { ask, finish, woken } = setUp([poolOf("film", { concurrentTasks: 2, namespaces: ["a", "b"] }), poolOf("c")]);
    expect([ask("1", "a"), ask("2", "b")]).toEqual(["Admitted", "Admitted"]);
    expect(ask("3", "a")).toBe(
      "ShareLimited: Share film allows 2 tasks in flight (limits.concurrentTasks), and 2 are: 0 jobs of the namespace go first",
    );
    for (let i = 0; i < 30; i++) ask(`4-${i}`, "a");
    expect(ask("5", "a")).toMatch(/: about 30 jobs of the namespace go first$/);
    expect(ask("6", "c")).toBe("Admitted");
    finish("1");
    expect(woken).toEqual(["3"]);
  });

  it("counts the tasks that the statuses showed before a restart", () => {
    const inFlight = [{ uid: "old", namespace: "film", operation: "submitSpeech" as const }];
    const { ask } = setUp([poolOf("film", { concurrentTasks: 1 })], undefined, { inFlight });
    expect(ask("1", "film")).toMatch(/^ShareLimited/);
  });
});

describe("limits.requestsPerMinute", () => {
  it("no minute has more requests, and the next job is woken when a request is a minute old", async () => {
    const { clock, admission, ask, finish, woken } = setUp([poolOf("film", { requestsPerMinute: 2 })]);
    const sentAt: number[] = [];
    ask("before", "film"); // the count begins
    admission.withdraw("before");
    await clock.advance(60_000);
    for (let i = 0; i < 8; i++) ask(String(i), "film");
    for (const uid of ["0", "1"]) finish(uid);
    sentAt.push(0, 0);
    for (let second = 1; second <= 200; second++) {
      await clock.advance(1_000);
      for (const uid of woken.splice(0)) {
        expect(ask(uid, "film")).toBe("Admitted");
        await clock.advance(300); // the request waits for a connection
        finish(uid);
        sentAt.push(clock.monotonic());
      }
    }
    expect(sentAt.length).toBeGreaterThanOrEqual(6);
    for (const [index, at] of sentAt.entries()) {
      expect(sentAt.filter((other) => other > at - 60_000 && other <= at).length, `request ${index}`).toBeLessThan(3);
    }
  });

  it("waits a minute after a start, as requests of deleted jobs may count, while shares without this limit go on", async () => {
    const { clock, ask, woken } = setUp([poolOf("film", { requestsPerMinute: 1 }), poolOf("voice")]);
    expect(ask("1", "film")).toBe(
      "ShareLimited: Share film allows 1 requests a minute (limits.requestsPerMinute), and the requests of the minute before this operator served the account may count: wait a minute: 0 jobs of the namespace go first",
    );
    expect(ask("2", "voice")).toBe("Admitted");
    await clock.advance(59_999);
    expect(woken).toEqual([]);
    await clock.advance(1);
    expect(woken).toEqual(["1"]);
  });
});

describe("money", () => {
  it("reserves the cost of each request until the usage has it, and tells the numbers", () => {
    const { admission, ask, cost } = setUp([poolOf("film", { dailyLimit: 30n, monthlyLimit: 1_000n })]);
    cost.day = 10n;
    expect([ask("1", "film"), ask("2", "film")]).toEqual(["Admitted", "Admitted"]);
    expect(ask("3", "film")).toMatch(
      /^ShareLimited: Share film allows 0.003 yuan a day \(limits.dailyLimit\): 0.001 are spent, and 0.003 are reserved with this request/,
    );
    admission.sent("1");
    cost.day = 20n; // the usage has it
    admission.running(KEY, { uid: "1", namespace: "film", operation: "submitSpeech" });
    expect(ask("3", "film")).toMatch(/0.002 are spent, and 0.002 are reserved/);
    cost.day = 0n; // the next day
    admission.recheck(KEY);
    expect(ask("3", "film")).toBe("Admitted");
    expect(admission.exhausted(KEY, "film")).toBeUndefined();
    cost.month = 1_000n;
    expect(admission.exhausted(KEY, "film")).toMatchObject({ reason: "ShareLimited" });
  });

  it("while a price is not known, one request goes, and the next waits for the bills", () => {
    const { ask, finish, cost, price } = setUp([poolOf("film", { dailyLimit: 100n })]);
    price.known = false;
    expect(ask("1", "film")).toBe("Admitted");
    expect(ask("2", "film")).toMatch(/no bill has shown the price of a request yet/);
    cost.unpriced = "speech-2.6-hd";
    finish("1");
    expect(ask("2", "film")).toMatch(/no bill has shown the price of speech-2.6-hd yet/);
    price.known = true;
    cost.unpriced = undefined;
    expect(ask("2", "film")).toBe("Admitted");
  });

  it("a request whose outcome was not known at a restart reserves its cost", () => {
    const work = { uid: "old", namespace: "film", operation: "submitSpeech" as const, quantity: 1 };
    const inFlight = [{ ...work, isUnderWay: true }];
    const { admission, ask } = setUp([poolOf("film", { dailyLimit: 10n })], undefined, { inFlight });
    expect(ask("1", "film")).toMatch(/^ShareLimited/);
    admission.release("old", { charged: false });
    expect(ask("1", "film")).toBe("Admitted");
  });
});

describe("weights", () => {
  /** Runs one task at a time for so many turns. Returns how many jobs of each share ran. */
  function run(pools: Pool[], turns: number, jobs: Record<string, number>) {
    const line = setUp(pools, 1);
    const ran: string[] = [];
    for (const [namespace, count] of Object.entries(jobs)) {
      for (let i = 0; i < count; i++) {
        if (line.ask(`${namespace}/${i}`, namespace) === "Admitted") line.woken.push(`${namespace}/${i}`);
      }
    }
    for (let turn = 0; turn < turns; turn++) {
      const [next] = line.woken.splice(0);
      if (next === undefined) break;
      ran.push(next.slice(0, next.indexOf("/")));
      line.finish(next);
    }
    const count = (namespace: string) => ran.filter((one) => one === namespace).length;
    return { ran, count };
  }

  it("shares that wait get requests in proportion to their weights, whatever the number of jobs and namespaces", () => {
    const pools = [poolOf("film", { weight: 3 }), poolOf("voice", { weight: 1, namespaces: ["v1", "v2"] })];
    const { count } = run(pools, 400, { film: 1_000, v1: 300, v2: 300 });
    expect([count("film"), count("v1"), count("v2")]).toEqual([300, 50, 50]);
  });

  it("a share that comes later takes turns at once, and catches up on nothing", () => {
    const line = setUp([poolOf("a"), poolOf("b")], 1);
    const ran: string[] = [];
    const ask = (namespace: string) => {
      for (let i = 0; i < 60; i++) {
        const uid = `${namespace}/${i}`;
        if (line.ask(uid, namespace) === "Admitted") line.woken.push(uid);
      }
    };
    ask("b");
    for (let turn = 0; turn < 60; turn++) {
      if (turn === 40) ask("a");
      const [next = ""] = line.woken.splice(0);
      ran.push(next.slice(0, 1));
      line.finish(next);
    }
    expect(ran.slice(40).filter((one) => one === "a").length).toBeLessThanOrEqual(11);
    expect(ran.slice(40).filter((one) => one === "a").length).toBeGreaterThanOrEqual(9);
  });

  it("what one share leaves goes to the others, and an idle share saves nothing up", () => {
    const pools = [poolOf("a"), poolOf("b"), poolOf("c")];
    const { ran, count } = run(pools, 300, { a: 10, b: 200, c: 200 });
    expect(count("a")).toBe(10);
    expect(Math.abs(count("b") - count("c"))).toBeLessThanOrEqual(1);
    expect(ran.slice(0, 30).filter((one) => one === "a")).toHaveLength(10);
  });
});
