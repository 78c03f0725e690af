import { basename } from "node:path";
import { Command } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import summaries from "./summaries.json" with { type: "json" };

/** The names under which kubectl runs a plugin, and asks it for completions. */
const PLUGIN = "kubectl-mooring";
const PLUGIN_COMPLETION = "kubectl_complete-mooring";

export async function run(argv: readonly string[]): Promise<void> {
  const [node = "", script = "", ...words] = argv;
  const name = basename(script);
  if (name === PLUGIN_COMPLETION) {
    // kubectl expects the answer of cobra, whose last line is a number: 0 lets the shell add names of files.
    const { COMPLETE_COMMAND } = await import("./use/completion.ts");
    await (await createProgram()).parseAsync([node, script, COMPLETE_COMMAND, "--", ...words]);
    process.stdout.write(":0\n");
    return;
  }
  const called = name === PLUGIN ? "kubectl mooring" : "mooring";
  const program = listsCommands(words) ? createIndex(called) : await createProgram(called, neededBy(words));
  await program.parseAsync(argv);
}

/** The module of a command is loaded when the command is run, so that a start parses only what it needs. */
const COMMANDS: Readonly<Record<string, () => Promise<(program: Command) => void>>> = {
  operator: async () => (await import("./operate/operator.ts")).registerOperatorCommand,
  crds: async () => (await import("./operate/crds.ts")).registerCrdsCommand,
  apply: async () => (await import("./use/apply.ts")).registerApplyCommand,
  cleanup: async () => (await import("./operate/admin.ts")).ADMIN_COMMANDS.cleanup,
  "confirm-restore": async () => (await import("./operate/admin.ts")).ADMIN_COMMANDS.confirmRestore,
  simulator: async () => (await import("./operate/simulator.ts")).registerSimulatorCommand,
  status: async () => (await import("./use/status.ts")).registerStatusCommand,
  explain: async () => (await import("./use/explain.ts")).registerExplainCommand,
  plan: async () => (await import("./use/plan.ts")).registerPlanCommand,
  logs: async () => (await import("./use/logs.ts")).registerLogsCommand,
  open: async () => (await import("./use/open.ts")).registerOpenCommand,
  cancel: async () => (await import("./use/cancel.ts")).registerCancelCommand,
  resolve: async () => (await import("./operate/resolve.ts")).registerResolveCommand,
  say: async () => (await import("./use/say.ts")).registerSayCommand,
  film: async () => (await import("./use/film.ts")).registerFilmCommand,
  import: async () => (await import("./operate/import.ts")).registerImportCommand,
  orphans: async () => (await import("./operate/orphans.ts")).registerOrphansCommand,
  ui: async () => (await import("./use/ui.ts")).registerUiCommand,
  validate: async () => (await import("./use/validate.ts")).registerValidateCommand,
  doctor: async () => (await import("./operate/doctor.ts")).registerDoctorCommand,
  bills: async () => (await import("./use/bills.ts")).registerBillsCommand,
  completion: async () => (await import("./use/completion.ts")).registerCompletionCommand,
};

/** The program with every command, or with those that are named. `name`: as the help shows it. */
export async function createProgram(
  name = "mooring",
  commands: readonly string[] = Object.keys(COMMANDS),
): Promise<Command> {
  const program = withoutCommands(name);
  for (const command of commands) (await COMMANDS[command]?.())?.(program);
  return program;
}

function withoutCommands(name: string): Command {
  return new Command(name)
    .description("Serverless GPU endpoints, speech and video of a paid service, as Kubernetes objects")
    .version(packageJson.version)
    .showHelpAfterError("(--help lists commands and flags)");
}

/** Whether the words ask for the list of all commands. */
const listsCommands = (words: readonly string[]) =>
  words.length === 0 || (words.length === 1 && ["--help", "-h", "help"].includes(words[0] ?? ""));

/** The program with the names of all commands, for the help that lists them. It loads none of them. */
export function createIndex(name = "mooring"): Command {
  const program = withoutCommands(name);
  const terms = new Map(summaries.map(({ name, term }) => [name, term]));
  const { subcommandTerm } = program.createHelp();
  program.configureHelp({ subcommandTerm: (command) => terms.get(command.name()) ?? subcommandTerm(command) });
  for (const { name, description } of summaries) program.command(name).description(description);
  return program;
}

/** summaries.json: what the help of the program lists of each command. */
export function summariesOf(program: Command): string {
  const help = program.createHelp();
  const commands = help.visibleCommands(program).filter((command) => program.commands.includes(command));
  const lines = commands.map((command) => ({
    name: command.name(),
    term: help.subcommandTerm(command),
    description: help.subcommandDescription(command),
  }));
  return `${JSON.stringify(lines, null, 2)}\n`;
}

/** The commands that these words can need: help lists all. */
function neededBy([first = ""]: readonly string[]): readonly string[] | undefined {
  if (first === "--version" || first === "-V") return [];
  return first in COMMANDS ? [first] : undefined;
}
