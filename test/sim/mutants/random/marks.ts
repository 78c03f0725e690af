import { readFileSync } from "node:fs";
import { z } from "zod";

/** Code of a file that tells when it runs, by its index in the table. */
export type Place = { index: number; file: string; at: number; find: string; operator: string };

/** The indices of the places that ran since the last call. */
export function takeReached(): number[] {
  const taken = [...reached];
  reached.clear();
  return taken;
}

const reached = new Set<number>();
const TELL = "mooringReached";
Object.assign(globalThis, { [TELL]: (index: number) => void reached.add(index) });

const places = z.array(
  z.object({ index: z.number(), file: z.string(), at: z.number(), find: z.string(), operator: z.string() }),
);

export function readPlaces(path: string): Place[] {
  return places.parse(JSON.parse(readFileSync(path, "utf8")));
}

/** Each place tells before it runs. What it does stays the same, and so do the lines. */
export function marked(source: string, all: readonly Place[]): string {
  const inserts = all.flatMap((place) => insertsOf(place, source));
  inserts.sort((a, b) => a.at - b.at || a.order - b.order);
  let from = 0;
  let text = "";
  for (const { at, skip = 0, insert } of inserts) {
    text += source.slice(from, at) + insert;
    from = at + skip;
  }
  return text + source.slice(from);
}

type Insert = { at: number; order: number; insert: string; skip?: number };

/** At one character, the inner place ends first, and the outer one begins first. */
function insertsOf({ index, at, find, operator }: Place, source: string): Insert[] {
  const tell = `${TELL}(${index})`;
  const end = at + find.length;
  if (operator === "statement") return [{ at, order: source.length * 3 - end, insert: `${tell},` }];
  if (operator === "method") {
    const dot = source[at - 2] === "?" ? 0 : 1;
    return [{ at: at - dot, order: 0, insert: `[(${tell},"${find}")]`, skip: find.length + dot }];
  }
  return [
    { at, order: source.length * 3 - end, insert: `(${tell},(` },
    { at: end, order: -at, insert: "))" },
  ];
}
