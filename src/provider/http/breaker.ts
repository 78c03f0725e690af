import type { Clock } from "../../base/clock.ts";
import type { BreakerState } from "../call-options.ts";
import { mayHaveTakenEffect, ServiceError, type ServiceErrorKind } from "../errors.ts";
import { OPERATIONS, type Operation } from "../operations.ts";

/**
 * Stops calls of an operation that keeps failing. Failures in a row open its circuit (`OPENS_AFTER`). Then calls fail at
 * once, nothing is sent, and after a pause (jittered, doubled each time) one call at a time tries whether it works again.
 * The same holds for an operation that the service does not allow or does not know. Other operations go on: the service may well serve speech
 * while its endpoints fail. While the account is held, calls that waited for their turn are not sent either. While another
 * process may serve the account, no call is sent: that process uses the rate limit, and does not know of these calls.
 */
export type Breaker = {
  /** @throws ServiceError `BreakerOpen`, `Forbidden` or `WrongPath`, delivery NotSent, `retryAfterMs` until the next try */
  check(operation: Operation): void;
  /**
   * The same, for a call that is sent next: takes the one try. Call `ended` at its end.
   * @throws ServiceError as `check`; `Aborted`, delivery NotSent, while another process may serve the account
   */
  enter(operation: Operation): void;
  /**
   * Right before a call is sent: by the answers to other calls since `enter`, the circuit may have opened, or the account
   * may be held; or the process was paused, and another one may serve the account. @throws ServiceError as `enter`
   */
  recheck(operation: Operation): void;
  /** `outcome` undefined: it worked, or the service refused it for a reason of the request's own. */
  ended(operation: Operation, outcome: ServiceError | undefined): void;
  state(operation: Operation): BreakerState;
};

/**
 * When a circuit opens, and how long its pauses become. `errors` are in a row; a success, or a proven refusal of another
 * kind, ends the row. A paid request whose outcome is unknown, or cannot be used, costs a person's time, and perhaps money: fewer of them open the
 * circuit, and it is tried less often. An operation that is not allowed, or whose path is wrong, stays so until a user acts. A 403 opens the circuit of an
 * operation that creates something. Other operations read or change an object that exists, and a 403 may concern it alone.
 */
const RULES = {
  anyFailure: { errors: 5, firstPauseMs: 5_000, maxPauseMs: 60_000 },
  unknownPaid: { errors: 3, firstPauseMs: 5_000, maxPauseMs: 10 * 60_000 },
  unavailable: { errors: 3, firstPauseMs: 30_000, maxPauseMs: 10 * 60_000 },
} as const;
type Rule = keyof typeof RULES;
const RULE_NAMES: readonly Rule[] = ["anyFailure", "unknownPaid", "unavailable"];
const HELD_MS = 30_000;

/** Statuses are made from these reads. Their pauses are as short as those between two polls, whatever the rules allow. */
const OBSERVING: readonly Operation[] = ["getTaskResult", "listEndpoints", "listEndpointsEarlier"];
const OBSERVING_MAX_PAUSE_MS = 10_000;

/** Kinds that are a failure of the service, whatever is known of the request's effect. */
const FAILURES: readonly ServiceErrorKind[] = [
  "ServerError",
  "GatewayError",
  "Unreachable",
  "Timeout",
  "ConnectionLost",
  "UnreadableResponse",
];
/** Kinds that say nothing about the service: the call was aborted, or could not be made. */
const SILENT: readonly ServiceErrorKind[] = ["Aborted", "BreakerOpen", "Misconfigured"];

/** The error of a call while the circuit is open. */
const UNAVAILABLE: { readonly [kind in ServiceErrorKind]?: string } = {
  Forbidden: "the service does not allow this operation",
  WrongPath: "the service does not know the path of this operation",
};

type Circuit = {
  /** Errors in a row, by rule. */
  counts: Record<Rule, number>;
  /** Pauses since it opened; 0 while it is closed. */
  rounds: number;
  openUntil: number;
  trying: boolean;
  /** The last error that counted. */
  cause: ServiceError | undefined;
};

export type BreakerOptions = {
  clock: Clock;
  random: () => number;
  /** Why nothing of the kind may be sent now; undefined when it may. */
  held?: (operation: Operation) => string | undefined;
  /** Throws while another process may serve the account. Default: there is no other one. */
  assertServing?: () => void;
  /** Never stopped: its caller paces itself, to find out whether other calls may be sent again. */
  probe?: Operation;
};

const newCircuit = (): Circuit => ({
  counts: { anyFailure: 0, unknownPaid: 0, unavailable: 0 },
  rounds: 0,
  openUntil: Number.NEGATIVE_INFINITY,
  trying: false,
  cause: undefined,
});

/** The rules that an error counts for. */
function rulesFor(error: ServiceError): Rule[] {
  const { operation, kind } = error;
  // A read has no effect, so nothing about it is unknown.
  const unknown = mayHaveTakenEffect(error) && OPERATIONS[operation].method !== "GET";
  const counts: Record<Rule, boolean> = {
    anyFailure: FAILURES.includes(kind) || unknown,
    unknownPaid: unknown && OPERATIONS[operation].paid,
    unavailable: kind === "WrongPath" || (kind === "Forbidden" && !OPERATIONS[operation].idempotent),
  };
  return RULE_NAMES.filter((rule) => counts[rule]);
}

