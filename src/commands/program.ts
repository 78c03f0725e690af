import { Command } from "commander";
import { registerCrdsCommand } from "./crds.ts";
import { registerOperatorCommand } from "./operator.ts";
import { registerSimulatorCommand } from "./simulator.ts";

export async function run(argv: readonly string[]): Promise<void> {
  const program = new Command("mooring")
    .description("Serverless GPU endpoints, speech and video of a remote service, as Kubernetes objects")
    .showHelpAfterError();
  registerOperatorCommand(program);
  registerCrdsCommand(program);
  registerSimulatorCommand(program);
  await program.parseAsync(argv);
}
