/** Where text is drawn: standard output or error, and how it is known whether it is a terminal. */
export type Screen = { isTTY?: boolean; rows?: number; write(text: string): unknown };

const UP = (lines: number) => `\u001b[${lines}A`;
const CLEAR_BELOW = "\r\u001b[J";
/** A line that is too long for the terminal ends at its edge, so that it takes one line. */
const NO_WRAP = "\u001b[?7l";
const WRAP = "\u001b[?7h";
const DEFAULT_ROWS = 24;

/** Draws a text in place of the one before. The text ends with a newline. For terminals only. */
export function createLiveText(screen: Screen): (text: string) => void {
  let height = 0;
  let shown = "";
  return (text) => {
    const lines = text.split("\n").slice(0, -1);
    const room = Math.max(2, (screen.rows ?? DEFAULT_ROWS) - 1);
    const drawn =
      lines.length <= room ? lines : [...lines.slice(0, room - 1), `… and ${lines.length - room + 1} more lines`];
    const wanted = drawn.map((line) => `${line}\n`).join("");
    if (wanted === shown) return;
    screen.write(`${NO_WRAP}${height === 0 ? "" : UP(height)}${CLEAR_BELOW}${wanted}${WRAP}`);
    shown = wanted;
    height = drawn.length;
  };
}
