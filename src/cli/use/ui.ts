import { type Command, Option } from "commander";
import { exitCodesHelp } from "../exit-codes.ts";
import { AUTHS, type UiFlags } from "./ui/flags.ts";

const HELP = `
Serves a web page on this machine, prints its URL and runs until Ctrl-C. The page reads and changes what your kubeconfig may. The URL
has a token: who has it acts as you. With --auth, the page can run in a cluster: see docs/how-to/ui.md.

Examples:
  mooring ui                       all objects that you may list
  mooring ui -n team-a,team-b      two namespaces
  mooring ui --read-only           for a screen that others use

${exitCodesHelp("ui")}`;

/** `mooring ui`: the web page. */
export function registerUiCommand(program: Command): void {
  program
    .command("ui")
    .description("serve a web page with endpoints, jobs, results and spending")
    .option(
      "--kubeconfig <path>",
      "path of the kubeconfig; default: KUBECONFIG, ~/.kube/config, or the pod's service account",
    )
    .addOption(
      new Option("-n, --namespace <names>", "only these namespaces; default: all").argParser(list).default([], ""),
    )
    .option("--bind-address <address>", "address to listen on, with port 0 for any free one", "127.0.0.1:8091")
    .addOption(
      new Option(
        "--auth <how>",
        "url-token: a random token in the URL. none: nobody signs in, and the page is read-only. bearer-token: each request has the cluster token of its user, from an auth proxy",
      )
        .choices(AUTHS)
        .default("url-token"),
    )
    .option("--read-only", "change nothing, whatever you may change")
    .addOption(
      new Option("--allowed-hosts <names>", "further host names under which the page is reached")
        .argParser(list)
        .default([], ""),
    )
    .option("--artifact-root <path>", "folder where the volume of ArtifactStores is mounted, to play copies from it")
    .option("--allow-private-networks", "play results from private addresses, for development")
    .addOption(
      new Option("--denied-networks <networks>", "networks in CIDR notation that results are never read from")
        .argParser(list)
        .default([], ""),
    )
    .option(
      "--health-probe-bind-address <address>",
      "address of /healthz and /readyz, [HOST]:PORT; 0 turns them off",
      "0",
    )
    .addHelpText("after", HELP)
    .action(async (flags: UiFlags) => {
      // Loaded only here: other commands need no web server.
      const { runUi } = await import("./ui/run.ts");
      await runUi(flags);
    });
}

function list(text: string): string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}
