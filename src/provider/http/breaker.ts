import type { Clock } from "../../clock.ts";
import type { BreakerState } from "../call-options.ts";
import { ServiceError, type ServiceErrorKind } from "../errors.ts";
import { OPERATIONS, type Operation } from "../operations.ts";

/**
 * Spares a failing operation calls that would fail too. Failures in a row open its circuit (`OPENS_AFTER`). Then calls fail at
 * once, nothing is sent, and after a pause (jittered, doubled each time) one call at a time tries whether it works again.
 * Other operations go on: the service may well serve speech while its endpoints fail. While the account is held, calls
 * that waited for their turn are not sent either.
 */
export type Breaker = {
  /** @throws ServiceError `BreakerOpen`, delivery NotSent, `retryAfterMs` until the next try */
  check(operation: Operation): void;
  /** The same, for a call that is sent next: takes the one try. Its end has to be told by `ended`. */
  enter(operation: Operation): void;
  /**
   * Right before a call is sent: by the answers to other calls since `enter`, the circuit may have opened, or the account
   * may be held. @throws ServiceError as `check`
   */
  recheck(operation: Operation): void;
  /** `outcome` undefined: it worked, or the service refused it for a reason of the request's own. */
  ended(operation: Operation, outcome: ServiceError | undefined): void;
  state(operation: Operation): BreakerState;
};

/**
 * When a circuit opens, and how long its pauses become. `failures` are in a row; a success, or a refusal that is proven, ends
 * the row. A paid request whose outcome is unknown costs a person's time, and perhaps money: fewer of them open the circuit,
 * and it is tried less often.
 */
const OPENS_AFTER = {
  anyFailure: { failures: 5, maxPauseMs: 60_000 },
  unknownPaid: { failures: 3, maxPauseMs: 10 * 60_000 },
} as const;
const FIRST_PAUSE_MS = 5_000;
const HELD_MS = 30_000;

/** Kinds that are a failure of the service, whatever is known of the request's effect. */
const FAILURES: readonly ServiceErrorKind[] = [
  "ServerError",
  "GatewayError",
  "Unreachable",
  "Timeout",
  "ConnectionLost",
  "UnreadableResponse",
];
/** Kinds that say nothing about the service: the call was given up, or could not be made. */
const SILENT: readonly ServiceErrorKind[] = ["Aborted", "BreakerOpen", "Misconfigured"];

type Circuit = {
  /** Failures in a row, and those of a paid request with an unknown outcome among them. */
  failures: number;
  unknownPaid: number;
  /** Pauses since it opened; 0 while it is closed. */
  rounds: number;
  openUntil: number;
  trying: boolean;
  reason: string;
};

export type BreakerOptions = {
  clock: Clock;
  random: () => number;
  /** Why nothing of the kind may be sent now; undefined when it may. */
  held?: (operation: Operation) => string | undefined;
  /** Never stopped: whoever calls it paces itself, to find out whether the rest may go again. */
  probe?: Operation;
};

const newCircuit = (): Circuit => ({
  failures: 0,
  unknownPaid: 0,
  rounds: 0,
  openUntil: Number.NEGATIVE_INFINITY,
  trying: false,
  reason: "",
});

/** A read has no effect, so nothing about it is unknown. */
const mayHaveTakenEffect = ({ operation, delivery }: ServiceError): boolean =>
  delivery === "Unknown" && OPERATIONS[operation].method !== "GET";

export function createBreaker({ clock, random, held = () => undefined, probe }: BreakerOptions): Breaker {
  const circuits = new Map<Operation, Circuit>();

  function openCircuit(operation: Operation): Circuit | undefined {
    const circuit = operation === probe ? undefined : circuits.get(operation);
    return circuit === undefined || circuit.rounds === 0 ? undefined : circuit;
  }

  function refuse(operation: Operation, message: string, retryAfterMs: number): never {
    throw new ServiceError({ operation, kind: "BreakerOpen", delivery: "NotSent", message, retryAfterMs });
  }

  function refuseFailing(operation: Operation, { reason, openUntil }: Circuit): never {
    const message = `not sent: this operation keeps failing (${reason}); tried again by single calls`;
    refuse(operation, message, Math.max(openUntil - clock.monotonic(), 0) + 1_000 * (1 + random()));
  }

  function checkHeld(operation: Operation): void {
    const reason = operation === probe ? undefined : held(operation);
    if (reason !== undefined) refuse(operation, `not sent: ${reason}`, HELD_MS);
  }

  function check(operation: Operation): void {
    checkHeld(operation);
    const circuit = openCircuit(operation);
    if (circuit === undefined || (circuit.openUntil <= clock.monotonic() && !circuit.trying)) return;
    refuseFailing(operation, circuit);
  }

  function countFailure(circuit: Circuit, error: ServiceError): void {
    const { anyFailure, unknownPaid } = OPENS_AFTER;
    circuit.failures += 1;
    if (mayHaveTakenEffect(error) && OPERATIONS[error.operation].paid) circuit.unknownPaid += 1;
    circuit.trying = false;
    circuit.reason = error.kind;
    const mostUnknown = circuit.unknownPaid >= unknownPaid.failures;
    if (circuit.failures < anyFailure.failures && !mostUnknown) return;
    // Calls that were in flight together fail together; that is one round, not many.
    if (circuit.openUntil > clock.monotonic()) return;
    const { maxPauseMs } = mostUnknown ? unknownPaid : anyFailure;
    const pauseMs = Math.min(maxPauseMs, FIRST_PAUSE_MS * 2 ** Math.min(circuit.rounds, 10));
    circuit.rounds += 1;
    circuit.openUntil = clock.monotonic() + pauseMs * (0.8 + 0.4 * random());
  }

  return {
    check,
    enter(operation) {
      check(operation);
      const circuit = openCircuit(operation);
      if (circuit !== undefined) circuit.trying = true;
    },
    recheck(operation) {
      checkHeld(operation);
      const circuit = openCircuit(operation);
      if (circuit !== undefined && circuit.openUntil > clock.monotonic()) refuseFailing(operation, circuit);
    },
    ended(operation, error) {
      const circuit = circuits.get(operation);
      if (error !== undefined && SILENT.includes(error.kind)) {
        if (circuit !== undefined) circuit.trying = false;
        return;
      }
      if (error === undefined || !(FAILURES.includes(error.kind) || mayHaveTakenEffect(error))) {
        circuits.delete(operation);
        return;
      }
      const failing = circuit ?? newCircuit();
      circuits.set(operation, failing);
      countFailure(failing, error);
    },
    state(operation) {
      const circuit = openCircuit(operation);
      if (circuit === undefined) return "Closed";
      return circuit.openUntil > clock.monotonic() ? "Open" : "HalfOpen";
    },
  };
}
