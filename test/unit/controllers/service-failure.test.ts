import { describe, expect, it } from "vitest";
import { type Failure, failureOf, isUnknownDelivery } from "../../../src/controllers/service-failure.ts";
import { ServiceError, type ServiceErrorDetails } from "../../../src/provider/errors.ts";

const error = (kind: ServiceErrorDetails["kind"], change: Partial<ServiceErrorDetails> = {}) =>
  new ServiceError({ operation: "updateEndpoint", kind, delivery: "Refused", message: "said so", ...change });

describe("what a failed call leads to", () => {
  it.each<[ServiceErrorDetails["kind"], Partial<Failure>]>([
    ["Unauthorized", { kind: "AccountHeld" }],
    ["NotEntitled", { kind: "Stalled", reason: "NotEntitled" }],
    ["InsufficientBalance", { kind: "Stalled", reason: "InsufficientBalance" }],
    ["QuotaExceeded", { kind: "Stalled", reason: "InsufficientBalance" }],
    ["InvalidRequest", { kind: "Stalled", reason: "RemoteRefused" }],
    ["NotFound", { kind: "Stalled", reason: "RemoteRefused" }],
    ["Misconfigured", { kind: "Stalled", reason: "AccountNotReady" }],
    ["RateLimited", { kind: "Wait", reason: "RateLimited" }],
    ["Unreachable", { kind: "Retry", reason: "Unreachable" }],
    ["ServerError", { kind: "Retry", reason: "Retrying" }],
    ["Timeout", { kind: "Retry", reason: "Retrying" }],
    ["ConnectionLost", { kind: "Retry", reason: "Retrying" }],
    ["GatewayError", { kind: "Retry", reason: "Retrying" }],
    ["UnreadableResponse", { kind: "Retry", reason: "Retrying" }],
    ["Aborted", { kind: "Retry", reason: "Retrying" }],
  ])("%s", (kind, expected) => {
    const failure = failureOf(error(kind));
    expect(failure).toMatchObject(expected);
    expect(failure.message).toContain("updateEndpoint: said so");
    // Whatever a person must mend says how.
    if (failure.kind === "Stalled") expect(failure.message.length).toBeGreaterThan("updateEndpoint: said so: ".length);
  });

  it("waits as long as the service asks", () => {
    expect(failureOf(error("RateLimited", { retryAfterMs: 7_000 }))).toMatchObject({ retryAfterMs: 7_000 });
  });

  it.each([
    ["Unknown", true],
    ["Refused", false],
    ["NotSent", false],
  ] as const)("delivery %s", (delivery, unknown) => {
    expect(isUnknownDelivery(error("Timeout", { delivery }))).toBe(unknown);
    expect(isUnknownDelivery(new Error("Unknown"))).toBe(false);
  });
});
