/** Standard error, where progress is shown, and whether it is a terminal. */
export type Screen = { isTTY?: boolean; columns?: number; write(text: string): unknown };

/** One line that shows the state of a job and is replaced by the next one. On anything but a terminal it shows nothing. */
export type ProgressLine = {
  /** `percent`: 0 to 100; undefined: not known. */
  show(text: string, percent?: number): void;
  /** Removes the line. */
  clear(): void;
};

const BAR = 20;
const DEFAULT_COLUMNS = 80;
const ERASE_LINE = "\r\u001b[2K";

export function createProgress(screen: Screen): ProgressLine {
  if (screen.isTTY !== true) return { show: () => undefined, clear: () => undefined };
  return {
    show(text, percent) {
      const line = `${percent === undefined ? "" : `${bar(percent)} `}${text}`;
      screen.write(`${ERASE_LINE}${line.slice(0, (screen.columns ?? DEFAULT_COLUMNS) - 1)}`);
    },
    clear: () => void screen.write(ERASE_LINE),
  };
}

function bar(percent: number): string {
  const full = Math.round((Math.min(100, Math.max(0, percent)) / 100) * BAR);
  return `[${"#".repeat(full)}${".".repeat(BAR - full)}] ${String(Math.round(percent)).padStart(3)} %`;
}
