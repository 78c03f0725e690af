import { createHash } from "node:crypto";
import { MAX_ITEMS } from "./index-set.ts";

type Fields = Record<string, unknown>;

/** One item: what it changes in the template (RFC 7396), and the name of its result. */
export type Item = { index: number; name: string | undefined; patch: Fields };

/** `line`: from 1. */
export type ItemProblem = { line: number; message: string };

/** What a check of all items shows. `Bad`: the first problems, and how many there are in all. */
export type CheckedItems =
  | { kind: "Good"; total: number; hash: string }
  | { kind: "Bad"; problems: ItemProblem[]; count: number };

/** Problems that a condition lists. */
const SHOWN_PROBLEMS = 10;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** How items are checked. */
export type ItemCheck = {
  /** Why the job of an item would be refused; undefined: it would not. */
  problemOf: (item: Item) => string | undefined;
  /** Gives other work a turn; undefined: not now. Default: never. */
  turn?: () => Promise<void> | undefined;
};

/**
 * Checks every line of JSON Lines before anything is sent: its JSON, its fields, duplicate names, and the number of items. Blank lines
 * are no items. The hash covers all items in their order, but no blank lines.
 */
export async function checkItems(
  lines: AsyncIterable<string> | Iterable<string>,
  { problemOf, turn }: ItemCheck,
): Promise<CheckedItems> {
  const hash = createHash("sha256");
  const lineOfName = new Map<string, number>();
  const problems: ItemProblem[] = [];
  let count = 0;
  let total = 0;
  let line = 0;
  const add = (message: string) => {
    count++;
    if (problems.length < SHOWN_PROBLEMS) problems.push({ line, message });
  };

  for await (const text of lines) {
    line++;
    if (text.trim() === "") continue;
    if (total === MAX_ITEMS) {
      add(`there are more than ${MAX_ITEMS} items: divide them among several batches`);
      break;
    }
    hash.update(text.trim()).update("\n");
    const parsed = parseItem(text, total++);
    const problem = typeof parsed === "string" ? parsed : (nameProblem(parsed, line, lineOfName) ?? problemOf(parsed));
    if (problem !== undefined) add(problem);
    await turn?.();
  }

  if (total === 0) add("there are no items: add one line of JSON for each");
  return count > 0 ? { kind: "Bad", problems, count } : { kind: "Good", total, hash: hash.digest("hex") };
}

/** The items with these indexes. @throws Error when a line that was checked is no item any more */
export async function pickItems(
  lines: AsyncIterable<string> | Iterable<string>,
  indexes: ReadonlySet<number>,
): Promise<Map<number, Item>> {
  const found = new Map<number, Item>();
  let index = 0;
  if (indexes.size === 0) return found;
  for await (const text of lines) {
    if (text.trim() === "") continue;
    if (indexes.has(index)) {
      const item = parseItem(text, index);
      if (typeof item === "string") throw new Error(`item ${index}: ${item}`);
      found.set(index, item);
      if (found.size === indexes.size) break;
    }
    index++;
  }
  return found;
}

/** The item of a line, or why it is none. */
function parseItem(text: string, index: number): Item | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `is no JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
  if (!isFields(value)) return "is no JSON object: write the fields of the item in braces";
  const { name, ...patch } = value;
  if (name === undefined) return { index, name: undefined, patch };
  if (typeof name === "string" && NAME.test(name)) return { index, name, patch };
  return "name must be a text of 1 to 128 letters, digits, '.', '_' and '-', a letter or digit first";
}

function nameProblem({ name }: Item, line: number, lineOfName: Map<string, number>): string | undefined {
  if (name === undefined) return undefined;
  const other = lineOfName.get(name);
  if (other !== undefined) return `name ${name} is also in line ${other}: give each item its own name`;
  lineOfName.set(name, line);
  return undefined;
}

/** The lines of a text, without their ends. */
export function* linesOf(text: string): Iterable<string> {
  let from = 0;
  for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
    yield text.slice(from, end);
    from = end + 1;
  }
  if (from < text.length) yield text.slice(from);
}

/** A JSON merge patch (RFC 7396): null removes, objects merge, everything else is replaced. */
export function mergeItem(template: Fields, patch: Fields): Fields {
  const merged = new Map(Object.entries(template));
  for (const [field, value] of Object.entries(patch)) {
    const present = merged.get(field);
    if (value === null) merged.delete(field);
    else merged.set(field, isFields(value) ? mergeItem(isFields(present) ? present : {}, value) : value);
  }
  return Object.fromEntries(merged);
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
