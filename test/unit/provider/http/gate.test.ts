import { describe, expect, it } from "vitest";
import { createGate, type EnterOptions, type GateOptions } from "../../../../src/provider/http/gate.ts";
import type { Operation } from "../../../../src/provider/operations.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

function setUp(options: Partial<GateOptions> = {}) {
  const clock = createFakeClock(1_000_000);
  const gate = createGate({ clock, random: () => 0.5, requestsPerSecond: 10, burst: 2, ...options });
  const went: { name: string; at: number }[] = [];
  const now = () => clock.now() - 1_000_000;
  const go = (name: string, operation: Operation = "getEndpoint", enter: EnterOptions = {}) => {
    void gate.enter(operation, enter).then((pass) => {
      went.push({ name, at: now() });
      pass.leave();
    });
  };
  return { clock, gate, went, go, now, names: () => went.map(({ name }) => name) };
}

describe("the account's rate", () => {
  it("lets the burst go at once and the rest at the rate, in order of arrival", async () => {
    const { clock, gate, went, go } = setUp();
    for (const name of ["a", "b", "c", "d"]) go(name);
    await clock.advance(0);
    expect(gate.waiting()).toBe(2);
    await clock.advance(1000);
    expect(went).toEqual([
      { name: "a", at: 0 },
      { name: "b", at: 0 },
      { name: "c", at: 100 },
      { name: "d", at: 200 },
    ]);
    expect(gate.waiting()).toBe(0);
  });

  it.each([
    { name: "back", byMs: -86_400_000 },
    { name: "forward", byMs: 86_400_000 },
  ])("does not notice that the wall clock is set $name", async ({ byMs }) => {
    const { clock, gate, names, go } = setUp();
    for (const name of ["a", "b", "c"]) go(name);
    gate.rateLimited("listBills", 60_000);
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
    const second = createGate({ clock, random: () => 0.5, requestsPerSecond: 10, burst: 20, startsEmpty: true });
    for (let i = 0; i < 25; i++) void second.enter("getEndpoint").then(() => went.push({ name: "second", at: 0 }));
    await clock.advance(500);
    expect(went.length).toBeLessThanOrEqual(20 + 10);
    expect(went.filter(({ name }) => name === "second")).toHaveLength(5);
  });

  it("a call that is given up before it goes makes room", async () => {
    const { clock, gate, went, go } = setUp({ burst: 1 });
    const controller = new AbortController();
    go("a");
    const given = expect(gate.enter("getEndpoint", { signal: controller.signal })).rejects.toThrow("enough");
    controller.abort(new Error("enough"));
    await given;
    go("c");
    await clock.advance(150);
    expect(went).toEqual([
      { name: "a", at: 0 },
      { name: "c", at: 100 },
    ]);
  });

  it("calls whose time comes while the process is paused go at the rate, not together with the burst", async () => {
    const { clock, went, go } = setUp();
    for (let i = 0; i < 6; i++) go(`${i}`);
    await clock.advance(0);
    clock.pause(5_000);
    for (let i = 6; i < 9; i++) go(`${i}`);
    await clock.advance(1_000);
    expect(went.map(({ at }) => at)).toEqual([0, 0, 5_000, 5_000, 5_100, 5_200, 5_300, 5_400, 5_500]);
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

describe("the order", () => {
  it("urgent calls go before routine ones, which have every eighth turn", async () => {
    const { clock, go, names } = setUp({ burst: 1 });
    go("first"); // nobody waits: this is no turn
    go("low", "getEndpoint", { lane: "routine" });
    for (let i = 0; i < 20; i++) go(`high-${i}`, "getTaskResult");
    await clock.advance(900);
    expect(names().slice(0, 4)).toEqual(["first", "high-0", "high-1", "high-2"]);
    expect(names().indexOf("low")).toBe(1 + 7);
  });

  it("the probe goes before all others", async () => {
    const { clock, go, names } = setUp({ burst: 1 });
    for (const name of ["a", "b", "c"]) go(name);
    go("probe", "getEndpointLimits", { lane: "first" });
    await clock.advance(1_000);
    expect(names()).toEqual(["a", "probe", "b", "c"]);
  });

  it("groups and operations take turns", async () => {
    const { clock, go, names } = setUp({ burst: 1 });
    for (let i = 0; i < 50; i++) go(`many-${i}`, "getTaskResult", { group: "many" });
    go("few", "getTaskResult", { group: "few" });
    go("create", "createEndpoint", { group: "many" });
    await clock.advance(1_000);
    expect(names().slice(0, 5)).toEqual(["many-0", "many-1", "few", "create", "many-2"]);
  });
});

describe("a call that was let in", () => {
  it("has a token for a second, and then takes another one before all others", async () => {
    const { clock, gate, go, now, names } = setUp({ burst: 1 });
    const pass = await gate.enter("submitSpeech");
    await clock.advance(1_000);
    expect(pass.isFresh()).toBe(true);
    await clock.advance(1);
    expect(pass.isFresh()).toBe(false);
    for (let i = 0; i < 3; i++) go(`${i}`);
    let renewedAt: number | undefined;
    void pass.renew().then(() => {
      renewedAt = now();
    });
    await clock.advance(150);
    expect([names(), renewedAt, pass.isFresh()]).toEqual([["0"], 1_101, true]);
  });

  it("renews its token within the rates, and not after a pause that began later", async () => {
    const { clock, gate } = setUp({ burst: 20, requestsPerMinute: { submitSpeech: 60 } });
    const passes = [await gate.enter("submitSpeech")];
    void gate.enter("submitSpeech").then((pass) => passes.push(pass));
    await clock.advance(2_500);
    gate.rateLimited("submitSpeech", 60_000);
    const renewed: number[] = [];
    for (const pass of passes) void pass.renew().then(() => renewed.push(clock.now() - 1_002_500));
    await clock.advance(10_000);
    expect(passes).toHaveLength(2);
    expect(renewed).toEqual([0, 1_000]);
  });

  it("takes no token when it is given up while it renews", async () => {
    const { clock, gate, went, go } = setUp({ burst: 1 });
    const pass = await gate.enter("submitSpeech");
    const stop = new AbortController();
    const given = expect(pass.renew(stop.signal)).rejects.toThrow("enough");
    go("next");
    stop.abort(new Error("enough"));
    await given;
    await clock.advance(100);
    expect(went).toEqual([{ name: "next", at: 100 }]);
  });

  it("calls that were held up together leave with the burst and what the rate allows in a second", async () => {
    const { clock, gate, now } = setUp();
    const left: number[] = [];
    const held = new Promise<void>((resolve) => clock.setTimeout(resolve, 2_000));
    for (let i = 0; i < 20; i++) {
      void gate.enter("submitSpeech").then(async (pass) => {
        await held;
        if (!pass.isFresh()) await pass.renew();
        left.push(now());
        pass.leave();
      });
    }
    await clock.advance(5_000);
    expect(left).toHaveLength(20);
    for (const from of left) expect(left.filter((at) => at >= from && at < from + 500).length).toBeLessThanOrEqual(17);
    expect(left.filter((at) => at === 2_000).length).toBeLessThanOrEqual(12);
  });
});

describe("connections", () => {
  it("a call waits for a free one, and takes no token before", async () => {
    const { clock, gate, went, go } = setUp({ requestsPerSecond: 1_000, burst: 100 });
    const passes = await Promise.all(Array.from({ length: 64 }, () => gate.enter("submitSpeech")));
    go("paid", "submitSpeech");
    go("read");
    await clock.advance(10_000);
    expect(went.map(({ name }) => name)).toEqual(["read"]);
    passes[0]?.leave();
    passes[0]?.leave();
    go("later", "submitSpeech");
    await clock.advance(0);
    expect(went.map(({ name }) => name)).toEqual(["read", "paid", "later"]);
    expect(gate.waiting()).toBe(0);
  });
});

describe("a pause", () => {
  it("holds one operation until its time and is never shortened", async () => {
    const { clock, gate, went, go } = setUp();
    gate.rateLimited("submitSpeech", 5000);
    gate.rateLimited("submitSpeech", 1000);
    go("speech", "submitSpeech");
    go("other");
    await clock.advance(10_000);
    expect(went).toEqual([
      { name: "other", at: 0 },
      { name: "speech", at: 5000 },
    ]);
  });

  it("after 429 is what the service asked for", async () => {
    const { clock, gate, went, go } = setUp();
    expect(gate.rateLimited("submitSpeech", 7000)).toBe(7000);
    go("speech", "submitSpeech");
    await clock.advance(10_000);
    expect(went).toEqual([{ name: "speech", at: 7000 }]);
  });

  it("after 429 without a time doubles from 1 s to 60 s, and starts again after a success", async () => {
    const { clock, gate } = setUp();
    const pauses: number[] = [];
    for (let i = 0; i < 8; i++) {
      pauses.push(gate.rateLimited("submitSpeech"));
      await clock.advance(60_000);
    }
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
    gate.succeeded("submitSpeech");
    expect(gate.rateLimited("submitSpeech")).toBe(1000);
  });

  it.each([0, 1, 10, 999])("after 429 is never shorter than the backoff: Retry-After %d ms", async (asked) => {
    const { clock, gate } = setUp();
    const pauses: number[] = [];
    for (let i = 0; i < 8; i++) {
      pauses.push(gate.rateLimited("submitSpeech", asked));
      await clock.advance(60_000);
    }
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  });

  it("is one pause for calls that were refused together", () => {
    const { gate } = setUp();
    const pauses = Array.from({ length: 10 }, () => gate.rateLimited("submitSpeech"));
    expect(pauses).toEqual(pauses.map(() => 1000));
  });

  it.each([
    [0, 800],
    [0.999_999, 1200],
  ])("has jitter: %d", (random, expected) => {
    const { gate } = setUp({ random: () => random });
    expect(Math.round(gate.rateLimited("submitSpeech"))).toBe(expected);
  });
});

describe("giving up", () => {
  it("uses nothing up and holds nobody up", async () => {
    const { clock, gate, names, go } = setUp({ burst: 1 });
    go("a");
    const controller = new AbortController();
    const reason = new Error("stop");
    const given = gate.enter("getEndpoint", { signal: controller.signal });
    go("c");
    controller.abort(reason);
    await expect(given).rejects.toBe(reason);
    expect(gate.waiting()).toBe(1);
    await clock.advance(100);
    expect(names()).toEqual(["a", "c"]);
    await expect(gate.enter("getEndpoint", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});
