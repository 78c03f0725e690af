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
    const { COMPLETE_COMMAND } = await import("./use/completion.ts");
    await (await createProgram()).parseAsync([node, script, COMPLETE_COMMAND, "--", ...words]);
    process.stdout.write(":0\n");
    return;
  }
  const program = await createProgram(name === PLUGIN ? "kubectl mooring" : "mooring", neededBy(words));
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
  const program = new Command(name)
    .description("Serverless GPU endpoints, speech and video of a paid service, as Kubernetes objects")
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