/** A response that cannot be read costs memory and time, whatever it is for. */
function longestPauseMs(broken: readonly (typeof RULES)[Rule][], { operation, kind }: ServiceError): number {
  const allowedMs = Math.max(...broken.map((rule) => rule.maxPauseMs));
  const observing = OBSERVING.includes(operation) && kind !== "UnreadableResponse";
  return observing ? Math.min(OBSERVING_MAX_PAUSE_MS, allowedMs) : allowedMs;
}

/** A refusal by the breaker says nothing about the service. */
const isSilent = ({ kind, delivery }: ServiceError): boolean =>
  SILENT.includes(kind) || (UNAVAILABLE[kind] !== undefined && delivery === "NotSent");

export function createBreaker(options: BreakerOptions): Breaker {
  const { clock, random, held = () => undefined, assertServing = () => undefined, probe } = options;
  const circuits = new Map<Operation, Circuit>();

  function openCircuit(operation: Operation): Circuit | undefined {
    const circuit = operation === probe ? undefined : circuits.get(operation);
    return circuit === undefined || circuit.rounds === 0 ? undefined : circuit;
  }

  function refuseOpen(operation: Operation, { cause, openUntil }: Circuit): never {
    const retryAfterMs = Math.max(openUntil - clock.monotonic(), 0) + 1_000 * (1 + random());
    const refused = { operation, delivery: "NotSent", retryAfterMs } as const;
    const unavailable = cause && UNAVAILABLE[cause.kind];
    if (cause === undefined || unavailable === undefined) {
      const message = `not sent: this operation keeps failing (${cause?.kind}); tried again by single calls`;
      throw new ServiceError({ ...refused, kind: "BreakerOpen", message });
    }
    const { kind, status, code, reason } = cause;
    const words = reason === undefined ? `${status}` : `${status}: ${reason}`;
    const message = `not sent: ${unavailable} (${words}); tried again by single calls`;
    throw new ServiceError({ ...refused, kind, message, code, reason });
  }

  /** Holds for the probe too. */
  function checkServing(operation: Operation): void {
    try {
      assertServing();
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : String(cause);
      throw new ServiceError({ operation, kind: "Aborted", delivery: "NotSent", message, cause });
    }
  }

  function checkHeld(operation: Operation): void {
    const reason = operation === probe ? undefined : held(operation);
    if (reason === undefined) return;
    const message = `not sent: ${reason}`;
    throw new ServiceError({
      operation,
      kind: "BreakerOpen",
      delivery: "NotSent",
      message,
      retryAfterMs: HELD_MS,
    });
  }

  function check(operation: Operation): void {
    checkHeld(operation);
    const circuit = openCircuit(operation);
    if (circuit === undefined || (circuit.openUntil <= clock.monotonic() && !circuit.trying)) return;
    refuseOpen(operation, circuit);
  }

  function count(circuit: Circuit, error: ServiceError, rules: readonly Rule[]): void {
    if (!rules.includes("anyFailure")) Object.assign(circuit.counts, { anyFailure: 0, unknownPaid: 0 });
    for (const rule of rules) circuit.counts[rule] += 1;
    circuit.trying = false;
    circuit.cause = error;
    const broken = RULE_NAMES.filter((rule) => circuit.counts[rule] >= RULES[rule].errors).map((rule) => RULES[rule]);
    // Calls that were in flight together fail together; that is one round, not many.
    if (broken.length === 0 || circuit.openUntil > clock.monotonic()) return;
    const firstPauseMs = Math.max(...broken.map((rule) => rule.firstPauseMs));
    const maxPauseMs = longestPauseMs(broken, error);
    const pauseMs = Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(circuit.rounds, 10));
    circuit.rounds += 1;
    circuit.openUntil = clock.monotonic() + pauseMs * (0.8 + 0.4 * random());
  }

  return {
    check,
    enter(operation) {
      checkServing(operation);
      check(operation);
      const circuit = openCircuit(operation);
      if (circuit !== undefined) circuit.trying = true;
    },
    recheck(operation) {
      checkServing(operation);
      checkHeld(operation);
      const circuit = openCircuit(operation);
      if (circuit !== undefined && circuit.openUntil > clock.monotonic()) refuseOpen(operation, circuit);
    },
    ended(operation, error) {
      const circuit = circuits.get(operation);
      if (error !== undefined && isSilent(error)) {
        if (circuit !== undefined) circuit.trying = false;
        return;
      }
      const rules = error === undefined ? [] : rulesFor(error);
      if (error === undefined || rules.length === 0) {
        circuits.delete(operation);
        return;
      }
      const counted = circuit ?? newCircuit();
      circuits.set(operation, counted);
      count(counted, error, rules);
    },
    state(operation) {
      const circuit = openCircuit(operation);
      if (circuit === undefined) return "Closed";
      return circuit.openUntil > clock.monotonic() ? "Open" : "HalfOpen";
    },
  };
}
