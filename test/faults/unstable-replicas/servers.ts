import { setTimeout as sleep } from "node:timers/promises";
import type { Accounts } from "./accounts.ts";
import type { Life } from "./replicas.ts";

type Change = { at: number; server: string };
type Event = { kind: string; life: Life; server: string; at: number; accounts: string[] };

/** How long an account had no other server after its own one was disturbed; undefined: it has none yet. */
export type Takeover = { kind: string; process: string; account: string; ms: number | undefined };

export type Servers = {
  /** Whose accounts another process takes over from now on. */
  disturbed(kind: string, life: Life): void;
  takeovers(): Takeover[];
  /** How many accounts each process serves now, and `NOBODY`. */
  now(): Record<string, number>;
  close(): Promise<void>;
};

const INTERVAL_MS = 50;
/** Serves an account that no process serves. */
export const NOBODY = "";

/**
 * Reads all the time which process serves which account.
 * @param nameOf of a process, as accounts name it
 */
export function followServers(accounts: Pick<Accounts, "list">, nameOf: (life: Life) => string): Servers {
  const changes = new Map<string, Change[]>();
  const events: Event[] = [];
  let isOver = false;
  const serverOf = (account: string) => changes.get(account)?.at(-1)?.server ?? NOBODY;

  async function read(): Promise<void> {
    for (const { metadata, status } of await accounts.list()) {
      const { lease = NOBODY, released } = (status?.["server"] ?? {}) as { lease?: string; released?: string };
      const server = released === undefined ? lease : NOBODY;
      if (changes.has(metadata.name) && server === serverOf(metadata.name)) continue;
      changes.set(metadata.name, [...(changes.get(metadata.name) ?? []), { at: performance.now(), server }]);
    }
  }

  async function follow(): Promise<void> {
    while (!isOver) {
      await read();
      await sleep(INTERVAL_MS);
    }
  }
  const following = follow();

  function takeoverMs({ server, at }: Event, account: string): number | undefined {
    const next = changes.get(account)?.find((change) => change.at > at && ![NOBODY, server].includes(change.server));
    return next === undefined ? undefined : next.at - at;
  }

  return {
    disturbed(kind, life) {
      const server = nameOf(life);
      const accounts = [...changes.keys()].filter((account) => serverOf(account) === server);
      events.push({ kind, life, server, at: performance.now(), accounts });
    },
    takeovers: () =>
      events.flatMap((event) =>
        event.accounts.map((account) => ({
          kind: event.kind,
          process: event.life.name,
          account,
          ms: takeoverMs(event, account),
        })),
      ),
    now: () =>
      Object.fromEntries(Object.entries(Object.groupBy(changes.keys(), serverOf)).map(([k, v]) => [k, v?.length ?? 0])),
    async close() {
      isOver = true;
      await following;
    },
  };
}

/** `killed: 7 takeovers, median 15.4 s, max 16.2 s`. */
export function summaryOf(kind: string, takeovers: readonly Takeover[]): string {
  const times = takeovers
    .filter((one) => one.kind === kind)
    .map(({ ms = Number.POSITIVE_INFINITY }) => ms / 1_000)
    .sort((a, b) => a - b);
  if (times.length === 0) return `${kind}: no takeovers`;
  const seconds = (value = Number.NaN) => `${value.toFixed(1)} s`;
  return `${kind}: ${times.length} takeovers, median ${seconds(times[Math.floor(times.length / 2)])}, max ${seconds(times.at(-1))}`;
}
