/** How many values each factor has. */
export type Levels = readonly number[];

/** The index of a value for each factor. */
export type Row = readonly number[];

type Pair = { a: number; valueOfA: number; b: number; valueOfB: number };

const keyOf = ({ a, valueOfA, b, valueOfB }: Pair): string => `${a}:${valueOfA},${b}:${valueOfB}`;

/** Every pair of values of two factors. */
export function pairsOf(levels: Levels): Pair[] {
  return levels.flatMap((countA, a) =>
    levels
      .slice(a + 1)
      .flatMap((countB, offset) =>
        indexes(countA).flatMap((valueOfA) =>
          indexes(countB).map((valueOfB) => ({ a, valueOfA, b: a + 1 + offset, valueOfB })),
        ),
      ),
  );
}

/**
 * Rows that together contain every pair of values of two factors. Greedy: each row begins with a pair that is not covered yet, and
 * every further factor takes the value that covers most. The same levels give the same rows.
 */
export function coveringArray(levels: Levels): Row[] {
  const left = new Map(pairsOf(levels).map((pair) => [keyOf(pair), pair]));
  const rows: Row[] = [];
  for (let [first] = left.values(); first !== undefined; [first] = left.values()) {
    const row = rowFrom(first, levels, left);
    rows.push(row);
    for (const pair of pairsIn(row)) left.delete(keyOf(pair));
  }
  return rows;
}

function rowFrom(first: Pair, levels: Levels, left: ReadonlyMap<string, Pair>): Row {
  const chosen = new Map([
    [first.a, first.valueOfA],
    [first.b, first.valueOfB],
  ]);
  // The factors with most values are hardest to cover, so they choose first.
  const order = indexes(levels.length)
    .filter((factor) => !chosen.has(factor))
    .sort((a, b) => (levels[b] ?? 0) - (levels[a] ?? 0) || a - b);
  for (const factor of order) {
    const gains = indexes(levels[factor] ?? 0).map((value) => {
      const covered = [...chosen].filter(([other, otherValue]) =>
        left.has(keyOf(pairOf([factor, value], [other, otherValue]))),
      );
      return { value, gain: covered.length };
    });
    const best = gains.reduce((most, one) => (one.gain > most.gain ? one : most));
    // Without a gain, values take turns: a row that only fills up is worth more with other values than with defaults.
    chosen.set(factor, best.gain > 0 ? best.value : left.size % (levels[factor] ?? 1));
  }
  return indexes(levels.length).map((factor) => chosen.get(factor) ?? 0);
}

/** Every pair that a row contains. */
export function pairsIn(row: Row): Pair[] {
  return row.flatMap((valueOfA, a) =>
    row.slice(a + 1).map((valueOfB, offset) => ({ a, valueOfA, b: a + 1 + offset, valueOfB })),
  );
}

function pairOf([one, valueOfOne]: [number, number], [other, valueOfOther]: [number, number]): Pair {
  return one < other
    ? { a: one, valueOfA: valueOfOne, b: other, valueOfB: valueOfOther }
    : { a: other, valueOfA: valueOfOther, b: one, valueOfB: valueOfOne };
}

function indexes(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
