import { Argument, type Command } from "commander";
import type { Resource } from "../../kube/resource.ts";
import type { KubeObject } from "../../kube/types.ts";
import { lazyCluster } from "../account-source.ts";
import { exitCodesHelp } from "../exit-codes.ts";
import { candidates } from "./completion/candidates.ts";
import { COMPLETION_SCRIPTS, isShell } from "./completion/scripts.ts";

/** The hidden command that the scripts of the shells ask. Its name follows the convention of cobra, which kubectl uses. */
export const COMPLETE_COMMAND = "__complete";

const HELP = `
Examples:
  source <(mooring completion bash)                                  for this shell; add it to ~/.bashrc to keep it
  mooring completion zsh > "\${fpath[1]}/_mooring"
  mooring completion fish > ~/.config/fish/completions/mooring.fish

For kubectl mooring, make the command available under the name that kubectl looks for:
  ln -s "$(command -v mooring)" ~/.local/bin/kubectl_complete-mooring

`;

/** `mooring completion`: a script for a shell, which asks the hidden command `__complete` for each word. */
export function registerCompletionCommand(program: Command): void {
  program
    .command("completion")
    .description("print a script that completes commands, flags and names of objects in a shell")
    .addArgument(new Argument("<shell>", "bash, zsh or fish").choices(Object.keys(COMPLETION_SCRIPTS)))
    .addHelpText("after", HELP + exitCodesHelp("completion"))
    .action((shell: string) => {
      if (isShell(shell)) process.stdout.write(COMPLETION_SCRIPTS[shell]);
    });
  program
    .command(COMPLETE_COMMAND, { hidden: true })
    .argument("[words...]", "the words of the command line, the last one as far as it is typed")
    .action(async (words: string[]) => {
      const lines = (await candidates(program, words, namesInCluster)).map(
        ({ value, description }) => `${value}\t${description}\n`,
      );
      process.stdout.write(lines.join(""));
    });
}

/** A shell waits for the answer, so a cluster that does not answer soon has no names. */
const LOOKUP_MS = 2_000;
const MOST_NAMES = 500;

async function namesInCluster(resource: Resource, flags: ReadonlyMap<string, string>): Promise<string[]> {
  const kubeconfig = flags.get("--kubeconfig");
  const cluster = lazyCluster(kubeconfig === undefined ? {} : { kubeconfig }, process.env);
  try {
    const opened = await cluster.open();
    const place = resource.namespaced ? { namespace: flags.get("--namespace") ?? opened.namespace } : {};
    const limits = { query: { limit: MOST_NAMES }, signal: AbortSignal.timeout(LOOKUP_MS) };
    const { items } = await opened.kube.list<KubeObject>(resource, place, limits);
    return items.map(({ metadata }) => metadata.name);
  } catch {
    return []; // a completion has no place for an error
  } finally {
    await cluster.close();
  }
}
