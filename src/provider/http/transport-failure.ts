import { ADDRESS_REFUSED } from "../../base/address-guard.ts";
import { codeOf, connectionWords } from "../../base/connection-words.ts";
import type { Sanitizer } from "../../base/sanitizer.ts";
import { cleanWords, type Delivery, ServiceError, type ServiceErrorKind } from "../errors.ts";
import type { Operation } from "../operations.ts";

/** What is known of a request while it is under way. */
export type SendState = {
  /** Whether its bytes may have begun to leave. */
  written: boolean;
  /** What `beforeWrite` threw: nothing was sent. */
  refusal?: { error: unknown };
  /** Why Mooring ended it; undefined: it did not. */
  ended: "Timeout" | "Aborted" | undefined;
  /** Status of the answer, once its head was read. */
  status: number | undefined;
};

/** The error for a request that got no complete answer. A `ServiceError` passes through. */
export function failureOf(operation: Operation, error: unknown, state: SendState, sanitize: Sanitizer): ServiceError {
  if (error instanceof ServiceError) return error;
  const kind = kindOf(error, state);
  const words = cleanWords(connectionWords(error), sanitize);
  return new ServiceError({
    operation,
    kind,
    delivery: deliveryOf(state),
    status: state.status,
    message: `${PHRASE[kind]}: ${words}`,
    cause: error,
  });
}

/** Only a 2xx has a body that is read beyond its first bytes (transport.ts). */
function deliveryOf({ written, status }: SendState): Delivery {
  if (!written) return "NotSent";
  return status !== undefined && status >= 200 && status < 300 ? "Accepted" : "Unknown";
}

type FailureKind = Extract<
  ServiceErrorKind,
  "Aborted" | "Timeout" | "ConnectionLost" | "Unreachable" | "Misconfigured"
>;

const PHRASE: Record<FailureKind, string> = {
  Aborted: "the call was aborted",
  Timeout: "the service did not answer in time",
  ConnectionLost: "the connection was lost before the answer was complete",
  Unreachable: "the service cannot be reached",
  Misconfigured: "the account may not use this address",
};

function kindOf(error: unknown, state: SendState): FailureKind {
  if (state.ended !== undefined) return state.ended;
  if (state.written) return "ConnectionLost";
  return codeOf(error) === ADDRESS_REFUSED ? "Misconfigured" : "Unreachable";
}
