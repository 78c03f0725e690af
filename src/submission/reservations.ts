import type { Clock } from "../base/clock.ts";
import { formatYuan, type Money } from "../base/money.ts";
import type { Operation } from "../provider/operations.ts";
import type { Allowance, BookReading, BudgetRefusal, BudgetState } from "./allowance.ts";
import {
  advance,
  type CostOf,
  countsOf,
  createTaskCosts,
  type Ended,
  highest,
  reservedBy,
  show,
  shownOf,
  type TaskCounts,
  type TaskEnd,
} from "./attribution.ts";

const ADVICE = "raise the budget, or set spec.budget.action of the account to Warn";

/**
 * A task that ended. `agoMs`: how long ago; default 0. `lenient`: it delays no other task while its cost is not known, as a task
 * of an earlier process, which may have seen its charge, or a change of an endpoint.
 */
export type EndedTask = { operation: Operation; end: TaskEnd; agoMs?: number; lenient?: boolean };

/** Ended tasks of an operation whose charge does not show. `lastEnd`: of the newest, ms since the epoch. */
export type UnbilledTasks = { operation: Operation; count: number; lastEnd: number };

/**
 * What another process needs to continue the reservations. `asOf`: ms since the epoch, whole seconds; every task that ended
 * before is in `tasks` or billed.
 */
export type Unbilled = { asOf: number; tasks: readonly UnbilledTasks[] };

/**
 * What tasks reserve of one account's budget. A task reserves its cost from its admission until its charge is attributed
 * to it. The cost is `budget.reservePerTask`, or else the highest cost that was seen of one task of the operation.
 *
 * # Attribution
 * A rise of a book goes to the tasks that had ended when its reading began, the longest ended first, each up to its cost.
 * What is left, up to the cost of the tasks in flight, goes to the next ones that end: a charge may show before the end.
 * A reservation ends when every book that the budget counts has shown its cost, or a part of it and the task ended 60 s
 * before the reading: a task may cost less than it reserves. What others spend is therefore taken for the cost of a task at
 * most up to that cost.
 *
 * # Time
 * A charge that does not show is not expected any more in a reading that begins `settleMs` after the end of the task. An
 * end that was not seen counts 15 min later.
 *
 * # While no cost is known
 * Tasks go one at a time. The first rise after a task lets a second one go. The third goes when the first ended 60 s ago:
 * what the books rose by in that time is the cost, so that a small rise of another cause is not taken for it. `lenient`
 * tasks do not count here.
 */
export type Reservations = {
  /** Whether the budget holds back one more task of the operation. */
  refusal(operation: Operation, inFlight: TaskCounts, allowance: Allowance): BudgetRefusal | undefined;
  /** A task has ended and may be charged. `agoMs`: how long ago; default 0. */
  settle(task: EndedTask): void;
  /**
   * An endpoint gets workers: reserves `reserve`, if that is set, until a charge shows. Call the result when the request
   * had no effect.
   */
  spend(operation: Operation): () => void;
  /** Why the budget holds back an endpoint that gets workers: nothing is left, or less than `reserve`. */
  exhausted(inFlight: TaskCounts, allowance: Allowance): BudgetRefusal | undefined;
  /** The account's bills or budgets were read. `readings`: every book that the budget counts. */
  moneyRead(readings: readonly BookReading[], inFlight: TaskCounts, allowance: Allowance): void;
  /** Whether a charge is expected soon: a task ended less than a minute ago. */
  settling(): boolean;
  /** The tasks that ended a minute ago or earlier. undefined: none has since the start. */
  unbilled(): Unbilled | undefined;
};

/** Default of `billing.settleTime`. */
const SETTLE_MS = 24 * 3_600_000;
/** How much later an unobserved end counts. */
export const UNSEEN_MS: Record<TaskEnd, number> = { Seen: 0, Unseen: 15 * 60_000 };
/** A charge usually shows in this time. */
const USUAL_MS = 60_000;
/** A status can show an end this much earlier than `settle` is called. */
const LATE_MS = 30_000;

const down = (time: number, step: number) => Math.floor(time / step) * step;

