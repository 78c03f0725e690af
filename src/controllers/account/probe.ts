import { ADDRESS_REFUSED } from "../../base/address-guard.ts";
import type { EndpointLimits } from "../../provider/endpoints/limits.ts";
import { isGivenUp, ServiceError } from "../../provider/errors.ts";
import type { AccountSession } from "../../provider/types.ts";
import type { AccountState } from "./registry.ts";

/** What one free call told about the account. */
export type Probe = {
  state: AccountState;
  authenticated: "True" | "False" | "Unknown";
  reachable: "True" | "False";
  /** For the conditions. */
  message: string;
  limits: EndpointLimits | undefined;
  /** When to ask again, ms. */
  againMs: number;
};

const LIMITS_MS = 10 * 60_000;
const UNAUTHORIZED_MS = 30_000;
/** Objects wait for an account that does not answer, so a short failure must not hold them for long. Doubles up to the longest pause. */
const UNREACHABLE_MS = 1_000;
const LONGEST_UNREACHABLE_MS = 10_000;
const OTHER_MS = 30_000;
/** A name may come to resolve to another address. */
const MISCONFIGURED_MS = 60_000;

/**
 * Makes the free call of the session that shows whether the service answers and accepts the key.
 * @param previous the probe before this one
 * @throws the error of a call that was given up: it tells nothing about the service
 */
export async function probeAccount(
  session: Pick<AccountSession, "probe">,
  signal: AbortSignal,
  previous?: Probe,
): Promise<Probe> {
  try {
    const limits = await session.probe(signal);
    return {
      state: { kind: "Ready" },
      authenticated: "True",
      reachable: "True",
      message: "The service takes the key",
      limits,
      againMs: LIMITS_MS,
    };
  } catch (error) {
    if (!(error instanceof ServiceError) || isGivenUp(error)) throw error;
    return probeFailure(error, previous);
  }
}

function probeFailure(error: ServiceError, previous: Probe | undefined): Probe {
  const { message } = error;
  switch (error.kind) {
    case "Unauthorized":
    case "Forbidden":
      return {
        state: { kind: "Held", reason: "Unauthorized", message: `the service refuses the key: ${message}` },
        authenticated: "False",
        reachable: "True",
        message: `${message}: put a valid key into the Secret of apiKeySecretRef`,
        limits: undefined,
        againMs: UNAUTHORIZED_MS,
      };
    case "Misconfigured": {
      // Refused by the address guard, or a base URL that cannot be one: only a changed spec helps.
      const reason = isAddressRefusal(error.cause) ? "AddressNotAllowed" : "InvalidSpec";
      return {
        state: { kind: "Held", reason, message },
        authenticated: "Unknown",
        reachable: "False",
        // The guard's own words say which setting allows the address, if any does.
        message: reason === "AddressNotAllowed" ? message : `${message}: correct the account`,
        limits: undefined,
        againMs: MISCONFIGURED_MS,
      };
    }
    case "Unreachable":
    case "Timeout":
    case "ConnectionLost":
    case "GatewayError":
      return {
        state: { kind: "Held", reason: "Unreachable", message: `the service does not answer: ${message}` },
        authenticated: "Unknown",
        reachable: "False",
        message,
        limits: undefined,
        againMs:
          previous?.reachable === "False" ? Math.min(LONGEST_UNREACHABLE_MS, 2 * previous.againMs) : UNREACHABLE_MS,
      };
    default:
      // It answers, and not about the key: one failing operation must not hold everything else.
      return {
        state: { kind: "Ready" },
        authenticated: "Unknown",
        reachable: "True",
        message: `The endpoint limits could not be read: ${message}`,
        limits: undefined,
        againMs: Math.max(error.retryAfterMs ?? 0, OTHER_MS),
      };
  }
}

function isAddressRefusal(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && cause.code === ADDRESS_REFUSED;
}
