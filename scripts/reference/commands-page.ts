import type { Command } from "commander";
import { DEFAULT_EXIT_CODES, EXIT_CODES } from "../../src/cli/exit-codes.ts";
import { visibleCommands } from "../../src/cli/use/completion/candidates.ts";
import { pageHead } from "./table.ts";

/** Width of the help texts, in characters. */
const WIDTH = 120;

/** docs/reference/command-line.md: what `--help` prints for each command. */
export function commandsPage(program: Command): string {
  const sections = visibleCommands(program).flatMap((command) => [
    `## mooring ${command.name()}`,
    "",
    "```text",
    helpOf(command),
    "```",
    "",
  ]);
  return [
    pageHead("Command line", "the commands in src/cli"),
    "`mooring COMMAND --help` prints the same texts. [The command line](../how-to/cli.md) has examples.",
    "",
    "## Exit codes",
    "",
    ...exitCodes(program),
    "",
    ...sections,
  ].join("\n");
}

/** One row for each command and code. */
function exitCodes(program: Command): string[] {
  const rows = visibleCommands(program).flatMap((command) =>
    Object.entries(EXIT_CODES[command.name()] ?? DEFAULT_EXIT_CODES).map(
      ([code, meaning]) => `| \`${command.name()}\` | ${code} | ${meaning} |`,
    ),
  );
  return ["| command | code | meaning |", "|---|---|---|", ...rows];
}

function helpOf(command: Command): string {
  let text = "";
  command.configureOutput({
    getOutHelpWidth: () => WIDTH,
    getOutHasColors: () => false,
    writeOut: (part) => {
      text += part;
    },
  });
  command.outputHelp();
  return text.replaceAll(/[ \t]+$/gm, "").trimEnd();
}
