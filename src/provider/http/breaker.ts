import type { Clock } from "../../clock.ts";
import { ServiceError } from "../errors.ts";
import type { Operation } from "../operations.ts";
import type { BreakerState } from "../types.ts";

/**
 * Spares a failing operation calls that would fail too. Five failures in a row open it; then calls fail at once, nothing
 * is sent, and after a pause (5 s, doubling to 60 s, jittered) one call at a time tries whether it works again.
 * Other operations go on: the service may well serve speech while its endpoints fail. While the account is held, calls
 * that waited for their turn are not sent either.
 */
export type Breaker = {
  /** @throws ServiceError `BreakerOpen`, delivery NotSent, `retryAfterMs` until the next try */
  check(operation: Operation): void;
  /** The same, for a call that is sent next: takes the one try. Its end has to be told by `ended`. */
  enter(operation: Operation): void;
  /** The account may have come to be held since `enter`, by the answer to another call. @throws ServiceError as `check` */
  checkHeld(operation: Operation): void;
  /** `outcome` undefined: it worked, or the service refused it for a reason of the request's own. */
  ended(operation: Operation, outcome: ServiceError | undefined): void;
  state(operation: Operation): BreakerState;
};

const THRESHOLD = 5;
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 60_000;
const HELD_MS = 30_000;

const FAILURES = ["ServerError", "GatewayError", "Unreachable", "Timeout", "ConnectionLost", "UnreadableResponse"];

type Circuit = { failures: number; openUntil: number; trying: boolean; reason: string };

export type BreakerOptions = {
  clock: Clock;
  random: () => number;
  /** Why nothing of the kind may be sent now; undefined when it may. */
  held?: (operation: Operation) => string | undefined;
  /** Never stopped: whoever calls it paces itself, to find out whether the rest may go again. */
  probe?: Operation;
};

export function createBreaker({ clock, random, held = () => undefined, probe }: BreakerOptions): Breaker {
  const circuits = new Map<Operation, Circuit>();
  const isOpen = (circuit: Circuit | undefined): circuit is Circuit =>
    circuit !== undefined && circuit.failures >= THRESHOLD;

  function refuse(operation: Operation, message: string, retryAfterMs: number): never {
    throw new ServiceError({ operation, kind: "BreakerOpen", delivery: "NotSent", message, retryAfterMs });
  }

  function checkHeld(operation: Operation): void {
    const reason = operation === probe ? undefined : held(operation);
    if (reason !== undefined) refuse(operation, `not sent: ${reason}`, HELD_MS);
  }

  function check(operation: Operation): void {
    if (operation === probe) return;
    checkHeld(operation);
    const circuit = circuits.get(operation);
    if (!isOpen(circuit)) return;
    const leftMs = circuit.openUntil - clock.monotonic();
    if (leftMs <= 0 && !circuit.trying) return;
    const message = `not sent: this operation keeps failing (${circuit.reason}); tried again by single calls`;
    refuse(operation, message, Math.max(leftMs, 0) + 1_000 * (1 + random()));
  }

  return {
    check,
    checkHeld,
    enter(operation) {
      check(operation);
      const circuit = circuits.get(operation);
      if (operation !== probe && isOpen(circuit)) circuit.trying = true;
    },
    ended(operation, error) {
      const circuit = circuits.get(operation);
      if (error === undefined || !FAILURES.includes(error.kind)) {
        // A call that was given up says nothing of the service.
        if (error?.kind === "Aborted" || error?.kind === "Misconfigured") {
          if (circuit !== undefined) circuit.trying = false;
        } else circuits.delete(operation);
        return;
      }
      const failures = (circuit?.failures ?? 0) + 1;
      const rounds = failures - THRESHOLD;
      const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.max(0, Math.min(rounds, 10)));
      const opens = rounds >= 0 && (circuit === undefined || circuit.openUntil <= clock.monotonic());
      circuits.set(operation, {
        // Calls that were in flight together fail together; that is one round, not many.
        failures: rounds > 0 && !opens ? failures - 1 : failures,
        openUntil: opens ? clock.monotonic() + pauseMs * (0.8 + 0.4 * random()) : (circuit?.openUntil ?? 0),
        trying: false,
        reason: error.kind,
      });
    },
    state(operation) {
      const circuit = circuits.get(operation);
      if (!isOpen(circuit)) return "Closed";
      return circuit.openUntil > clock.monotonic() ? "Open" : "HalfOpen";
    },
  };
}
