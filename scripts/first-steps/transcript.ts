/** One command of a transcript, as it ran. */
export type Ran = { command: string; seconds: number; output: string };

/** The same commands with empty and with filled caches. */
export type Runs = { cold: Ran[]; warm: Ran[] };

/** Lines of a command's output that the page shows; the first ones of a longer output are left out. */
const MAX_LINES = 24;
const MAX_COLUMNS = 150;

/** The table of times, and the transcript of the run with filled caches. */
export function transcriptSection({ cold, warm }: Runs): string {
  const rows = cold.map(({ command, seconds }, index) => {
    return `| \`${shortened(command)}\` | ${shown(seconds)} | ${shown(warm[index]?.seconds ?? Number.NaN)} |`;
  });
  const total = (runs: readonly Ran[]) => shown(runs.reduce((sum, { seconds }) => sum + seconds, 0));
  const table = ["| command | cold | warm |", "|---|---|---|", ...rows, `| total | ${total(cold)} | ${total(warm)} |`];
  return [...table, "", "```text", ...warm.flatMap(shownLines).slice(0, -1), "```"].join("\n");
}

/** Replaces the text between the markers `<!-- transcript: NAME -->` and `<!-- /transcript -->`. @throws Error without the markers */
export function replaceTranscript(page: string, name: string, text: string): string {
  const [open, close] = [`<!-- transcript: ${name} -->`, "<!-- /transcript -->"];
  const start = page.indexOf(open);
  const end = page.indexOf(close, start);
  if (start < 0 || end < 0) throw new Error(`the page has no markers ${open} and ${close}`);
  return `${page.slice(0, start)}${open}\n${text}\n${page.slice(end)}`;
}

function shownLines({ command, seconds, output }: Ran): string[] {
  const lines = output.split("\n").map((line) => line.trimEnd());
  const kept = lines.filter((line, index) => line !== "" || lines[index - 1] !== "");
  while (kept.at(-1) === "") kept.pop();
  const last = kept
    .slice(-MAX_LINES)
    .map((line) => (line.length > MAX_COLUMNS ? `${line.slice(0, MAX_COLUMNS)}…` : line));
  const before = kept.length > MAX_LINES ? ["..."] : [];
  return [`$ ${command}`, ...before, ...last, `# ${shown(seconds)}`, ""];
}

const shortened = (command: string) =>
  (command.length > 72 ? `${command.slice(0, 70)} …` : command).replaceAll("|", "\\|");
const shown = (seconds: number) => (seconds < 10 ? `${seconds.toFixed(1)} s` : `${Math.round(seconds)} s`);
