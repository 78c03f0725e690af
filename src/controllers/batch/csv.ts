import { structuralSchema } from "../../api/schema/structural.ts";
import { KINDS } from "../../api/v1alpha1/kinds.ts";
import { cellsOf } from "./records.ts";

/** A column of CSV: the path of a field, and how its cells become values. */
type CsvColumn = { path: string[]; value: (cell: string) => unknown };

/** Converts records of CSV to items as JSON. The header must be known first. */
export type CsvItems = { columns: readonly CsvColumn[] };

/** The columns that a header names, or what is wrong with it. @param kind of the jobs: its schema decides which cells are numbers */
export function csvItemsOf(header: string, kind: string): CsvItems | string {
  const names = cellsOf(header)?.map((name) => name.trim());
  if (names === undefined) return "the header has quotes that are not balanced";
  const empty = names.indexOf("");
  if (empty >= 0)
    return `column ${empty + 1} of the header has no name: write the path of a field, or remove the column`;
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) return `the header has the column ${twice} twice`;
  return {
    columns: names.map((name) => ({ path: name.split("."), value: cellConverter(typeAt(kind, name.split("."))) })),
  };
}

/** An item as JSON, or what is wrong with its record. An empty cell sets nothing. */
export function csvItem({ columns }: CsvItems, text: string): { json: string } | { problem: string } {
  const cells = cellsOf(text);
  if (cells === undefined) return { problem: "has quotes that are not balanced" };
  if (cells.length !== columns.length) {
    return {
      problem: `has ${cells.length} cells, and the header has ${columns.length}: quote cells that contain a comma`,
    };
  }
  const item = new Map<string, unknown>();
  for (const [at, { path, value }] of columns.entries()) {
    const cell = cells[at] ?? "";
    if (cell !== "") setAt(item, path, value(cell));
  }
  return { json: JSON.stringify(plain(item)) };
}

function setAt(fields: Map<string, unknown>, [name = "", ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) return void fields.set(name, value);
  const present = fields.get(name);
  const inner = present instanceof Map ? present : new Map<string, unknown>();
  fields.set(name, inner);
  setAt(inner, rest, value);
}

function plain(value: unknown): unknown {
  if (!(value instanceof Map)) return value;
  return Object.fromEntries([...value].map(([name, inner]) => [name, plain(inner)]));
}

/** A cell that is no value of the type stays a text, which the kind then refuses. */
function cellConverter(type: unknown): (cell: string) => unknown {
  if (type === "integer" || type === "number") {
    return (cell) => (Number.isFinite(Number(cell)) ? Number(cell) : cell);
  }
  if (type === "boolean") return (cell) => (/^(true|false)$/i.test(cell) ? cell.toLowerCase() === "true" : cell);
  if (type === "array" || type === "object") return jsonOr;
  return (cell) => cell;
}

function jsonOr(cell: string): unknown {
  try {
    return JSON.parse(cell);
  } catch {
    return cell;
  }
}

/** The type that the schema of a kind gives a field. Undefined: it has no such field. */
function typeAt(kind: string, path: readonly string[]): unknown {
  const definition = KINDS.find(({ resource }) => resource.kind === kind);
  let node: unknown = definition && structuralSchema(definition.spec);
  for (const name of path) node = at(at(node, "properties"), name);
  return at(node, "type");
}

function at(node: unknown, name: string): unknown {
  return typeof node === "object" && node !== null && Object.hasOwn(node, name) ? Reflect.get(node, name) : undefined;
}
