import { expect, it } from "vitest";
import { createLiveText } from "../../../src/cli/live-text.ts";

/** What a terminal with this many rows shows after the writes: a text replaces the lines of the one before. */
function terminal(rows: number) {
  const lines: string[] = [];
  let written = 0;
  const write = (text: string) => {
    written++;
    const named = text.replaceAll("\u001b", "ESC");
    const [, up = "0", shown = ""] = /^ESC\[\?7l(?:ESC\[(\d+)A)?\rESC\[J([\s\S]*)ESC\[\?7h$/.exec(named) ?? [];
    lines.splice(lines.length - Number(up));
    lines.push(...shown.split("\n").slice(0, -1));
  };
  return { screen: { isTTY: true, rows, write }, lines, writes: () => written };
}

it("draws each text in the place of the one before", () => {
  const { screen, lines, writes } = terminal(24);
  const draw = createLiveText(screen);
  draw("a\nb\n");
  draw("a\nb\nc\n");
  draw("a\nb\nc\n");
  draw("d\n");
  expect(lines).toEqual(["d"]);
  expect(writes(), "a text that is the same is not drawn again").toBe(3);
});

it("does not grow beyond the terminal, which would scroll it away", () => {
  const { screen, lines } = terminal(5);
  createLiveText(screen)("1\n2\n3\n4\n5\n6\n");
  expect(lines).toEqual(["1", "2", "3", "… and 3 more lines"]);
});
