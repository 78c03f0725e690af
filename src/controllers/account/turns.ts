import type { Logger } from "pino";
import type { Clock } from "../../base/clock.ts";
import { createPollLoop, type PollLoop } from "../../base/schedule.ts";
import type { Members } from "../../runtime/members.ts";
import type { AnyAccount } from "./other-servers.ts";

/** Divides the accounts among the processes of the installation, by how many each serves. */
export type Turns = {
  /** Whether this process may take an account that has been free since then. `former`: its last server, which does not want it. */
  mayTake(freeSinceMs: number, former: string | undefined): boolean;
  /** The processes that have lived for minutes and serve at least two fewer. */
  lighter(): string[];
};

type TurnsOptions = {
  clock: Pick<Clock, "monotonic">;
  members: Pick<Members, "name" | "list" | "isReady">;
  /** Namespace of the leases. */
  installation: string;
  /** Every account of the cluster. */
  accounts: () => Iterable<AnyAccount>;
  /** How many accounts this process serves. */
  count: () => number;
};

/** A process releases at most one account in this time. */
const BALANCE_MS = 60_000;

/** Releases accounts one by one while another process serves fewer. */
export function createBalancer(
  servers: { giveUp(signal: AbortSignal): Promise<unknown> },
  { clock, log }: { clock: Clock; log: Pick<Logger, "warn"> },
): PollLoop {
  let dueAt = clock.monotonic() + BALANCE_MS;
  return createPollLoop({
    clock,
    stopReason: "the operator stops",
    dueInMs: () => dueAt - clock.monotonic(),
    async poll(signal) {
      dueAt = clock.monotonic() + BALANCE_MS;
      try {
        await servers.giveUp(signal);
      } catch (error) {
        if (!signal.aborted) log.warn({ reason: String(error) }, "no account was released");
      }
    },
  });
}

/**
 * Each process that serves fewer accounts goes first for so long. All processes learn within 0.5 s that another one has ended, at most 17.5 s
 * after it was killed. So one of them serves its accounts within 20 s, even if one that goes first hangs.
 */
const TURN_MS = 2_000;
/** A process that keeps restarting gets no accounts of others. */
const SETTLED_MS = 5 * 60_000;
/** The numbers of the other processes hold for so long. */
const COUNTED_MS = 100;

export function createTurns({ clock, members, installation, accounts, count }: TurnsOptions): Turns {
  let counted = { at: Number.NEGATIVE_INFINITY, by: new Map<string, number>() };

  function loads(): ReadonlyMap<string, number> {
    if (clock.monotonic() < counted.at + COUNTED_MS) return counted.by;
    const by = new Map<string, number>();
    for (const { status } of accounts()) {
      const { namespace, lease = "", released } = status?.server ?? {};
      if (namespace === installation && released === undefined) by.set(lease, (by.get(lease) ?? 0) + 1);
    }
    counted = { at: clock.monotonic(), by };
    return by;
  }

  function others() {
    const by = loads();
    return members
      .list()
      .filter(({ name, ready }) => ready && name !== members.name)
      .map(({ name, knownMs }) => ({ name, load: by.get(name) ?? 0, knownMs }));
  }

  return {
    mayTake(freeSinceMs, former) {
      if (!members.isReady() || members.list().some(({ excludes }) => excludes)) return false;
      const before = others().filter(({ name, load }) => name !== former && load < count()).length;
      return clock.monotonic() >= freeSinceMs + before * TURN_MS;
    },
    lighter: () =>
      others().flatMap(({ name, load, knownMs }) => (knownMs >= SETTLED_MS && load + 2 <= count() ? [name] : [])),
  };
}
