import type { Logger } from "pino";
import { type Clock, withDeadline } from "../../base/clock.ts";
import { createPollLoop } from "../../base/schedule.ts";
import { findObject, type KubeClient } from "../../kube/client.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../kube/errors.ts";
import { configMapResource } from "../../kube/resource.ts";
import type { KubeObject } from "../../kube/types.ts";
import type { AccountKey } from "../account/registry.ts";
import type { Usage } from "./usage.ts";
import { createUsageMonth, type Month, parseUsageMonth, type UsageMonth } from "./usage-month.ts";

/**
 * What the objects of the cluster consumed, by day: the basis of every split of a bill. It is kept in 13 ConfigMaps of the
 * operator's namespace, one per calendar month, which are used in turn: this month and the twelve before it.
 *
 * # Guarantees
 * - `add` is in memory at once, and in etcd within `WRITE_MS` while the API server answers.
 * - A stop in order loses nothing. A crash loses at most what was added since the last write.
 * - A write whose response is lost counts once: the next attempt recognizes its stamp, unless 16 other processes wrote in between.
 */
export type UsageLedger = {
  add(usage: Usage): void;
  /** All usage of an account in these months. A month of which nothing is kept has none. @throws KubeError */
  read(account: AccountKey, months: readonly Month[], signal: AbortSignal): Promise<Usage[]>;
  start(): void;
  /** Writes what is pending, for at most 5 s. */
  stop(): Promise<void>;
};

export type UsageLedgerOptions = {
  client: KubeClient;
  namespace: string;
  /** Unique per process: stamps the writes. */
  identity: string;
  clock: Clock;
  log: Logger;
};

type LedgerMap = KubeObject & { data?: Record<string, string> };
type LedgerName = { namespace: string; name: string };
/** One write. `stamp`: tells it from every other one. */
type Batch = { stamp: string; usage: UsageMonth };
/** A month as etcd has it. `version`: of the ConfigMap. `stamps`: the last write of each of the last writers, the newest first. */
type Stored = { month: Month; usage: UsageMonth; version: string | undefined; stamps: string[] };

/** The longest time between `add` and the write: what a crash can lose. */
export const WRITE_MS = 10 * 60_000;
const RETRY_MS = 60_000;
const STOP_MS = 5_000;
const ATTEMPTS = 5;
/** Writers whose last stamp is kept. */
const STAMPS = 16;
/** Months that are kept. */
const MONTHS = 13;
/** Below the 1 MiB that a ConfigMap takes. */
const MAX_BYTES = 1_000_000;

/** The ConfigMaps of the ledger, for the permissions of the operator. */
export const LEDGER_NAMES: readonly string[] = Array.from({ length: MONTHS }, (_, index) => `mooring-usage-${index}`);

