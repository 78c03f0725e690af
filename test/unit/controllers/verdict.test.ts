import { describe, expect, it } from "vitest";
import { ArtifactError } from "../../../src/artifacts/errors.ts";
import { StalledError } from "../../../src/controllers/references.ts";
import { concernsKey, serviceVerdict, type Verdict, verdictOf } from "../../../src/controllers/verdict.ts";
import { ServiceError, type ServiceErrorDetails } from "../../../src/provider/errors.ts";

const error = (kind: ServiceErrorDetails["kind"], change: Partial<ServiceErrorDetails> = {}) =>
  new ServiceError({ operation: "updateEndpoint", kind, delivery: "Refused", message: "said so", ...change });

describe("the verdict on a failed call", () => {
  it.each<{ kind: ServiceErrorDetails["kind"]; expected: Partial<Verdict> }>([
    { kind: "Unauthorized", expected: { kind: "Waiting", reason: "AccountNotReady" } },
    { kind: "Forbidden", expected: { kind: "Stalled", reason: "OperationForbidden" } },
    { kind: "NotEntitled", expected: { kind: "Stalled", reason: "NotEntitled" } },
    { kind: "InsufficientBalance", expected: { kind: "Stalled", reason: "InsufficientBalance" } },
    { kind: "QuotaExceeded", expected: { kind: "Stalled", reason: "InsufficientBalance" } },
    { kind: "InvalidRequest", expected: { kind: "Stalled", reason: "RemoteRefused" } },
    { kind: "NotFound", expected: { kind: "Stalled", reason: "RemoteRefused" } },
    { kind: "Misconfigured", expected: { kind: "Stalled", reason: "AccountNotReady" } },
    { kind: "WrongPath", expected: { kind: "Stalled", reason: "PathNotFound" } },
    { kind: "RateLimited", expected: { kind: "Waiting", reason: "RateLimited" } },
    { kind: "BreakerOpen", expected: { kind: "Waiting", reason: "Retrying" } },
    { kind: "Unreachable", expected: { kind: "Retry", reason: "Unreachable" } },
    { kind: "ServerError", expected: { kind: "Retry", reason: "Retrying" } },
    { kind: "Timeout", expected: { kind: "Retry", reason: "Retrying" } },
    { kind: "ConnectionLost", expected: { kind: "Retry", reason: "Retrying" } },
    { kind: "GatewayError", expected: { kind: "Retry", reason: "Retrying" } },
    { kind: "UnreadableResponse", expected: { kind: "Retry", reason: "Retrying" } },
    { kind: "Aborted", expected: { kind: "Retry", reason: "Retrying" } },
  ])("$kind", ({ kind, expected }) => {
    const verdict = serviceVerdict(error(kind));
    expect(verdict).toMatchObject(expected);
    expect(verdict).toHaveProperty("message", expect.stringContaining("updateEndpoint: said so"));
    // A message that asks for an action names it.
    if (verdict.kind === "Stalled") expect(verdict.message.length).toBeGreaterThan("updateEndpoint: said so: ".length);
  });

  it("waits as long as the service asks", () => {
    expect(serviceVerdict(error("RateLimited", { retryAfterMs: 7_000 }))).toMatchObject({ againMs: 7_000 });
  });

  it.each(["RateLimited", "BreakerOpen"] as const)("waits longer than a service that asks for no wait: %s", (kind) => {
    expect(serviceVerdict(error(kind, { retryAfterMs: 0 }))).toMatchObject({ againMs: 2_000 });
  });

  it("only a refused key concerns the whole account", () => {
    expect(concernsKey(error("Unauthorized"))).toBe(true);
    expect(concernsKey(error("NotEntitled"))).toBe(false);
    expect(concernsKey(error("Forbidden"))).toBe(false);
    expect(concernsKey(new Error("Unauthorized"))).toBe(false);
  });
});

describe("the verdict on other errors", () => {
  it.each([
    {
      name: "a missing Secret",
      thrown: new StalledError("SecretNotFound", "Secret a/b does not exist: create it"),
      expected: { kind: "Stalled", reason: "SecretNotFound", message: "Secret a/b does not exist: create it" },
    },
    {
      name: "a full store",
      thrown: new ArtifactError("NoSpace", "the volume is full"),
      expected: { kind: "Stalled", reason: "StoreFull", message: "the volume is full" },
    },
    {
      name: "an unreachable store",
      thrown: new ArtifactError("StoreUnreachable", "no answer"),
      expected: { kind: "Retry", reason: "Unreachable", message: "no answer" },
    },
    {
      name: "an unexpected error",
      thrown: new Error("odd"),
      expected: { kind: "Retry", reason: "Retrying", message: "odd" },
    },
  ])("$name", ({ thrown, expected }) => {
    expect(verdictOf(thrown)).toMatchObject(expected);
  });
});
