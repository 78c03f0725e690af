import type { Clock } from "../base/clock.ts";
import { formatYuan, type Money } from "../base/money.ts";
import type { Division, Pool } from "./division.ts";
import type { Places } from "./places.ts";
import type { Work } from "./work.ts";

/** Why a job has to wait for its share. `untilMs`: when a request of the last minute no longer counts, monotonic ms. */
export type PoolHold = { reason: "ShareLimited"; message: string; untilMs?: number };

/** What the jobs of a pool use now. */
export type PoolUse = { tasks: number; requests: number; day: Money; month: Money };

/**
 * Counts what the jobs of each namespace use against the limits of their share. A request counts for `requestsPerMinute` from its admission
 * until a minute after its answer, so that the service gets no more of them in any minute. No object tells of the requests of deleted jobs, so a
 * share with this limit waits until a minute after the count began. A request reserves its cost until the usage that is recorded has it.
 */
export type Pools = {
  /** Why one more request has to wait. undefined: the share lets it go, or there are no shares. */
  hold(work: Work): PoolHold | undefined;
  /** Why an endpoint that gets workers has to wait for the money of its share. */
  exhausted(namespace: string): PoolHold | undefined;
  /** A request of the namespace was answered. */
  answered(namespace: string): void;
  use(pool: Pool): PoolUse;
};

const MINUTE_MS = 60_000;

export function createPools(clock: Clock, places: Places, division: () => Division | undefined): Pools {
  /** When requests of the last minute were answered, by namespace, oldest first. Monotonic ms. */
  const answeredAt = new Map<string, number[]>();
  /** When every request of before is a minute old, monotonic ms. */
  const completeAt = clock.monotonic() + MINUTE_MS;

  function recent(namespace: string): number[] {
    const since = clock.monotonic() - MINUTE_MS;
    const times = answeredAt.get(namespace) ?? [];
    const old = times.findIndex((time) => time > since);
    if (old !== 0) times.splice(0, old === -1 ? times.length : old);
    if (times.length === 0) answeredAt.delete(namespace);
    return times;
  }

  const placesOf = ({ namespaces }: Pool) => namespaces.flatMap((namespace) => places.of(namespace));
  /** Requests without an answer. */
  const openIn = (pool: Pool) => placesOf(pool).filter(({ stage }) => stage !== "InFlight");
  const sentBy = ({ namespaces }: Pool) => namespaces.flatMap((namespace) => recent(namespace));

  function requestsHold(pool: Pool): PoolHold | undefined {
    const { requestsPerMinute: limit } = pool;
    if (limit === undefined) return undefined;
    if (clock.monotonic() < completeAt) {
      const message = `Share ${pool.share} allows ${limit} requests a minute (limits.requestsPerMinute), and the requests of the minute before this operator served the account may count: wait a minute`;
      return { reason: "ShareLimited", message, untilMs: completeAt };
    }
    const sent = sentBy(pool);
    const open = openIn(pool).length;
    if (sent.length + open < limit) return undefined;
    const message = `Share ${pool.share} allows ${limit} requests a minute (limits.requestsPerMinute), and ${sent.length + open} were answered in the last one or are under way`;
    const first = sent.length === 0 ? {} : { untilMs: Math.min(...sent) + MINUTE_MS };
    return { reason: "ShareLimited", message, ...first };
  }

  function tasksHold(pool: Pool): PoolHold | undefined {
    const { concurrentTasks: limit } = pool;
    const tasks = limit === undefined ? 0 : placesOf(pool).length;
    if (limit === undefined || tasks < limit) return undefined;
    const message = `Share ${pool.share} allows ${limit} tasks in flight (limits.concurrentTasks), and ${tasks} are`;
    return { reason: "ShareLimited", message };
  }

  /** `cost`: of one more request. undefined: not known. */
  function moneyHold(pool: Pool, { spent, costOf }: Division, cost: Money | undefined): PoolHold | undefined {
    if (pool.dailyLimit === undefined && pool.monthlyLimit === undefined) return undefined;
    const used = spent(pool);
    const open = openIn(pool);
    const costs = open.map(({ work }) => costOf(work.operation, work.quantity));
    const isUnknown = cost === undefined || costs.includes(undefined);
    if (used.unpriced !== undefined || (isUnknown && open.length > 0)) {
      const what = used.unpriced === undefined ? "of a request" : `of ${used.unpriced}`;
      const message = `Share ${pool.share} has a limit of money, and no bill has shown the price ${what} yet: wait for the bills, or have budget.reservePerTask set on the account`;
      return { reason: "ShareLimited", message };
    }
    const reserved = costs.reduce<Money>((sum, one) => sum + (one ?? 0n), cost ?? 1n);
    return overrun(pool, "day", used.day, reserved) ?? overrun(pool, "month", used.month, reserved);
  }

  return {
    hold({ namespace, operation, quantity }) {
      const shares = division();
      const pool = shares?.poolOf(namespace);
      if (shares === undefined || pool === undefined) return undefined;
      return tasksHold(pool) ?? moneyHold(pool, shares, shares.costOf(operation, quantity)) ?? requestsHold(pool);
    },
    exhausted(namespace) {
      const shares = division();
      const pool = shares?.poolOf(namespace);
      return shares === undefined || pool === undefined ? undefined : moneyHold(pool, shares, 1n);
    },
    answered(namespace) {
      const times = recent(namespace);
      times.push(clock.monotonic());
      answeredAt.set(namespace, times);
    },
    use(pool) {
      const { day = 0n, month = 0n } = division()?.spent(pool) ?? {};
      return { tasks: placesOf(pool).length, requests: sentBy(pool).length, day, month };
    },
  };
}

/** Why an amount does not fit into what is left of a day or a month. */
function overrun(pool: Pool, period: "day" | "month", spent: Money, reserved: Money): PoolHold | undefined {
  const [limit, field] = period === "day" ? [pool.dailyLimit, "dailyLimit"] : [pool.monthlyLimit, "monthlyLimit"];
  if (limit === undefined || spent + reserved <= limit) return undefined;
  const message = `Share ${pool.share} allows ${formatYuan(limit)} yuan a ${period} (limits.${field}): ${formatYuan(spent)} are spent, and ${formatYuan(reserved)} are reserved with this request`;
  return { reason: "ShareLimited", message };
}
