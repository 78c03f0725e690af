/** What the exit codes of a command mean. A wrong flag is 1. */
export type ExitCodes = Readonly<Record<number, string>>;

const FAILED = "the command failed; the last line says why";

/** The exit codes of every command. A command that is not listed has `DEFAULT_EXIT_CODES`. */
export const EXIT_CODES: Readonly<Record<string, ExitCodes>> = {
  doctor: { 0: "no check is bad", 1: "a check is bad" },
  explain: { 0: "the object was found", 1: FAILED },
  film: {
    0: "the file is written",
    1: FAILED,
    3: "the job failed or is Halted",
    130: "interrupted, or --timeout passed; the job continues",
  },
  import: {
    0: "every endpoint is written",
    1: FAILED,
    3: "some endpoints are not written, each with a line that says why",
  },
  operator: { 0: "the operator was stopped", 1: FAILED, 2: "a flag or an environment variable is invalid" },
  orphans: { 0: "the list is complete", 1: FAILED, 3: "with --exit-code: there are orphans" },
  plan: { 0: "an apply changes nothing at the service", 1: FAILED, 2: "an apply changes something at the service" },
  resolve: { 0: "the job is shown or resolved", 1: FAILED },
  say: {
    0: "the file is written",
    1: FAILED,
    3: "the job failed or is Halted",
    130: "interrupted, or --timeout passed; the job continues",
  },
  status: { 0: "the list is complete", 1: FAILED, 3: "with --exit-code: an object needs you" },
  ui: { 0: "stopped by Ctrl-C or SIGTERM", 1: FAILED },
  validate: { 0: "no problem", 1: "there are problems, one per line on standard output" },
};

export const DEFAULT_EXIT_CODES: ExitCodes = { 0: "success", 1: FAILED };

/** The exit codes of a command, as its help prints them. */
export function exitCodesHelp(command: string): string {
  const codes = Object.entries(EXIT_CODES[command] ?? DEFAULT_EXIT_CODES);
  return `Exit codes:\n${codes.map(([code, meaning]) => `  ${code.padEnd(4)}${meaning}\n`).join("")}`;
}

/** Examples and exit codes, for a command whose help has nothing else to say. */
export function examplesHelp(command: string, examples: readonly string[]): string {
  return `\nExamples:\n${examples.map((line) => `  ${line}\n`).join("")}\n${exitCodesHelp(command)}`;
}
