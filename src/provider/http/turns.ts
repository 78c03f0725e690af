import type { Clock } from "../../base/clock.ts";
import type { CallEvent, SendOptions } from "../call-options.ts";
import { ServiceError } from "../errors.ts";
import type { Operation } from "../operations.ts";
import type { Breaker } from "./breaker.ts";
import type { Limiter } from "./limiter.ts";
import type { TurnOptions } from "./rated-queue.ts";

/** The wait for the breaker, the rate limit and the journal, and what they learn from the outcome. */
export type Turns = {
  /** Resolves when the call may be sent. Every call that was let in must leave. */
  enter(operation: Operation, options: TurnOptions & Pick<SendOptions, "commit">): Promise<void>;
  /** Resolves when a call that was let in may be sent again: no byte of it has left. */
  depart(operation: Operation, signal: AbortSignal | undefined): Promise<void>;
  /** The call ended. `outcome`: the status of a 2xx response, or the error. */
  leave(operation: Operation, startedAt: number, outcome: number | ServiceError): void;
};

export type TurnsOptions = {
  clock: Clock;
  limiter: Limiter;
  breaker?: Breaker | undefined;
  onCall?: ((event: CallEvent) => void) | undefined;
};

export function createTurns({ clock, limiter, breaker, onCall }: TurnsOptions): Turns {
  const orAborted = (operation: Operation, turn: Promise<void>) =>
    turn.catch((cause: unknown) => {
      throw aborted(operation, cause);
    });

  async function depart(operation: Operation, signal: AbortSignal | undefined): Promise<void> {
    await orAborted(operation, limiter.depart(operation, signal));
    breaker?.recheck(operation); // during a commit, another call may have failed or been refused for its key
    if (signal?.aborted === true) throw aborted(operation, signal.reason);
  }

  return {
    depart,
    async enter(operation, { signal, priority, commit }) {
      breaker?.check(operation); // before it takes a turn at the rate limit
      await orAborted(operation, limiter.acquire(operation, { signal, priority }));
      breaker?.enter(operation);
      try {
        await commit?.();
        await depart(operation, signal);
      } catch (error) {
        breaker?.ended(operation, aborted(operation, error));
        throw error;
      }
    },
    leave(operation, startedAt, outcome) {
      breaker?.ended(operation, outcome instanceof ServiceError ? outcome : undefined);
      if (outcome instanceof ServiceError && outcome.kind === "RateLimited") {
        limiter.rateLimited(operation, outcome.retryAfterMs);
      } else if (typeof outcome === "number" || outcome.status !== undefined) {
        limiter.succeeded(operation);
      }
      onCall?.(eventOf(operation, clock.monotonic() - startedAt, outcome));
    },
  };
}

function eventOf(operation: Operation, durationMs: number, outcome: number | ServiceError): CallEvent {
  if (typeof outcome === "number") return { operation, status: outcome, durationMs };
  const { kind, delivery, status } = outcome;
  return { operation, errorKind: kind, delivery, durationMs, ...(status === undefined ? {} : { status }) };
}

/** A call that was given up before its first byte. */
export function aborted(operation: Operation, cause: unknown): ServiceError {
  return new ServiceError({
    operation,
    kind: "Aborted",
    delivery: "NotSent",
    message: "the call was aborted before it was sent",
    cause,
  });
}
