import { describe, expect, it } from "vitest";
import { ServiceError, type ServiceErrorKind } from "../../../../src/provider/errors.ts";
import { createBreaker } from "../../../../src/provider/http/breaker.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const error = (kind: ServiceErrorKind) =>
  new ServiceError({ operation: "getEndpoint", kind, delivery: "Unknown", message: "it failed" });

function setUp() {
  const clock = createFakeClock();
  const breaker = createBreaker({ clock, random: () => 0.5 });
  const fail = (times: number, kind: ServiceErrorKind = "ServerError") => {
    for (let i = 0; i < times; i++) breaker.ended("getEndpoint", error(kind));
  };
  const refusal = (): ServiceError | undefined => {
    try {
      breaker.check("getEndpoint");
      return undefined;
    } catch (thrown) {
      return thrown as ServiceError;
    }
  };
  return { clock, breaker, fail, refusal };
}

describe("the breaker", () => {
  it.each(["ServerError", "GatewayError", "Unreachable", "Timeout", "ConnectionLost", "UnreadableResponse"] as const)(
    "opens after five %s in a row, and for this operation only",
    (kind) => {
      const { breaker, fail, refusal } = setUp();
      fail(4, kind);
      expect(refusal()).toBeUndefined();
      fail(1, kind);
      expect(refusal()).toMatchObject({ kind: "BreakerOpen", delivery: "NotSent" });
      expect(breaker.state("getEndpoint")).toBe("Open");
      expect(() => breaker.check("listBills")).not.toThrow();
    },
  );

  it.each(["InvalidRequest", "NotFound", "RateLimited", "InsufficientBalance", "Unauthorized"] as const)(
    "takes %s for an answer",
    (kind) => {
      const { fail, refusal } = setUp();
      fail(4);
      fail(1, kind);
      fail(4);
      expect(refusal()).toBeUndefined();
    },
  );

  it("a success in between forgets the failures; a call that was given up says nothing", () => {
    const { breaker, fail, refusal } = setUp();
    fail(4);
    breaker.ended("getEndpoint", undefined);
    fail(4);
    breaker.ended("getEndpoint", error("Aborted"));
    expect(refusal()).toBeUndefined();
    fail(1);
    expect(refusal()).toBeDefined();
  });

  it("lets one call try after the pause, and closes when it works", async () => {
    const { clock, breaker, fail, refusal } = setUp();
    fail(5);
    expect(refusal()?.retryAfterMs).toBe(5_000 + 1_500);
    await clock.advance(5_000);
    expect(breaker.state("getEndpoint")).toBe("HalfOpen");
    breaker.enter("getEndpoint");
    expect(() => breaker.enter("getEndpoint")).toThrow(/keeps failing/);
    breaker.ended("getEndpoint", undefined);
    expect(breaker.state("getEndpoint")).toBe("Closed");
    expect(refusal()).toBeUndefined();
  });

  it("waits twice as long after each try that fails, a minute at most", async () => {
    const { clock, breaker, fail } = setUp();
    fail(5);
    const pauses: number[] = [];
    for (let round = 0; round < 6; round++) {
      const began = clock.monotonic();
      while (breaker.state("getEndpoint") === "Open") await clock.advance(500);
      pauses.push(clock.monotonic() - began);
      breaker.enter("getEndpoint");
      fail(1);
    }
    expect(pauses).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  });

  it("a try that was given up lets the next one try", async () => {
    const { clock, breaker, fail } = setUp();
    fail(5);
    await clock.advance(5_000);
    breaker.enter("getEndpoint");
    breaker.ended("getEndpoint", error("Aborted"));
    expect(() => breaker.enter("getEndpoint")).not.toThrow();
  });

  it("calls in flight together that fail together are one round", async () => {
    const { clock, breaker, fail } = setUp();
    fail(50);
    await clock.advance(5_000);
    expect(breaker.state("getEndpoint")).toBe("HalfOpen");
  });

  it("sends nothing for a held account but its probe, which no failure stops", () => {
    let held: string | undefined = "the service refuses the key";
    const breaker = createBreaker({
      clock: createFakeClock(),
      random: () => 0.5,
      held: () => held,
      probe: "getEndpointLimits",
    });
    expect(() => breaker.check("getEndpoint")).toThrow("getEndpoint: not sent: the service refuses the key");
    for (let i = 0; i < 9; i++) breaker.ended("getEndpointLimits", error("ServerError"));
    expect(() => breaker.enter("getEndpointLimits")).not.toThrow();
    held = undefined;
    expect(() => breaker.enter("getEndpoint")).not.toThrow();
  });
});
