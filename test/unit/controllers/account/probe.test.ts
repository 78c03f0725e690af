import { describe, expect, it } from "vitest";
import { probeAccount } from "../../../../src/controllers/account/probe.ts";
import { ServiceError, type ServiceErrorKind } from "../../../../src/provider/errors.ts";

const signal = new AbortController().signal;
const failing = (kind: ServiceErrorKind, status?: number) => ({
  probe: () =>
    Promise.reject(
      new ServiceError({ operation: "getEndpointLimits", kind, delivery: "Refused", message: "said so", status }),
    ),
});

describe("a probe", () => {
  it.each<{ name: string; kind: ServiceErrorKind; status: number; state: object; authenticated: string }>([
    {
      name: "that meets 401 holds the account",
      kind: "Unauthorized",
      status: 401,
      state: { kind: "Held", reason: "Unauthorized" },
      authenticated: "False",
    },
    {
      name: "that meets 403 too holds the account: not a single operation is refused, but the key",
      kind: "Forbidden",
      status: 403,
      state: { kind: "Held", reason: "Unauthorized" },
      authenticated: "False",
    },
    {
      name: "that meets another refusal holds nothing",
      kind: "QuotaExceeded",
      status: 403,
      state: { kind: "Ready" },
      authenticated: "Unknown",
    },
  ])("$name", async ({ kind, status, state, authenticated }) => {
    expect(await probeAccount(failing(kind, status), signal)).toMatchObject({ state, authenticated });
  });
});
