import { styleText } from "node:util";
import { stringify } from "yaml";
import { plainText } from "../base/sanitizer.ts";

const CELL_LENGTH = 4096;

/** Items as kubectl prints them with -o json and -o yaml. */
export function itemsOf(items: readonly unknown[], format: "json" | "yaml"): string {
  return documentOf({ items }, format);
}

/** One document, in the manner of kubectl. */
export function documentOf(document: object, format: "json" | "yaml"): string {
  if (format === "json") return `${JSON.stringify(document, null, 4)}\n`;
  return stringify(document, { compat: "yaml-1.1", lineWidth: 0 });
}

/**
 * Columns as kubectl prints them: headings in capitals, three blanks between, nothing after the last.
 * @param numbers the headings whose column is flush right
 * @param paint adds colors to a cell, which take no place; row and column from 0, without the heading
 */
export function tableOf(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  numbers: readonly string[] = [],
  paint: (text: string, row: number, column: number) => string = (text) => text,
): string {
  // A terminal obeys control characters, and names come from the service.
  const lines = [headings, ...rows.map((row) => row.map((cell) => plainText(cell, CELL_LENGTH)))];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => width(line[column] ?? ""))));
  return lines
    .map((line, row) =>
      line
        .map((cell, column) => {
          const padding = " ".repeat((widths[column] ?? 0) - width(cell));
          const painted = row === 0 ? cell : paint(cell, row - 1, column);
          return numbers.includes(headings[column] ?? "") ? padding + painted : painted + padding;
        })
        .join("   ")
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("");
}

/** Whether a stream is a terminal that shows colors, as far as NO_COLOR, FORCE_COLOR and the like allow it. */
export function showsColors(stream: NodeJS.WriteStream): boolean {
  return styleText("red", "x", { stream }) !== "x";
}

/** Characters of East Asian scripts take two places of a terminal. */
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/gu;

function width(cell: string): number {
  return [...cell].length + (cell.match(WIDE)?.length ?? 0);
}

/** How long ago, as kubectl's AGE: the largest unit alone. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
