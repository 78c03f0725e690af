import type { Logger } from "pino";
import type { Clock } from "../../base/clock.ts";
import { createPollLoop } from "../../base/schedule.ts";
import type { ServiceClient } from "../client.ts";
import type { KeyBudget } from "./money-records.ts";
import type { ReadTime } from "./spend.ts";

/** Reads the key budgets of an account's member at an interval. */
export type BudgetReader = {
  /** undefined until they are read once. A read that fails does not change them: see `lastRead`. */
  latest(): readonly KeyBudget[] | undefined;
  /** When the read of `latest` began. */
  lastRead(): ReadTime | undefined;
  /** Why the last read failed; undefined: it did not. */
  failure(): string | undefined;
  start(): void;
  stop(): Promise<void>;
};

/** `Settling`: the cost of finished tasks has not shown yet. `Waiting`: paid work waits for the budget. */
export type Urgency = "Settling" | "Waiting" | "None";

export type BudgetReaderOptions = {
  client: Pick<ServiceClient, "listKeyBudgets">;
  /** Whose budgets; undefined: no call is made. */
  memberID: () => string | undefined;
  intervalMs: () => number;
  /** How soon new budgets tell something that paid work waits for. */
  urgency: () => Urgency;
  clock: Clock;
  log: Logger;
  onRead: () => void;
  onFailed: () => void;
};

/** Between two looks at whose budgets are due. */
const IDLE_MS = 1_000;
const PAUSE_MS = { Settling: 5_000, Waiting: 60_000, None: Number.POSITIVE_INFINITY };
const RETRY_MS = 60_000;

export function createBudgetReader(options: BudgetReaderOptions): BudgetReader {
  const { clock, log } = options;
  let budgets: readonly KeyBudget[] | undefined;
  let lastRead: ReadTime | undefined;
  let readFor: string | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  let failure: string | undefined;

  /** Whether a budget's period ended since the last read: the budget is full again. */
  function renewed(): boolean {
    const agoMs = clock.monotonic() - readAt;
    const lastRead = clock.now() - agoMs;
    return (budgets ?? []).some(({ periodEnd }) => {
      const end = Date.parse(periodEnd);
      return end > lastRead && end <= clock.now();
    });
  }

  function due(memberID: string): boolean {
    if (memberID !== readFor) return true;
    const agoMs = clock.monotonic() - readAt;
    if (failure !== undefined) return agoMs >= Math.min(RETRY_MS, options.intervalMs());
    return agoMs >= Math.min(options.intervalMs(), PAUSE_MS[options.urgency()]) || renewed();
  }

  const loop = createPollLoop({
    clock,
    stopReason: "the session of the account is closed",
    dueInMs() {
      const memberID = options.memberID();
      return memberID !== undefined && due(memberID) ? 0 : IDLE_MS;
    },
    async poll(signal) {
      const memberID = options.memberID();
      if (memberID !== undefined) await read(memberID, signal);
    },
  });

  async function read(memberID: string, signal: AbortSignal): Promise<void> {
    readAt = clock.monotonic();
    const began: ReadTime = { at: clock.now(), monotonic: readAt };
    if (memberID !== readFor) {
      budgets = undefined;
      lastRead = undefined;
    }
    readFor = memberID;
    try {
      budgets = await options.client.listKeyBudgets({ memberID }, { signal });
      lastRead = began;
      failure = undefined;
    } catch (error) {
      if (signal.aborted) return;
      failure = error instanceof Error ? error.message : String(error);
      log.warn({ memberID, reason: failure }, "key budgets could not be read");
      options.onFailed();
      return;
    }
    options.onRead();
  }

  return {
    failure: () => failure,
    latest: () => (options.memberID() === readFor ? budgets : undefined),
    lastRead: () => (options.memberID() === readFor ? lastRead : undefined),
    start: loop.start,
    stop: loop.stop,
  };
}
