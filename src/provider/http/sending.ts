import type { Clock } from "../../base/clock.ts";
import type { CallEvent, SendOptions } from "../call-options.ts";
import { ServiceError } from "../errors.ts";
import type { Operation } from "../operations.ts";
import type { Breaker } from "./breaker.ts";
import type { EnterOptions, Gate } from "./gate.ts";

export type CallOptions = SendOptions & Pick<EnterOptions, "lane">;

/** A call that the gate has let in and whose commit is done. It must end. */
export type Sending = {
  /**
   * Runs `run`, which calls `beforeWrite` right before the first byte. Runs it again when the connection took so long that the token is
   * too old: no byte has left then.
   */
  send<T>(run: (beforeWrite: () => void) => Promise<T>): Promise<T>;
  /** The call ended. `outcome`: the status of a 2xx response, or the error. */
  end(outcome: unknown): void;
};

export type SendingOptions = {
  clock: Clock;
  gate: Gate;
  /** Default: none; every call is sent. */
  breaker?: Breaker | undefined;
  /** A call ended. */
  onCall?: ((event: CallEvent) => void) | undefined;
};

/** Every call takes these steps: circuit breaker, gate, commit, last checks, first byte, report. */
export function createSendings({ clock, gate, breaker, onCall }: SendingOptions) {
  return async function begin(operation: Operation, options: CallOptions): Promise<Sending> {
    const { signal, commit, beforeSend } = options;
    const orAborted = <T>(wait: Promise<T>) =>
      wait.catch((cause: unknown) => {
        throw aborted(operation, cause);
      });

    breaker?.check(operation); // before it takes a token
    const pass = await orAborted(gate.enter(operation, options));
    try {
      breaker?.enter(operation);
    } catch (error) {
      pass.leave();
      throw error;
    }
    try {
      await commit?.();
    } catch (error) {
      pass.leave();
      breaker?.ended(operation, aborted(operation, error));
      throw error;
    }

    let startedAt = clock.monotonic();
    let isSent = false;
    const beforeWrite = () => {
      breaker?.recheck(operation); // while the call waited, another one may have failed or been refused for its key
      if (!pass.isFresh()) throw new OldTokenError();
      beforeSend?.();
      startedAt = clock.monotonic();
      isSent = true;
    };

    return {
      async send(run) {
        for (;;) {
          if (!pass.isFresh()) await orAborted(pass.renew(signal));
          if (signal?.aborted === true) throw aborted(operation, signal.reason);
          try {
            return await run(beforeWrite);
          } catch (error) {
            if (!(error instanceof OldTokenError)) throw error;
          }
        }
      },
      end(ended) {
        pass.leave();
        const outcome = outcomeOf(operation, ended, isSent);
        breaker?.ended(operation, outcome instanceof ServiceError ? outcome : undefined);
        if (outcome instanceof ServiceError && outcome.kind === "RateLimited") {
          gate.rateLimited(operation, outcome.retryAfterMs);
        } else if (typeof outcome === "number" || outcome.status !== undefined) {
          gate.succeeded(operation);
        }
        onCall?.(eventOf(operation, clock.monotonic() - startedAt, outcome));
      },
    };
  };
}

/** Thrown right before the first byte: nothing was sent. */
class OldTokenError extends Error {
  override readonly name = "OldTokenError";
}

/** An error of the caller, not of the service, ends the call. */
function outcomeOf(operation: Operation, ended: unknown, isSent: boolean): number | ServiceError {
  if (typeof ended === "number" || ended instanceof ServiceError) return ended;
  return isSent ? left(operation) : aborted(operation, ended);
}

function eventOf(operation: Operation, durationMs: number, outcome: number | ServiceError): CallEvent {
  if (typeof outcome === "number") return { operation, status: outcome, durationMs };
  const { kind, delivery, status } = outcome;
  return { operation, errorKind: kind, delivery, durationMs, ...(status === undefined ? {} : { status }) };
}

/** A call that was aborted before its first byte. */
function aborted(operation: Operation, cause: unknown): ServiceError {
  return new ServiceError({
    operation,
    kind: "Aborted",
    delivery: "NotSent",
    message: "the call was aborted before it was sent",
    cause,
  });
}

/** The reader of the response ended it. */
function left(operation: Operation): ServiceError {
  return new ServiceError({
    operation,
    kind: "Aborted",
    delivery: "Unknown",
    message: "the reader left before the stream ended",
  });
}
