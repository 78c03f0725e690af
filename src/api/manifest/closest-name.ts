/** A short name is close to many others, so fewer letters may differ. */
const LETTERS_PER_TYPO = 4;
const MOST_TYPOS = 3;

/** The one of `known` that `written` probably means. @returns undefined if none is close */
export function closestName(written: string, known: readonly string[]): string | undefined {
  const plain = plainName(written);
  const limit = Math.min(MOST_TYPOS, Math.floor(plain.length / LETTERS_PER_TYPO));
  const [best] = known
    .map((name) => ({ name, typos: distance(plain, plainName(name)) }))
    .filter(({ typos }) => typos <= limit)
    .sort((a, b) => a.typos - b.typos);
  return best?.name;
}

/** Without what spellings of the same words differ in: `health_check` and `healthCheck`. */
function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_. ]/g, "");
}

/** Letters to add, remove, replace or swap with their neighbor (optimal string alignment). */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(rows, i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swaps = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = swaps ? at(rows, i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY;
      row.push(Math.min(at(rows, i - 1, j) + 1, (row[j - 1] ?? 0) + 1, replaced, swapped));
    }
    rows.push(row);
  }
  return at(rows, a.length, b.length);
}

function at(rows: readonly (readonly number[])[], i: number, j: number): number {
  return rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
}
