import { describe, expect, it } from "vitest";
import { createLimiter, type LimiterOptions } from "../../../../src/provider/http/limiter.ts";
import type { Operation } from "../../../../src/provider/operations.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

function setUp(options: Partial<LimiterOptions> = {}) {
  const clock = createFakeClock(1_000_000);
  const limiter = createLimiter({ clock, random: () => 0.5, requestsPerSecond: 10, burst: 2, ...options });
  const went: { name: string; at: number }[] = [];
  const go = (name: string, operation: Operation = "getEndpoint", priority = 0) => {
    void limiter.acquire(operation, { priority }).then(() => went.push({ name, at: clock.now() - 1_000_000 }));
  };
  return { clock, limiter, went, go, names: () => went.map(({ name }) => name) };
}

describe("the account's rate", () => {
  it("lets the burst go at once and the rest at the rate, in order of arrival", async () => {
    const { clock, limiter, went, go } = setUp();
    for (const name of ["a", "b", "c", "d"]) go(name);
    await clock.advance(0);
    expect(limiter.waiting()).toBe(2);
    await clock.advance(1000);
    expect(went).toEqual([
      { name: "a", at: 0 },
      { name: "b", at: 0 },
      { name: "c", at: 100 },
      { name: "d", at: 200 },
    ]);
    expect(limiter.waiting()).toBe(0);
  });

  it.each([
    { name: "back", byMs: -86_400_000 },
    { name: "forward", byMs: 86_400_000 },
  ])("does not notice that the wall clock is set $name", async ({ byMs }) => {
    const { clock, limiter, names, go } = setUp();
    for (const name of ["a", "b", "c"]) go(name);
    limiter.rateLimited("listBills", 60_000);
    go("bills", "listBills");
    await clock.advance(50);
    clock.setWallClock(byMs);
    await clock.advance(90); // the refusal lowers the rate
    expect(names()).toEqual(["a", "b", "c"]);
    for (let i = 0; i < 5; i++) go(`d${i}`);
    await clock.advance(700);
    expect(names()).toHaveLength(8);
    await clock.advance(57_760);
    expect(names()).not.toContain("bills");
    await clock.advance(2_000);
    expect(names()).toContain("bills");
  });

  it("never goes above rate x time + burst in any window", async () => {
    const { clock, went, go } = setUp();
    for (let i = 0; i < 60; i++) go(`${i}`);
    await clock.advance(10_000);
    expect(went).toHaveLength(60);
    for (const { at: from } of went) {
      const inWindow = went.filter(({ at }) => at >= from && at < from + 1000).length;
      expect(inWindow).toBeLessThanOrEqual(12);
    }
  });

  it("gives no more than the burst after a long quiet time, and nothing for a clock set back", async () => {
    const { clock, went, go } = setUp();
    await clock.advance(3_600_000);
    for (let i = 0; i < 5; i++) go(`${i}`);
    await clock.advance(0);
    expect(went).toHaveLength(2);
  });

  it("two processes after each other use no more than one would, when the second begins empty", async () => {
    const { clock, went, go } = setUp({ burst: 20 });
    for (let i = 0; i < 25; i++) go(`first-${i}`);
    await clock.advance(500);
    const second = createLimiter({ clock, random: () => 0.5, requestsPerSecond: 10, burst: 20, startsEmpty: true });
    for (let i = 0; i < 25; i++) void second.acquire("getEndpoint").then(() => went.push({ name: "second", at: 0 }));
    await clock.advance(500);
    expect(went.length).toBeLessThanOrEqual(20 + 10);
    expect(went.filter(({ name }) => name === "second")).toHaveLength(5);
  });

  it("calls that were held up after their turn leave at the rate, not in a heap", async () => {
    const { clock, limiter } = setUp();
    const left: number[] = [];
    const held = new Promise<void>((resolve) => clock.setTimeout(resolve, 2_000));
    for (let i = 0; i < 20; i++) {
      void limiter.acquire("submitSpeech").then(async () => {
        await held;
        await limiter.depart("submitSpeech");
        left.push(clock.now() - 1_000_000);
      });
    }
    await clock.advance(2_000);
    expect(left).toEqual([2_000, 2_000]);
    await clock.advance(2_000);
    expect(left.slice(0, 5)).toEqual([2_000, 2_000, 2_100, 2_200, 2_300]);
    expect(left).toHaveLength(20);
  });

  it("a call that was let go leaves at once when nothing held it up", async () => {
    const { clock, limiter } = setUp();
    const left: number[] = [];
    for (let i = 0; i < 5; i++) {
      void limiter
        .acquire("getEndpoint")
        .then(() => limiter.depart("getEndpoint"))
        .then(() => left.push(clock.now() - 1_000_000));
    }
    await clock.advance(1_000);
    expect(left).toEqual([0, 0, 100, 200, 300]);
  });

  it("a call that is given up before it leaves makes room", async () => {
    const { clock, limiter } = setUp({ burst: 1 });
    const left: number[] = [];
    const depart = (signal?: AbortSignal) =>
      limiter.depart("getEndpoint", signal).then(() => left.push(clock.now() - 1_000_000));
    const controller = new AbortController();
    await depart();
    const refused = expect(depart(controller.signal)).rejects.toThrow("enough");
    controller.abort(new Error("enough"));
    await refused;
    void depart();
    await clock.advance(150);
    expect(left).toEqual([0, 100]);
  });

  it("calls whose time comes while the process is paused leave at the rate, not together with the burst", async () => {
    const { clock, limiter } = setUp();
    const left: number[] = [];
    const depart = () => void limiter.depart("getEndpoint").then(() => left.push(clock.now() - 1_000_000));
    for (let i = 0; i < 6; i++) depart();
    await clock.advance(0);
    clock.pause(5_000);
    for (let i = 0; i < 3; i++) depart();
    await clock.advance(1_000);
    expect(left).toEqual([0, 0, 5_000, 5_000, 5_100, 5_200, 5_300, 5_400, 5_500]);
  });

  it("the place of a call that is given up before it leaves goes to the next one", async () => {
    const { clock, limiter } = setUp({ burst: 1 });
    const left: number[] = [];
    const depart = (signal?: AbortSignal) =>
      limiter.depart("getEndpoint", signal).then(
        () => left.push(clock.now() - 1_000_000),
        () => {},
      );
    const controller = new AbortController();
    void depart();
    void depart(controller.signal);
    void depart();
    await clock.advance(0);
    controller.abort();
    void depart();
    await clock.advance(1_000);
    expect(left).toEqual([0, 100, 200]);
  });

  it.each([{ requestsPerSecond: 0 }, { burst: 0 }, { requestsPerMinute: { listBills: -1 } }])(
    "refuses %j",
    (options) => {
      expect(() => setUp(options)).toThrow(RangeError);
    },
  );
});

