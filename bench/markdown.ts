/** A number of the page: three digits below 100, else an integer; "" for NaN. */
export function number(value: number): string {
  if (Number.isNaN(value)) return "";
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en-US") : String(Number(value.toPrecision(3)));
}

export function row(...cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

/** The head of a table. */
export function heading(...cells: readonly string[]): string[] {
  return [row(...cells), `|${cells.map(() => "---").join("|")}|`];
}
