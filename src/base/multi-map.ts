/** Several values for a key, each once. */
export type MultiMap<V> = {
  /** Read them before the next change. */
  of(key: string): Iterable<V>;
  add(key: string, value: V): void;
  remove(key: string, value: V): void;
};

/** Most keys have one value. A Set of one value takes about 200 bytes, so the map keeps a lone value without a Set. */
export function createMultiMap<V>(): MultiMap<V> {
  const values = new Map<string, V | Set<V>>();

  return {
    of(key) {
      const known = values.get(key);
      if (known instanceof Set) return known;
      return known === undefined ? [] : [known];
    },
    add(key, value) {
      const known = values.get(key);
      if (known instanceof Set) known.add(value);
      else values.set(key, known === undefined || known === value ? value : new Set([known, value]));
    },
    remove(key, value) {
      const known = values.get(key);
      if (known instanceof Set) known.delete(value);
      if (known === value || (known instanceof Set && known.size === 0)) values.delete(key);
    },
  };
}
