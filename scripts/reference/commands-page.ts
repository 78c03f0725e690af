import type { Command } from "commander";
import { pageHead } from "./table.ts";

/** Width of the help texts, in characters. */
const WIDTH = 120;

/** docs/reference/command-line.md: what `--help` prints for each command. */
export function commandsPage(program: Command): string {
  const sections = program.commands.flatMap((command) => [
    `## mooring ${command.name()}`,
    "",
    "```text",
    helpOf(command),
    "```",
    "",
  ]);
  return [
    pageHead("Command line", "the commands in src/cli"),
    "The same texts are printed by `mooring COMMAND --help`. [operator.md](../operator.md) has the environment variables of the",
    "operator's flags.",
    "",
    ...sections,
  ].join("\n");
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
