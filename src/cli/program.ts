import { Command } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import { registerApplyCommand } from "./apply.ts";
import { registerBillsCommand } from "./bills.ts";
import { registerCleanupCommand } from "./cleanup.ts";
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
import { registerValidateCommand } from "./validate.ts";

export async function run(argv: readonly string[]): Promise<void> {
  await createProgram().parseAsync(argv);
}

/** The `mooring` program with every command. */
export function createProgram(): Command {
  const program = new Command("mooring")
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
  registerValidateCommand(program);
  registerDoctorCommand(program);
  registerBillsCommand(program);
  return program;
}
