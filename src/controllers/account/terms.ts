import { type Clock, stopwatch } from "../../base/clock.ts";
import type { Server } from "./other-servers.ts";
import type { AccountKey } from "./registry.ts";
import type { AccountPlace, ServerEntry } from "./server-entry.ts";

/** The lists of all objects that use accounts. */
export type Lists = {
  /** When the oldest of the present lists began, monotonic ms. */
  begunAt(): number;
  /** Lists everything anew. Resolves when lists are complete that began after the call. */
  renew(): Promise<void>;
};

/** What this process does for the objects of an account. */
export type AccountWork = {
  /** Whether something is under way that others must not disturb. */
  isUnderWay(key: AccountKey): boolean;
  /** Drops what the process remembers of the account's objects. */
  forget(key: AccountKey): void;
};

/** The time in which this process serves an account. */
export type Term = AccountPlace & {
  /** Another one for each term. */
  number: number;
  /** Its lists are there. */
  begun: boolean;
  /** Ms since the begin of the last request that showed the entry. */
  age: () => number;
  reading?: Promise<void> | undefined;
};

export type Terms = {
  get(key: AccountKey): Term | undefined;
  entries(): Iterable<[AccountKey, Term]>;
  count(): number;
  /** The entry names this process. `isFresh`: the present lists show everything that others did. */
  begin(key: AccountKey, place: AccountPlace & Pick<Term, "age">, isFresh: boolean): Term;
  end(key: AccountKey): void;
  /** Reads the entry, unless that was done a moment ago. @throws Error unless it names this process */
  confirm(key: AccountKey, signal: AbortSignal): Promise<void>;
  isConfirmed(key: AccountKey): boolean;
};

type TermsOptions = {
  clock: Clock;
  entry: ServerEntry;
  lists: Lists;
  work: AccountWork;
  onBegin: (key: AccountKey) => void;
  /** The entry names another process. */
  lost: (key: AccountKey, server: Server) => Error;
};

/** The entry is read again after this long, and nothing that costs something is sent when no read has shown it for so long. */
const CONFIRM_MS = 5_000;
const CONFIRMED_MS = 10_000;

export function createTerms({ clock, entry, lists, work, onBegin, lost }: TermsOptions): Terms {
  const held = new Map<AccountKey, Term>();
  let number = 0;

  async function read(key: AccountKey, term: Term, signal: AbortSignal): Promise<void> {
    const age = stopwatch(clock);
    const server = await entry.read(term, signal);
    if (server === undefined) throw unserved(key);
    if (!entry.isSelf(server) || server.released !== undefined) throw lost(key, server);
    term.age = age;
  }

  return {
    get: (key) => held.get(key),
    entries: () => held,
    count: () => held.size,
    begin(key, place, isFresh) {
      work.forget(key);
      const term: Term = { ...place, number: ++number, begun: false };
      held.set(key, term);
      const start = () => {
        if (held.get(key) !== term) return;
        term.begun = true;
        onBegin(key);
      };
      if (isFresh) start();
      else void lists.renew().then(start);
      return term;
    },
    end: (key) => void held.delete(key),
    async confirm(key, signal) {
      const term = held.get(key);
      if (term === undefined) throw unserved(key);
      if (term.age() < CONFIRM_MS) return;
      term.reading ??= read(key, term, signal).finally(() => {
        term.reading = undefined;
      });
      await term.reading;
    },
    isConfirmed: (key) => (held.get(key)?.age() ?? Number.POSITIVE_INFINITY) < CONFIRMED_MS,
  };
}

export function unserved(key: AccountKey): Error {
  return new Error(`status.server of ${key} does not surely name this process: nothing is sent`);
}
