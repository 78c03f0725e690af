/** Columns as kubectl prints them: headings in capitals, three blanks between, nothing after the last. */
export function tableOf(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => width(line[column] ?? ""))));
  return lines
    .map((line) =>
      line
        .map((cell, column) => (column === line.length - 1 ? cell : pad(cell, widths[column] ?? 0)))
        .join("   ")
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("");
}

function pad(cell: string, to: number): string {
  return cell + " ".repeat(to - width(cell));
}

function width(cell: string): number {
  return [...cell].length;
}

/** How long ago, as kubectl's AGE: the largest unit alone. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
