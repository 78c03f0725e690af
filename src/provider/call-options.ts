import type { Delivery, ServiceErrorKind } from "./errors.ts";
import type { Operation } from "./operations.ts";

/** When a request may leave, and what must happen before. */
export type SendOptions = {
  /** Aborts the call. */
  signal?: AbortSignal | undefined;
  /**
   * Awaited when the call has a connection and a token of the rate limit: write the record of the request here. Nothing is sent when
   * it throws.
   */
  commit?: (() => Promise<void>) | undefined;
  /**
   * Called when a connection accepts the request, directly before the first byte, as the last check. Nothing is sent when it
   * throws. It must not return a promise: a rejection would come too late.
   */
  beforeSend?: (() => void) | undefined;
  /** Calls of groups (namespaces) take turns. Default: one group. */
  group?: string | undefined;
  /** Values of the request that no error shows, in case the service quotes them. Default: none. */
  hidden?: readonly string[] | undefined;
};

/** State of the circuit breaker of one operation. */
export type BreakerState = "Closed" | "Open" | "HalfOpen";

/** A call that ended. Exactly one of `status` (2xx) and `errorKind` tells how. */
export type CallEvent = {
  operation: Operation;
  status?: number;
  errorKind?: ServiceErrorKind;
  delivery?: Delivery;
  /** Since the request was sent; the wait for the rate limit does not count. */
  durationMs: number;
};
