import { describe, expect, it } from "vitest";
import { type Delivery, ServiceError, type ServiceErrorKind } from "../../../../src/provider/errors.ts";
import { createBreaker } from "../../../../src/provider/http/breaker.ts";
import type { Operation } from "../../../../src/provider/operations.ts";
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

describe("unknown outcomes", () => {
  const of = (operation: Operation, kind: ServiceErrorKind, delivery: Delivery) =>
    new ServiceError({ operation, kind, delivery, message: "it failed" });

  it.each<[Operation, ServiceErrorKind, Delivery, opensAfter: number]>([
    ["submitSpeech", "ServerError", "Unknown", 3],
    ["synthesizeSpeech", "Timeout", "Unknown", 3],
    ["streamSpeech", "ConnectionLost", "Unknown", 3],
    ["submitImageToVideo", "UnreadableResponse", "Unknown", 3],
    ["submitVideoToVideo", "GatewayError", "Unknown", 3],
    ["submitSpeech", "NotFound", "Unknown", 3],
    ["submitSpeech", "RateLimited", "Unknown", 3],
    ["submitSpeech", "InsufficientBalance", "Unknown", 3],
    ["submitSpeech", "Unreachable", "NotSent", 5],
    ["createEndpoint", "ServerError", "Unknown", 5],
    ["createEndpoint", "NotFound", "Unknown", 5],
    ["updateEndpoint", "InvalidRequest", "Unknown", 5],
    ["deleteEndpoint", "UnreadableResponse", "Unknown", 5],
    ["getTaskResult", "ServerError", "Unknown", 5],
    ["submitSpeech", "InvalidRequest", "Refused", Infinity],
    ["getTaskResult", "NotFound", "Unknown", Infinity],
    ["submitSpeech", "Aborted", "Unknown", Infinity],
  ])("%s with %s (%s): opens after %d in a row", (operation, kind, delivery, opensAfter) => {
    const { breaker } = setUp();
    let failures = 0;
    while (failures < 20 && breaker.state(operation) === "Closed") {
      breaker.ended(operation, of(operation, kind, delivery));
      failures += 1;
    }
    expect(breaker.state(operation) === "Closed" ? Infinity : failures).toBe(opensAfter);
  });

  it("of a paid operation are counted apart: a failure that was not sent neither adds one nor ends the row", () => {
    const { breaker } = setUp();
    const unknown = of("submitSpeech", "ServerError", "Unknown");
    breaker.ended("submitSpeech", unknown);
    breaker.ended("submitSpeech", of("submitSpeech", "Unreachable", "NotSent"));
    breaker.ended("submitSpeech", unknown);
    expect(breaker.state("submitSpeech")).toBe("Closed");
    breaker.ended("submitSpeech", undefined);
    breaker.ended("submitSpeech", unknown);
    breaker.ended("submitSpeech", unknown);
    expect(breaker.state("submitSpeech")).toBe("Closed");
    breaker.ended("submitSpeech", unknown);
    expect(breaker.state("submitSpeech")).toBe("Open");
    expect(() => breaker.check("submitSpeech")).toThrow(/keeps failing/);
  });

  it("pause a paid operation for up to ten minutes: each try may cost another job", async () => {
    const { clock, breaker } = setUp();
    const unknown = of("submitSpeech", "ServerError", "Unknown");
    for (let i = 0; i < 3; i++) breaker.ended("submitSpeech", unknown);
    const pauses: number[] = [];
    for (let round = 0; round < 9; round++) {
      const began = clock.monotonic();
      while (breaker.state("submitSpeech") === "Open") await clock.advance(500);
      pauses.push(clock.monotonic() - began);
      breaker.enter("submitSpeech");
      breaker.ended("submitSpeech", unknown);
    }
    expect(pauses).toEqual([5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 600_000, 600_000]);
  });

  it("stop calls that waited to be sent when the circuit opened", () => {
    const { breaker } = setUp();
    breaker.enter("submitSpeech");
    for (let i = 0; i < 3; i++) breaker.ended("submitSpeech", of("submitSpeech", "ServerError", "Unknown"));
    expect(() => breaker.recheck("submitSpeech")).toThrow(/not sent/);
  });

  it("do not stop the one try of an open circuit", async () => {
    const { clock, breaker } = setUp();
    for (let i = 0; i < 3; i++) breaker.ended("submitSpeech", of("submitSpeech", "ServerError", "Unknown"));
    await clock.advance(5_000);
    breaker.enter("submitSpeech");
    expect(() => breaker.recheck("submitSpeech")).not.toThrow();
  });
});