export function createUsageLedger(options: UsageLedgerOptions): UsageLedger {
  const { client, clock, log, identity } = options;
  const { pending, unconfirmed, nextBatch } = createBatches(identity);
  let dueAt = clock.monotonic() + WRITE_MS;

  /** A month that cannot be written holds up no other one. @throws the first error */
  async function writeAll(signal: AbortSignal): Promise<void> {
    const errors: unknown[] = [];
    for (const month of new Set([...unconfirmed.keys(), ...pending.keys()])) {
      try {
        await writeMonth(month, signal);
      } catch (error) {
        signal.throwIfAborted();
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  async function writeMonth(month: Month, signal: AbortSignal): Promise<void> {
    for (let batch = nextBatch(month); batch !== undefined; batch = nextBatch(month)) {
      await writeBatch(options, { ...batch, month }, signal);
      unconfirmed.delete(month);
    }
  }

  const loop = createPollLoop({
    clock,
    stopReason: "the operator stops",
    dueInMs: () => dueAt - clock.monotonic(),
    async poll(signal) {
      dueAt = clock.monotonic() + WRITE_MS;
      try {
        await writeAll(signal);
      } catch (error) {
        if (signal.aborted) return;
        dueAt = clock.monotonic() + RETRY_MS;
        log.warn({ reason: String(error) }, "usage could not be written");
      }
    },
  });

  return {
    add: (usage) => monthOf(pending, usage.day.slice(0, 7)).add(usage),
    async read(account, months, signal) {
      const places = months.map((month) => placeOf(options.namespace, month));
      const found = await Promise.all(places.map((place) => readMonth(client, place, signal)));
      return months.flatMap((month, index) => {
        const stored = found[index]?.month === month ? found[index] : undefined;
        const batch = unconfirmed.get(month);
        const isStored = batch === undefined || stored?.stamps.includes(batch.stamp);
        const parts = [stored?.usage, isStored ? undefined : batch.usage, pending.get(month)];
        return parts.flatMap((part) => part?.list(account) ?? []);
      });
    },
    start: loop.start,
    async stop() {
      await loop.stop();
      try {
        await withDeadline(clock, STOP_MS, writeAll);
      } catch (error) {
        log.warn({ reason: String(error) }, "usage could not be written");
      }
    },
  };
}

/** What is not in etcd yet. */
function createBatches(identity: string) {
  /** Added since the last write, by month. */
  const pending = new Map<Month, UsageMonth>();
  /** On their way. A write that failed may have taken effect, so it is repeated with its own stamp. */
  const unconfirmed = new Map<Month, Batch>();
  let writes = 0;

  function nextBatch(month: Month): Batch | undefined {
    const repeated = unconfirmed.get(month);
    if (repeated !== undefined) return repeated;
    const usage = pending.get(month);
    if (usage === undefined) return undefined;
    pending.delete(month);
    const batch = { stamp: `${identity}/${++writes}`, usage };
    unconfirmed.set(month, batch);
    return batch;
  }

  return { pending, unconfirmed, nextBatch };
}

/** Adds to a stored month. A conflict shows that another process, or an earlier attempt, has written it. */
async function writeBatch(
  { client, log, namespace, identity }: UsageLedgerOptions,
  { month, stamp, usage: added }: Batch & { month: Month },
  signal: AbortSignal,
): Promise<void> {
  const place = placeOf(namespace, month);
  for (let attempt = 1; ; attempt++) {
    const stored = await readMonth(client, place, signal);
    if (stored?.stamps.includes(stamp)) return;
    if (stored !== undefined && stored.month > month) {
      log.warn({ month, stored: stored.month }, "usage is too old to be kept");
      return;
    }
    const usage = createUsageMonth(month);
    if (stored?.month === month) usage.addAll(stored.usage);
    usage.addAll(added);
    const { text, lost } = usage.format(MAX_BYTES);
    if (lost.length > 0)
      log.warn({ month, accounts: lost }, "usage is too large to be kept: the accounts' usage is lost");
    const others = (stored?.stamps ?? []).filter((one) => !one.startsWith(`${identity}/`));
    const stamps = [stamp, ...others].slice(0, STAMPS).join(" ");
    const body = mapOf(place, stored?.version, { month, stamps, usage: text });
    try {
      if (stored !== undefined) await client.update<LedgerMap>(configMapResource, place, body, { signal });
      else await client.create<LedgerMap>(configMapResource, { namespace: place.namespace }, body, { signal });
      return;
    } catch (error) {
      const changed = isConflict(error) || isAlreadyExists(error) || isNotFound(error);
      if (signal.aborted || !changed || attempt === ATTEMPTS) throw error;
    }
  }
}

/** What the ConfigMaps have. @throws KubeError, or an Error that names a ConfigMap with unreadable content */
export async function readUsage(
  client: Pick<KubeClient, "get">,
  { namespace, account, months }: { namespace: string; account: AccountKey; months: readonly Month[] },
  signal: AbortSignal,
): Promise<Usage[]> {
  const found = await Promise.all(months.map((month) => readMonth(client, placeOf(namespace, month), signal)));
  return found.flatMap((stored, index) => (stored && stored.month === months[index] ? stored.usage.list(account) : []));
}

async function readMonth(
  client: Pick<KubeClient, "get">,
  place: LedgerName,
  signal: AbortSignal,
): Promise<Stored | undefined> {
  const found = await findObject<LedgerMap>(client, configMapResource, place, { signal });
  if (found === undefined) return undefined;
  const { month = "", usage = "", stamps = "" } = found.data ?? {};
  try {
    return {
      month,
      stamps: stamps.split(" "),
      version: found.metadata.resourceVersion,
      usage: parseUsageMonth(month, usage),
    };
  } catch (cause) {
    const problem = `ConfigMap ${place.namespace}/${place.name} has content that Mooring did not write: delete it; its usage is lost`;
    throw new Error(problem, { cause });
  }
}

function monthOf(months: Map<Month, UsageMonth>, month: Month): UsageMonth {
  const known = months.get(month) ?? createUsageMonth(month);
  months.set(month, known);
  return known;
}

function placeOf(namespace: string, month: Month): LedgerName {
  const [year = 0, number = 1] = month.split("-").map(Number);
  return { namespace, name: LEDGER_NAMES[(year * 12 + number - 1) % MONTHS] ?? "" };
}

function mapOf(place: LedgerName, resourceVersion: string | undefined, data: Record<string, string>): LedgerMap {
  const labels = { "app.kubernetes.io/managed-by": "mooring", "app.kubernetes.io/component": "usage" };
  const version = resourceVersion === undefined ? {} : { resourceVersion };
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { ...place, labels, ...version }, spec: undefined, data };
}
