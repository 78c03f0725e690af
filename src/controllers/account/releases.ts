import type { Logger } from "pino";
import { type Clock, delay, stopwatch } from "../../base/clock.ts";
import type { AccountKey } from "./registry.ts";
import type { ServerEntry } from "./server-entry.ts";
import type { AccountWork, Term, Terms } from "./terms.ts";
import type { Turns } from "./turns.ts";

/** How this process ends to serve accounts while it lives. */
export type Releases = {
  /** Whether the account is being given up: nothing begins for it. */
  isLeaving(key: AccountKey): boolean;
  /** Releases one account for which nothing is under way, when another process serves fewer. Returns which. */
  giveUp(signal: AbortSignal): Promise<AccountKey | undefined>;
  /** Releases all accounts, when the process has stopped to send. Never rejects. */
  release(signal: AbortSignal): Promise<void>;
};

type ReleasesOptions = {
  clock: Clock;
  log: Pick<Logger, "warn" | "info">;
  entry: ServerEntry;
  terms: Pick<Terms, "entries" | "end">;
  turns: Pick<Turns, "lighter">;
  work: Pick<AccountWork, "isUnderWay">;
  serves: (key: AccountKey) => boolean;
  isNeeded: (key: AccountKey) => boolean;
  /** This process has begun or ended to serve the account. */
  changed: (key: AccountKey) => void;
};

/** How often work under way is looked at. */
const LOOK_MS = 250;
/** A process that stops is not listed any more after so long. */
const STOPPED_MS = 5_000;
/** How long work under way may keep an account from being given up. */
const GIVE_UP_MS = 5_000;

export function createReleases(options: ReleasesOptions): Releases {
  const { clock, log, entry, terms, turns, work, serves } = options;
  const leaving = new Set<AccountKey>();

  /** No process takes a ClusterAccount without objects. */
  const canLeave = (key: AccountKey, { place }: Term) =>
    serves(key) && !work.isUnderWay(key) && (place.namespace !== undefined || options.isNeeded(key));

  /** Waits a moment for what is under way for the account. Nothing new begins. */
  async function isIdle(key: AccountKey, signal: AbortSignal): Promise<boolean> {
    const sinceBegin = stopwatch(clock);
    while (work.isUnderWay(key) && sinceBegin() < GIVE_UP_MS && !signal.aborted) await delay(clock, LOOK_MS, signal);
    return !work.isUnderWay(key);
  }

  return {
    isLeaving: (key) => leaving.has(key),
    async giveUp(signal) {
      const before = turns.lighter();
      const isLighter = () => turns.lighter().some((name) => before.includes(name));
      if (!isLighter()) return undefined;
      await delay(clock, STOPPED_MS, signal); // a process that stops releases its accounts before its lease ends
      if (!isLighter()) return undefined;
      const [key, term] = [...terms.entries()].find(([key, term]) => canLeave(key, term)) ?? [];
      if (key === undefined || term === undefined) return undefined;
      leaving.add(key);
      try {
        if (!(await isIdle(key, signal)) || !isLighter()) return undefined;
        await entry.release(term, signal);
        terms.end(key);
        log.info({ account: key }, "this process has released the account: another one serves fewer");
        return key;
      } finally {
        leaving.delete(key);
        options.changed(key);
      }
    },
    async release(signal) {
      const released = [...terms.entries()].map(async ([key, term]) => {
        try {
          await entry.release(term, signal);
        } catch (error) {
          log.warn({ account: key, reason: String(error) }, "the account is not released: others wait for its lease");
        }
      });
      await Promise.all(released);
    },
  };
}