describe("an operation's own rate", () => {
  it("holds under the account's and holds up no other operation", async () => {
    const { clock, went, go } = setUp({ burst: 10, requestsPerMinute: { listBills: 6 } });
    for (const name of ["bill-1", "bill-2", "bill-3"]) go(name, "listBills");
    go("other");
    await clock.advance(30_000);
    expect(went).toEqual([
      { name: "bill-1", at: 0 },
      { name: "other", at: 0 },
      { name: "bill-2", at: 10_000 },
      { name: "bill-3", at: 20_000 },
    ]);
  });
});

describe("priorities", () => {
  it("let the urgent go first, and every eighth call is the oldest", async () => {
    const { clock, go, names } = setUp({ burst: 1 });
    go("first");
    go("low", "getEndpoint", -1);
    for (let i = 0; i < 20; i++) go(`high-${i}`, "getTaskResult", 1);
    await clock.advance(900);
    expect(names().slice(0, 4)).toEqual(["first", "high-0", "high-1", "high-2"]);
    expect(names().indexOf("low")).toBe(7);
  });
});

describe("a pause", () => {
  it("holds one operation until its time and is never shortened", async () => {
    const { clock, limiter, went, go } = setUp();
    limiter.rateLimited("submitSpeech", 5000);
    limiter.rateLimited("submitSpeech", 1000);
    go("speech", "submitSpeech");
    go("other");
    await clock.advance(10_000);
    expect(went).toEqual([
      { name: "other", at: 0 },
      { name: "speech", at: 5000 },
    ]);
  });

  it("after 429 is what the service asked for", async () => {
    const { clock, limiter, went, go } = setUp();
    expect(limiter.rateLimited("submitSpeech", 7000)).toBe(7000);
    go("speech", "submitSpeech");
    await clock.advance(10_000);
    expect(went).toEqual([{ name: "speech", at: 7000 }]);
  });

  it("after 429 without a time doubles from 1 s to 60 s, and starts again after a success", async () => {
    const { clock, limiter } = setUp();
    const pauses: number[] = [];
    for (let i = 0; i < 8; i++) {
      pauses.push(limiter.rateLimited("submitSpeech"));
      await clock.advance(60_000);
    }
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
    limiter.succeeded("submitSpeech");
    expect(limiter.rateLimited("submitSpeech")).toBe(1000);
  });

  it.each([0, 1, 10, 999])("after 429 is never shorter than the backoff: Retry-After %d ms", async (asked) => {
    const { clock, limiter } = setUp();
    const pauses: number[] = [];
    for (let i = 0; i < 8; i++) {
      pauses.push(limiter.rateLimited("submitSpeech", asked));
      await clock.advance(60_000);
    }
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  });

  it("is one pause for calls that were refused together", () => {
    const { limiter } = setUp();
    const pauses = Array.from({ length: 10 }, () => limiter.rateLimited("submitSpeech"));
    expect(pauses).toEqual(pauses.map(() => 1000));
  });

  it.each([
    [0, 800],
    [0.999_999, 1200],
  ])("has jitter: %d", (random, expected) => {
    const { limiter } = setUp({ random: () => random });
    expect(Math.round(limiter.rateLimited("submitSpeech"))).toBe(expected);
  });
});

