import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../../src/base/clock.ts";
import { gc } from "../../support/gc.ts";

/** What the operator holds. */
export type Holdings = {
  /**
   * By file and name: entries of Maps and Sets (`src/base/fair-queue.ts groups`), the sum of the numbers in a Map (`... (sum)`), listeners
   * of signals, and timers of the followed clocks. What is empty is left out.
   */
  now(): Record<string, number>;
  followTimers(clock: Clock): void;
  stop(): void;
};

const ROOT = join(import.meta.dirname, "../../..");
/** The file and the line in a line of a stack. */
const PLACE = /\/(src\/(?!simulator\/)[^:?]+)[^:]*:(\d+)/;
/** The user of what `src/base` offers. */
const USER = /\/(src\/(?!simulator\/|base\/)[^:?]+)[^:]*:(\d+)/;

/** Follows each Map, Set and listener of a signal that the operator makes from now on. */
export function followHoldings(): Holdings {
  const { Map: PlainMap, Set: PlainSet } = globalThis;
  const sites = new PlainMap<string, string>();
  const followed = new PlainSet<{ site: string; of: WeakRef<Collection> }>();

  /** The place in the stack that `pattern` finds, by file and name. */
  function siteOf(pattern: RegExp, skip = 0): string | undefined {
    const raw = rawStack();
    const at = raw.findIndex((line, index) => index >= skip && pattern.test(line));
    const key = raw[at];
    if (key === undefined || (skip > 0 && at > skip)) return undefined;
    const known = sites.get(key);
    if (known !== undefined) return known;
    // Lines as they are in the file: this is slow.
    const [, file = "", line = ""] = pattern.exec(new Error().stack?.split("\n").slice(skip).join("\n") ?? "") ?? [];
    const text = readFileSync(join(ROOT, file), "utf8").split("\n")[Number(line) - 1] ?? "";
    const site = `${file} ${/(\w+)(?::[^=]*)? = new|(\w+): new/.exec(text)?.[1] ?? text.trim()}`;
    sites.set(key, site);
    return site;
  }

  /** Everything that counts as one until its end. */
  const open = new PlainMap<object, string>();
  function openAt(what: object, kind: string): void {
    const site = siteOf(USER);
    if (site !== undefined) open.set(what, `${site} (${kind})`);
  }
  const listeners = followListeners(openAt, open);

  function follow(collection: Collection): void {
    const site = siteOf(PLACE, MAKER);
    if (site !== undefined) followed.add({ site, of: new WeakRef(collection) });
  }

  class FollowedMap<K, V> extends PlainMap<K, V> {
    constructor(entries?: Iterable<readonly [K, V]> | null) {
      super(entries);
      follow(this);
    }
  }
  class FollowedSet<T> extends PlainSet<T> {
    constructor(values?: Iterable<T> | null) {
      super(values);
      follow(this);
    }
  }
  Object.assign(globalThis, { Map: FollowedMap, Set: FollowedSet });

  return {
    now() {
      gc();
      const held: Record<string, number> = {};
      const add = (site: string, count: number) => {
        if (count !== 0) held[site] = (held[site] ?? 0) + count;
      };
      for (const one of followed) {
        const collection = one.of.deref();
        if (collection === undefined) followed.delete(one);
        else add(one.site, collection.size);
        if (collection instanceof PlainMap) add(`${one.site} (sum)`, sumOf(collection));
      }
      listeners.forget();
      for (const site of open.values()) add(site, 1);
      return held;
    },
    followTimers(clock) {
      const { setTimeout } = clock;
      clock.setTimeout = (fn, ms) => {
        const timer = {};
        openAt(timer, "timer");
        const cancel = setTimeout(() => {
          open.delete(timer);
          fn();
        }, ms);
        return () => {
          open.delete(timer);
          cancel();
        };
      };
    },
    stop() {
      Object.assign(globalThis, { Map: PlainMap, Set: PlainSet });
      listeners.stop();
    },
  };
}

/** Who makes a Map: before are `rawStack`, `siteOf`, `follow` and the constructor. */
const MAKER = 4;

/** The places of the stack as the engine knows them, without the lines of their files. */
function rawStack(): string[] {
  let frames: NodeJS.CallSite[] = [];
  const { prepareStackTrace } = Error;
  Error.prepareStackTrace = (_, sites) => {
    frames = sites;
    return "";
  };
  void new Error().stack;
  Error.prepareStackTrace = prepareStackTrace;
  return frames.map((frame) => `${frame.getFileName()}:${frame.getLineNumber()}:${frame.getColumnNumber()}`);
}

type Collection = { size: number };

function sumOf(map: Map<unknown, unknown>): number {
  let sum = 0;
  for (const value of map.values()) if (typeof value === "number") sum += value;
  return sum;
}

/** Opens each listener of a signal; it ends when it is removed, with its signal, and when its signal aborts. */
function followListeners(openAt: (what: object, kind: string) => void, open: Map<object, string>) {
  const { prototype } = EventTarget;
  const { addEventListener, removeEventListener } = prototype;
  const known = new WeakMap<object, Map<unknown, object>>();
  const alive = new Map<object, WeakRef<AbortSignal>>();
  prototype.addEventListener = function (this: EventTarget, ...args: Parameters<typeof addEventListener>) {
    const [, listener] = args;
    if (this instanceof AbortSignal && !this.aborted && known.get(this)?.has(listener) !== true) {
      const one = {};
      openAt(one, "listener");
      known.set(this, (known.get(this) ?? new Map()).set(listener, one));
      alive.set(one, new WeakRef(this));
    }
    addEventListener.apply(this, args);
  };
  prototype.removeEventListener = function (this: EventTarget, ...args: Parameters<typeof removeEventListener>) {
    const own = known.get(this);
    const one = own?.get(args[1]);
    own?.delete(args[1]);
    if (one !== undefined) end(one);
    removeEventListener.apply(this, args);
  };
  function end(one: object): void {
    open.delete(one);
    alive.delete(one);
  }
  return {
    forget() {
      for (const [one, signal] of alive) if (signal.deref()?.aborted !== false) end(one);
    },
    stop: () => void Object.assign(prototype, { addEventListener, removeEventListener }),
  };
}