describe("an operation that the service does not allow", () => {
  const forbidden = (operation: Operation, delivery: Delivery = "Refused") =>
    new ServiceError({ operation, kind: "Forbidden", delivery, status: 403, reason: "no video", message: "no" });

  it.each<[Operation, opensAfter: number]>([
    ["submitImageToVideo", 3],
    ["submitSpeech", 3],
    ["createEndpoint", 3],
    ["listBills", Infinity],
    ["getEndpoint", Infinity],
    ["updateEndpoint", Infinity],
    ["deleteEndpoint", Infinity],
    ["getTaskResult", Infinity],
  ])("%s: %d refusals in a row open its circuit", (operation, opensAfter) => {
    const { breaker } = setUp();
    let refusals = 0;
    while (refusals < 20 && breaker.state(operation) === "Closed") {
      breaker.ended(operation, forbidden(operation));
      refusals += 1;
    }
    expect(breaker.state(operation) === "Closed" ? Infinity : refusals).toBe(opensAfter);
  });

  it("is refused with the service's words, and no other operation is", () => {
    const { breaker } = setUp();
    for (let i = 0; i < 3; i++) breaker.ended("submitImageToVideo", forbidden("submitImageToVideo"));
    const refused = (() => {
      try {
        breaker.check("submitImageToVideo");
      } catch (cause) {
        return cause;
      }
    })();
    expect(refused).toMatchObject({ kind: "Forbidden", delivery: "NotSent", retryAfterMs: 30_000 + 1_500 });
    expect(refused).not.toHaveProperty("status");
    expect(String(refused)).toContain("the service does not allow this operation (403: no video)");
    expect(() => breaker.check("submitVideoToVideo")).not.toThrow();
  });

  it("is tried by one call per pause, which doubles up to ten minutes", async () => {
    const { clock, breaker } = setUp();
    for (let i = 0; i < 3; i++) breaker.ended("submitSpeech", forbidden("submitSpeech"));
    const pauses: number[] = [];
    for (let round = 0; round < 7; round++) {
      const began = clock.monotonic();
      while (breaker.state("submitSpeech") === "Open") await clock.advance(500);
      pauses.push(clock.monotonic() - began);
      breaker.enter("submitSpeech");
      expect(() => breaker.enter("submitSpeech")).toThrow(/does not allow/);
      breaker.ended("submitSpeech", forbidden("submitSpeech"));
    }
    expect(pauses).toEqual([30_000, 60_000, 120_000, 240_000, 480_000, 600_000, 600_000]);
  });

  it("is allowed again as soon as a try succeeds", async () => {
    const { clock, breaker } = setUp();
    for (let i = 0; i < 3; i++) breaker.ended("submitSpeech", forbidden("submitSpeech"));
    await clock.advance(30_000);
    breaker.enter("submitSpeech");
    breaker.ended("submitSpeech", undefined);
    expect(breaker.state("submitSpeech")).toBe("Closed");
  });

  it("is not counted again for a call that the circuit refuses, and a success in between ends the row", () => {
    const { breaker } = setUp();
    breaker.ended("submitSpeech", forbidden("submitSpeech"));
    breaker.ended("submitSpeech", forbidden("submitSpeech", "NotSent"));
    breaker.ended("submitSpeech", forbidden("submitSpeech"));
    expect(breaker.state("submitSpeech")).toBe("Closed");
    breaker.ended("submitSpeech", undefined);
    breaker.ended("submitSpeech", forbidden("submitSpeech"));
    breaker.ended("submitSpeech", forbidden("submitSpeech"));
    expect(breaker.state("submitSpeech")).toBe("Closed");
  });
});

describe("the breaker", () => {
  it("stays open when it refuses a call that waited for a connection", () => {
    const { breaker, fail, refusal } = setUp();
    breaker.enter("getEndpoint");
    fail(5);
    const refused = (() => {
      try {
        breaker.recheck("getEndpoint");
      } catch (cause) {
        return cause;
      }
    })();
    if (!(refused instanceof ServiceError)) throw new Error("the call was not refused");
    breaker.ended("getEndpoint", refused);
    expect(refusal()).toMatchObject({ kind: "BreakerOpen" });
  });

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

  it.each<[Operation, ServiceErrorKind, pauses: number[]]>([
    ["getTaskResult", "ServerError", [5_000, 10_000, 10_000, 10_000]],
    ["listEndpoints", "Timeout", [5_000, 10_000, 10_000, 10_000]],
    ["listEndpointsEarlier", "GatewayError", [5_000, 10_000, 10_000, 10_000]],
    ["getTaskResult", "UnreadableResponse", [5_000, 10_000, 20_000, 40_000]],
  ])("a read that statuses are made from is tried again soon: %s after %s", async (operation, kind, expected) => {
    const { clock, breaker } = setUp();
    const failed = new ServiceError({ operation, kind, delivery: "Unknown", message: "it failed" });
    for (let i = 0; i < 5; i++) breaker.ended(operation, failed);
    const pauses: number[] = [];
    for (let round = 0; round < 4; round++) {
      const began = clock.monotonic();
      while (breaker.state(operation) === "Open") await clock.advance(500);
      pauses.push(clock.monotonic() - began);
      breaker.enter(operation);
      breaker.ended(operation, failed);
    }
    expect(pauses).toEqual(expected);
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
