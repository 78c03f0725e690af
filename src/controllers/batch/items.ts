import { createHash } from "node:crypto";
import { isRecord } from "../../base/own-value.ts";
import { MAX_ITEMS } from "./index-set.ts";
import type { SourceRecord } from "./records.ts";

type Fields = Record<string, unknown>;

/** One item: what it changes in the template (RFC 7396), and the name of its result. */
export type Item = { index: number; name: string | undefined; patch: Fields };

/** A record as JSON. `problem`: why it cannot be one. */
export type ItemLine = SourceRecord & { problem?: string };

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
  problemOf: (item: Item) => Promise<string | undefined>;
  /** Called with each record that is an item. */
  onItem?: (index: number, line: ItemLine) => void;
  /** Gives other work a turn; undefined: not now. Default: never. */
  turn?: () => Promise<void> | undefined;
};

/**
 * Checks every item before anything is sent: its JSON, its fields, duplicate names, and the number of items. Blank lines are no items. The
 * hash covers all items in their order, but no blank lines.
 */
export async function checkItems(
  lines: AsyncIterable<ItemLine>,
  { problemOf, onItem, turn }: ItemCheck,
): Promise<CheckedItems> {
  const hash = createHash("sha256");
  const lineOfName = new Map<string, number>();
  const problems: ItemProblem[] = [];
  let count = 0;
  let total = 0;
  const add = (line: number, message: string) => {
    count++;
    if (problems.length < SHOWN_PROBLEMS) problems.push({ line, message });
  };

  for await (const record of lines) {
    const { text, line } = record;
    if (isBlank(record)) continue;
    if (total === MAX_ITEMS) {
      add(line, `there are more than ${MAX_ITEMS} items: divide them among several batches`);
      break;
    }
    hash.update(text.trim()).update("\n");
    onItem?.(total, record);
    const parsed = itemOf(record, total++);
    const problem =
      typeof parsed === "string" ? parsed : (nameProblem(parsed, line, lineOfName) ?? (await problemOf(parsed)));
    if (problem !== undefined) add(line, problem);
    await turn?.();
  }

  if (total === 0 && count === 0) add(1, "there are no items: add one");
  return count > 0 ? { kind: "Bad", problems, count } : { kind: "Good", total, hash: hash.digest("hex") };
}

export function isBlank({ text, problem }: ItemLine): boolean {
  return problem === undefined && text.trim() === "";
}

/** The item of a record, or why it is none. */
export function itemOf({ text, problem }: ItemLine, index: number): Item | string {
  if (problem !== undefined) return problem;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `is no JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
  if (!isRecord(value)) return "is no JSON object: write the fields of the item in braces";
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

/** A JSON merge patch (RFC 7396): null removes, objects merge, everything else is replaced. */
export function mergeItem(template: Fields, patch: Fields): Fields {
  const merged = new Map(Object.entries(template));
  for (const [field, value] of Object.entries(patch)) {
    const present = merged.get(field);
    if (value === null) merged.delete(field);
    else merged.set(field, isRecord(value) ? mergeItem(isRecord(present) ? present : {}, value) : value);
  }
  return Object.fromEntries(merged);
}
