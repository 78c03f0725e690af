import type { Reason } from "../../api/v1alpha1/reasons.ts";
import { ADDRESS_REFUSED } from "../../base/address-guard.ts";
import type { EndpointLimits } from "../../provider/endpoints/limits.ts";
import { isGivenUp, ServiceError } from "../../provider/errors.ts";
import type { AccountSession } from "../../provider/types.ts";
import type { AccountState } from "./registry.ts";

/** The result of one free call of the account. */
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
 * @throws the error of an aborted call, which says nothing about the service
 */
export async function probeAccount(
  session: Pick<AccountSession, "probe">,
  signal: AbortSignal,
  previous?: Probe,
): Promise<Probe> {
  try {
    const limits = await session.probe(signal);
    return { ...ANSWERED, authenticated: "True", message: "The service takes the key", limits, againMs: LIMITS_MS };
  } catch (error) {
    if (!(error instanceof ServiceError) || isGivenUp(error)) throw error;
    return { limits: undefined, ...probeFailure(error, previous) };
  }
}

const ANSWERED = { state: { kind: "Ready" }, reachable: "True" } as const;

function heldFor(reason: Reason, message: string): AccountState {
  return { kind: "Held", reason, message };
}

function probeFailure(error: ServiceError, previous: Probe | undefined): Omit<Probe, "limits"> {
  const { message } = error;
  switch (error.kind) {
    case "Unauthorized":
    case "Forbidden":
      return {
        state: heldFor("Unauthorized", `the service refuses the key: ${message}`),
        authenticated: "False",
        reachable: "True",
        message: `${message}: put a valid key into the Secret of apiKeySecretRef`,
        againMs: UNAUTHORIZED_MS,
      };
    case "Misconfigured": {
      // Refused by the address guard, or a base URL that cannot be one: only a changed spec helps.
      const reason = isAddressRefusal(error.cause) ? "AddressNotAllowed" : "InvalidSpec";
      // The message of the guard names the setting that allows the address, if there is one.
      const advice = reason === "AddressNotAllowed" ? "" : ": correct the account";
      const state = heldFor(reason, message);
      const unknown = { authenticated: "Unknown", reachable: "False" } as const;
      return { state, ...unknown, message: `${message}${advice}`, againMs: MISCONFIGURED_MS };
    }
    case "Unreachable":
    case "Timeout":
    case "ConnectionLost":
    case "GatewayError": {
      const state = heldFor("Unreachable", `the service does not answer: ${message}`);
      const longerMs = previous?.reachable === "False" ? 2 * previous.againMs : UNREACHABLE_MS;
      const againMs = Math.min(LONGEST_UNREACHABLE_MS, longerMs);
      return { state, authenticated: "Unknown", reachable: "False", message, againMs };
    }
    default:
      // The service answers, and not about the key: one failing operation must not hold everything else.
      return {
        ...ANSWERED,
        authenticated: "Unknown",
        message: `The endpoint limits could not be read: ${message}`,
        againMs: Math.max(error.retryAfterMs ?? 0, OTHER_MS),
      };
  }
}

function isAddressRefusal(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && cause.code === ADDRESS_REFUSED;
}
