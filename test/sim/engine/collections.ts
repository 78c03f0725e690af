import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** What the operator's Maps and Sets hold. */
export type Collections = {
  /** Entries of those that are still in use, by file and name: `src/base/fair-queue.ts groups`. Empty ones are left out. */
  entries(): Record<string, number>;
  stop(): void;
};

const ROOT = join(import.meta.dirname, "../../..");
/** The file and the line in a line of a stack. */
const PLACE = /\/(src\/(?!simulator\/)[^:?]+)[^:]*:(\d+)/;

/** Follows each Map and Set that the operator makes from now on. */
export function followCollections(): Collections {
  setFlagsFromString("--expose-gc");
  const collectGarbage: () => void = runInNewContext("gc");
  const { Map: PlainMap, Set: PlainSet } = globalThis;
  const sites = new PlainMap<string, string>();
  const followed = new PlainSet<{ site: string; of: WeakRef<{ size: number }> }>();

  function siteOf(file: string, line: number): string {
    const key = `${file}:${line}`;
    const known = sites.get(key);
    if (known !== undefined) return known;
    const text = readFileSync(join(ROOT, file), "utf8").split("\n")[line - 1] ?? "";
    const site = `${file} ${/(\w+)(?::[^=]*)? = new|(\w+): new/.exec(text)?.[1] ?? text.trim()}`;
    sites.set(key, site);
    return site;
  }

  function follow(collection: { size: number }): void {
    // The first lines are the error's, this function and the constructor.
    const maker = new Error().stack?.split("\n")[3] ?? "";
    const [place, file = "", line = ""] = PLACE.exec(maker) ?? [];
    if (place !== undefined) followed.add({ site: siteOf(file, Number(line)), of: new WeakRef(collection) });
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
    entries() {
      collectGarbage();
      const entries: Record<string, number> = {};
      for (const one of followed) {
        const size = one.of.deref()?.size;
        if (size === undefined) followed.delete(one);
        else if (size > 0) entries[one.site] = (entries[one.site] ?? 0) + size;
      }
      return entries;
    },
    stop: () => void Object.assign(globalThis, { Map: PlainMap, Set: PlainSet }),
  };
}
