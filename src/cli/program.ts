import { basename } from "node:path";
import { Command } from "commander";
import packageJson from "../../package.json" with { type: "json" };

/** The names under which kubectl runs a plugin, and asks it for completions. */
const PLUGIN = "kubectl-mooring";
const PLUGIN_COMPLETION = "kubectl_complete-mooring";

export async function run(argv: readonly string[]): Promise<void> {
  const [node = "", script = "", ...words] = argv;
  const name = basename(script);
  if (name === PLUGIN_COMPLETION) {
    // kubectl expects the answer of cobra, whose last line is a number: 0 lets the shell add names of files.
    const { COMPLETE_COMMAND } = await import("./completion.ts");
    await (await createProgram()).parseAsync([node, script, COMPLETE_COMMAND, "--", ...words]);
    process.stdout.write(":0\n");
    return;
  }
  const program = await createProgram(name === PLUGIN ? "kubectl mooring" : "mooring", neededBy(words));
  await program.parseAsync(argv);
}

/** The module of a command is loaded when the command is run, so that a start parses only what it needs. */
const COMMANDS: Readonly<Record<string, () => Promise<(program: Command) => void>>> = {
  operator: async () => (await import("./operator.ts")).registerOperatorCommand,
  crds: async () => (await import("./crds.ts")).registerCrdsCommand,
  apply: async () => (await import("./apply.ts")).registerApplyCommand,
  cleanup: async () => (await import("./admin.ts")).ADMIN_COMMANDS.cleanup,
  "confirm-restore": async () => (await import("./admin.ts")).ADMIN_COMMANDS.confirmRestore,
  simulator: async () => (await import("./simulator.ts")).registerSimulatorCommand,
  status: async () => (await import("./status.ts")).registerStatusCommand,
  explain: async () => (await import("./explain.ts")).registerExplainCommand,
  plan: async () => (await import("./plan.ts")).registerPlanCommand,
  resolve: async () => (await import("./resolve.ts")).registerResolveCommand,
  say: async () => (await import("./say.ts")).registerSayCommand,
  film: async () => (await import("./film.ts")).registerFilmCommand,
  import: async () => (await import("./import.ts")).registerImportCommand,
  orphans: async () => (await import("./orphans.ts")).registerOrphansCommand,
  ui: async () => (await import("./ui.ts")).registerUiCommand,
  validate: async () => (await import("./validate.ts")).registerValidateCommand,
  doctor: async () => (await import("./doctor.ts")).registerDoctorCommand,
  bills: async () => (await import("./bills.ts")).registerBillsCommand,
  completion: async () => (await import("./completion.ts")).registerCompletionCommand,
};

/** The program with every command, or with those that are named. `name`: as the help shows it. */
export async function createProgram(
  name = "mooring",
  commands: readonly string[] = Object.keys(COMMANDS),
): Promise<Command> {
  const program = new Command(name)
    .description("Serverless GPU endpoints, speech and video of a remote service, as Kubernetes objects")
    .version(packageJson.version)
    .showHelpAfterError("(--help lists commands and flags)");
  for (const command of commands) (await COMMANDS[command]?.())?.(program);
  return program;
}

/** The commands that these words can need: help lists all. */
function neededBy([first = ""]: readonly string[]): readonly string[] | undefined {
  if (first === "--version" || first === "-V") return [];
  return first in COMMANDS ? [first] : undefined;
}
