import { createLiveText, type Screen } from "../../src/cli/live-text.ts";
import type { Row } from "./rows.ts";

export type Table = { show(rows: readonly Row[]): void };

const HEAD = {
  kind: "KIND",
  name: "NAME",
  ready: "READY",
  state: "STATE",
  progress: "DONE",
  reason: "REASON",
} as const;
/** Room for what comes later, so that columns do not jump. */
const LEAST = { kind: 11, name: 14, ready: 7, state: 28, progress: 5, reason: 0 };
const COLUMNS = Object.keys(HEAD) as (keyof typeof HEAD)[];

/**
 * A table of objects as they change. On a terminal it is redrawn in place; elsewhere each change but that of progress is
 * a line of its own, with the seconds since the start in front.
 */
export function createTable(screen: Screen, seconds: () => number): Table {
  return screen.isTTY === true ? inPlace(screen) : lineByLine(screen, seconds);
}

function inPlace(screen: Screen): Table {
  const draw = createLiveText(screen);
  return {
    show: (rows) =>
      draw(
        tableLines(rows)
          .map((line) => `${line}\n`)
          .join(""),
      ),
  };
}

function lineByLine(screen: Screen, seconds: () => number): Table {
  const shown = new Map<string, string>();
  return {
    show(rows) {
      for (const row of rows) {
        const key = `${row.kind}/${row.name}`;
        const text = `${key.padEnd(26)} Ready=${row.ready.padEnd(7)} ${row.state.padEnd(LEAST.state)} ${row.reason}`;
        if (shown.get(key) === text) continue;
        shown.set(key, text);
        screen.write(`${stamp(seconds())} ${text}\n`);
      }
    },
  };
}

/** The table without colours, one line per object under a heading. */
export function tableLines(rows: readonly Row[]): string[] {
  const all = [HEAD, ...rows];
  const widths = COLUMNS.map((column) => Math.max(LEAST[column], ...all.map((row) => row[column].length)));
  return all.map((row) =>
    COLUMNS.map((column, index) => row[column].padEnd(widths[index] ?? 0))
      .join("   ")
      .trimEnd(),
  );
}

export function stamp(seconds: number): string {
  return `[${seconds.toFixed(1).padStart(5)} s]`;
}
