import { basename } from "node:path";
import { Command } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import { registerApplyCommand } from "./apply.ts";
import { registerBillsCommand } from "./bills.ts";
import { registerCleanupCommand } from "./cleanup.ts";
import { COMPLETE_COMMAND, registerCompletionCommand } from "./completion.ts";
import { registerCrdsCommand } from "./crds.ts";
import { registerDoctorCommand } from "./doctor.ts";
import { registerExplainCommand } from "./explain.ts";
import { registerFilmCommand } from "./film.ts";
import { registerImportCommand } from "./import.ts";
import { registerOperatorCommand } from "./operator.ts";
import { registerOrphansCommand } from "./orphans.ts";
import { registerPlanCommand } from "./plan.ts";
import { registerResolveCommand } from "./resolve.ts";
import { registerSayCommand } from "./say.ts";
import { registerSimulatorCommand } from "./simulator.ts";
import { registerStatusCommand } from "./status.ts";
import { registerUiCommand } from "./ui.ts";
import { registerValidateCommand } from "./validate.ts";

/** The names under which kubectl runs a plugin, and asks it for completions. */
const PLUGIN = "kubectl-mooring";
const PLUGIN_COMPLETION = "kubectl_complete-mooring";

export async function run(argv: readonly string[]): Promise<void> {
  const [node = "", script = "", ...words] = argv;
  const name = basename(script);
  if (name === PLUGIN_COMPLETION) {
    // kubectl expects the answer of cobra, whose last line is a number: 0 lets the shell add names of files.
    await createProgram().parseAsync([node, script, COMPLETE_COMMAND, "--", ...words]);
    process.stdout.write(":0\n");
    return;
  }
  await createProgram(name === PLUGIN ? "kubectl mooring" : "mooring").parseAsync(argv);
}

/** The program with every command. `name`: as the help shows it. */
export function createProgram(name = "mooring"): Command {
  const program = new Command(name)
    .description("Serverless GPU endpoints, speech and video of a remote service, as Kubernetes objects")
    .version(packageJson.version)
    .showHelpAfterError("(--help lists commands and flags)");
  registerOperatorCommand(program);
  registerCrdsCommand(program);
  registerApplyCommand(program);
  registerCleanupCommand(program);
  registerSimulatorCommand(program);
  registerStatusCommand(program);
  registerExplainCommand(program);
  registerPlanCommand(program);
  registerResolveCommand(program);
  registerSayCommand(program);
  registerFilmCommand(program);
  registerImportCommand(program);
  registerOrphansCommand(program);
  registerUiCommand(program);
  registerValidateCommand(program);
  registerDoctorCommand(program);
  registerBillsCommand(program);
  registerCompletionCommand(program);
  return program;
}