export function createReservations(clock: Clock): Reservations {
  const costs = createTaskCosts();
  let ended: Ended[] = [];
  let books: readonly BookReading[] = [];
  let settleMs = SETTLE_MS;
  /** When the last task ended, ms since the epoch. */
  let newest: number | undefined;
  let asOf = 0;
  const lastReadings = new Map<string, BookReading>();
  /** By book, what has shown of tasks that had not ended yet. */
  const early = new Map<string, Money>();

  const isPastCharge = ({ end, endedAt }: Ended, { startedAt }: BookReading) =>
    startedAt - endedAt > settleMs + UNSEEN_MS[end];

  /** Whether every book has shown the cost, or does not show it any more. */
  function isBilled(task: Ended, cost: Money | undefined): boolean {
    return books.every((reading) => {
      const shown = shownOf(task, reading.book);
      if (cost !== undefined && shown >= cost) return true;
      return (shown > 0n && reading.startedAt - task.endedAt > USUAL_MS) || isPastCharge(task, reading);
    });
  }

  /** A task of unknown cost for which every book has shown something: its cost may be more than that. */
  function isOnTrial(task: Ended, cost: Money | undefined): boolean {
    if (cost !== undefined || books.length === 0) return false;
    return books.every((reading) => isPastCharge(task, reading) || shownOf(task, reading.book) > 0n);
  }

  function settle({ operation, end, agoMs = 0, lenient = false }: EndedTask): Ended {
    const time = clock.now() - agoMs;
    newest = Math.max(newest ?? time, time);
    const task: Ended = { operation, end, endedAt: clock.monotonic() - agoMs, time, lenient, shown: undefined };
    ended.push(task);
    return task;
  }

  function attribute({ book, startedAt }: BookReading, rise: Money, inFlight: TaskCounts, costOf: CostOf): void {
    const tasks = ended.filter(({ endedAt }) => endedAt < startedAt);
    costs.raise(tasks, rise);
    const left = show(tasks, book, rise + (early.get(book) ?? 0n), costOf);
    // Tasks that ended during the reading may have been charged before.
    const others = ended.filter((task) => !tasks.includes(task));
    early.set(book, advance(countsOf(inFlight, others), left, costOf));
  }

  return {
    refusal(operation, inFlight, allowance) {
      const { budget, reserve } = allowance;
      if (budget === undefined || budget.kind === "Unlimited") return undefined;
      const refused = refusalOf(budget);
      if (refused !== undefined || budget.kind !== "Limited") return refused;
      const costOf = (one: Operation) => reserve ?? costs.of(one);
      const onTrial = ended.filter((task) => isOnTrial(task, costOf(task.operation)));
      const unpriced = (task: Ended) => task.lenient && costOf(task.operation) === undefined;
      const priced = ended.filter((task) => !onTrial.includes(task) && !unpriced(task));
      const counts = countsOf(inFlight, priced);
      const cost = costOf(operation);
      const least = cost ?? highest(onTrial.filter((task) => task.operation === operation));
      if (least > budget.headroom) return { reason: "BudgetExceeded", message: tooMuch(budget.message, least) };
      if (cost === undefined || [...counts.keys()].some((one) => costOf(one) === undefined)) {
        return counts.size === 0 && onTrial.length <= 1
          ? undefined
          : { reason: "BudgetExceeded", message: COST_UNKNOWN };
      }
      return reservedBy(counts, costOf) + cost <= budget.headroom
        ? undefined
        : { reason: "BudgetExceeded", message: RESERVED };
    },
    exhausted(inFlight, { budget, reserve }) {
      if (budget === undefined || budget.kind === "Unlimited") return undefined;
      const refused = refusalOf(budget);
      if (refused !== undefined || budget.kind !== "Limited") return refused;
      const reserved = reservedBy(countsOf(inFlight, ended), (one) => reserve ?? costs.of(one));
      const fits = reserved + (reserve ?? 1n) <= budget.headroom;
      return fits ? undefined : { reason: "BudgetExceeded", message: RESERVED };
    },
    settle,
    spend(operation) {
      const task = settle({ operation, end: "Seen", lenient: true });
      return () => {
        ended = ended.filter((one) => one !== task);
      };
    },
    moneyRead(readings, inFlight, allowance) {
      const costOf: CostOf = (operation) => allowance.reserve ?? costs.of(operation);
      settleMs = allowance.settleMs ?? SETTLE_MS;
      for (const reading of readings) {
        const last = lastReadings.get(reading.book);
        if (last?.startedAt === reading.startedAt) continue; // another book was read
        const rise = reading.used === undefined || last?.used === undefined ? 0n : reading.used - last.used;
        if (rise >= 0n) attribute(reading, rise, inFlight, costOf);
        lastReadings.set(reading.book, { ...reading, used: reading.used ?? last?.used });
      }
      books = readings;
      for (const book of lastReadings.keys()) {
        if (books.some((reading) => reading.book === book)) continue;
        lastReadings.delete(book);
        early.delete(book);
      }
      ended = ended.filter((task) => {
        if (!isBilled(task, costOf(task.operation))) return true;
        costs.seen(task.operation, task.shown?.values() ?? []);
        return false;
      });
    },
    settling: () => ended.some(({ end, endedAt }) => end === "Seen" && clock.monotonic() - endedAt <= USUAL_MS),
    unbilled() {
      if (newest === undefined) return undefined;
      const before = clock.now() - USUAL_MS;
      // While tasks end, it moves once a minute, so that it costs few writes.
      asOf = Math.max(asOf, newest < before ? down(newest, 1_000) + 1_000 : down(before, USUAL_MS));
      return { asOf, tasks: unbilledOf(ended, asOf + LATE_MS) };
    },
  };
}

/** Whether a limited budget has anything left. */
function refusalOf(budget: Exclude<BudgetState, { kind: "Unlimited" }>): BudgetRefusal | undefined {
  if (budget.kind === "Unknown") return { reason: "BudgetUnknown", message: budget.message };
  return budget.headroom > 0n ? undefined : { reason: "BudgetExceeded", message: `${budget.message}: ${ADVICE}` };
}

/** The tasks among `ended` that ended before `time`, ms since the epoch. */
function unbilledOf(ended: readonly Ended[], time: number): UnbilledTasks[] {
  const found = new Map<Operation, UnbilledTasks>();
  for (const task of ended) {
    if (task.time >= time) continue;
    const { operation, end } = task;
    const { count, lastEnd } = found.get(operation) ?? { count: 0, lastEnd: 0 };
    found.set(operation, { operation, count: count + 1, lastEnd: Math.max(lastEnd, task.time + UNSEEN_MS[end]) });
  }
  return [...found.values()];
}

const COST_UNKNOWN =
  "The cost of a task is not known yet, so tasks run one at a time: wait until the charge of the last one shows, at most for billing.settleTime, or set budget.reservePerTask on the account";
const RESERVED = "Tasks whose cost is not billed yet reserve the rest of the budget";

function tooMuch(left: string, cost: Money): string {
  return `A task reserves ${formatYuan(cost)} yuan, which is more than is left: ${left}`;
}