describe("giving up", () => {
  it("uses nothing up and holds nobody up", async () => {
    const { clock, limiter, names, go } = setUp({ burst: 1 });
    go("a");
    const controller = new AbortController();
    const reason = new Error("stop");
    const given = limiter.acquire("getEndpoint", { signal: controller.signal });
    go("c");
    controller.abort(reason);
    await expect(given).rejects.toBe(reason);
    expect(limiter.waiting()).toBe(1);
    await clock.advance(100);
    expect(names()).toEqual(["a", "c"]);
    await expect(limiter.acquire("getEndpoint", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

describe("the first byte of a call that waited for a connection", () => {
  const late = 1_001;

  it("leaves within the rate, however many calls wait", async () => {
    const { clock, limiter } = setUp();
    const leaving = () => [1, 2, 3, 4].filter(() => limiter.mayLeave("getEndpoint", late)).length;
    expect([leaving(), leaving()]).toEqual([2, 0]);
    await clock.advance(100);
    expect([leaving(), leaving()]).toEqual([1, 0]);
  });

  it("leaves in any case when the turn of the call is at most 1 s old, and counts", () => {
    const { limiter } = setUp();
    expect([1, 2, 3, 4].map(() => limiter.mayLeave("getEndpoint", 1_000))).toEqual([true, true, true, true]);
    expect(limiter.mayLeave("getEndpoint", late)).toBe(false);
  });

  it("leaves within the rate of its operation, which does not hold up others", async () => {
    const { clock, limiter } = setUp({ burst: 20, requestsPerMinute: { submitSpeech: 60 } });
    expect([1, 2].map(() => limiter.mayLeave("submitSpeech", late))).toEqual([true, false]);
    expect(limiter.mayLeave("getEndpoint", late)).toBe(true);
    await clock.advance(1_000);
    expect([1, 2].map(() => limiter.mayLeave("submitSpeech", late))).toEqual([true, false]);
  });

  it("waits for a token after a takeover", async () => {
    const { clock, limiter } = setUp({ startsEmpty: true });
    expect(limiter.mayLeave("getEndpoint", late)).toBe(false);
    await clock.advance(100);
    expect(limiter.mayLeave("getEndpoint", late)).toBe(true);
  });
});
