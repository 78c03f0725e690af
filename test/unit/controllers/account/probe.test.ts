import { describe, expect, it } from "vitest";
import { type Probe, probeAccount } from "../../../../src/controllers/account/probe.ts";
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

  it("that is given up tells nothing about the account", async () => {
    const message = "the lease is not surely held";
    const error = new ServiceError({ operation: "getEndpointLimits", kind: "Aborted", delivery: "NotSent", message });
    await expect(probeAccount({ probe: () => Promise.reject(error) }, signal)).rejects.toBe(error);
  });

  it("that is not answered is repeated after 1 s, then with doubled pauses of at most 10 s", async () => {
    const pauses: number[] = [];
    for (let i = 0, last: Probe | undefined; i < 6; i++) {
      last = await probeAccount(failing("GatewayError", 504), signal, last);
      pauses.push(last.againMs);
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  });

  it("that is answered ends the doubling", async () => {
    const unanswered = await probeAccount(failing("Timeout"), signal);
    const refused = await probeAccount(failing("Unauthorized", 401), signal, unanswered);
    expect(await probeAccount(failing("Timeout"), signal, refused)).toMatchObject({ againMs: 1_000 });
  });
});
