import { randomBytes } from "node:crypto";
import { type Command, Option } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import { systemClock } from "../clock.ts";
import { resultLookup } from "../controllers/account/result-lookup.ts";
import { createKubeClient, type KubeRequest } from "../kube/client.ts";
import { type Credentials, loadCredentials } from "../kube/credentials.ts";
import { createLogger } from "../log.ts";
import { anyExcept } from "../net/address-guard.ts";
import { parseBindAddress, serveProbes } from "../runtime/http.ts";
import { createClusterSession } from "../ui/cluster-session.ts";
import type { Auth } from "../ui/guard.ts";
import { createMediaOpener } from "../ui/media.ts";
import { type Sessions, singleSession, tokenSessions } from "../ui/sessions.ts";
import { asOwnerOf, isKnown } from "../ui/user-credentials.ts";
import { exitCodesHelp } from "./exit-codes.ts";

const AUTHS = ["url-token", "none", "bearer-token"] as const;
type Flags = {
  kubeconfig?: string;
  namespace: string[];
  bindAddress: string;
  auth: (typeof AUTHS)[number];
  readOnly?: boolean;
  allowedHosts: string[];
  artifactRoot?: string;
  allowPrivateNetworks?: boolean;
  deniedNetworks: string[];
  healthProbeBindAddress: string;
};

const HELP = `
Serves a web page on this machine, prints its URL and runs until Ctrl-C. The page reads and changes what your kubeconfig may. The URL
has a token: who has it acts as you. With --auth, the page can run in a cluster: see docs/ui.md.

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
    .action(run);
}

function list(text: string): string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

async function run(flags: Flags): Promise<void> {
  const bind = parseBindAddress(flags.bindAddress);
  if (bind === undefined) throw new Error("--bind-address: expected [HOST]:PORT");
  const { host = "::", port } = bind;
  // Loaded only here: other commands do without a web server.
  const [{ serveUi }, assets] = await Promise.all([
    import("../ui/server.ts"),
    import("../ui/assets.ts").then(({ readAssets }) => readAssets()),
  ]);
  const auth = authOf(flags);
  const credentials = await loadCredentials({ kubeconfig: flags.kubeconfig, env: process.env });
  const probes = await serveProbes(flags.healthProbeBindAddress, { healthz: PING, readyz: PING });
  const server = await serveUi(
    {
      auth,
      allowedHosts: flags.allowedHosts,
      sessions: sessionsOf(flags, credentials),
      assets,
      openMedia: createMediaOpener({
        artifactRoot: flags.artifactRoot,
        lookup: (kind, spec) =>
          flags.allowPrivateNetworks ? anyExcept(flags.deniedNetworks) : resultLookup(kind, spec, flags.deniedNetworks),
        clock: systemClock,
      }),
      version: packageJson.version,
      readOnly: readOnlyReason(flags),
      namespaces: flags.namespace,
      clock: systemClock,
    },
    { host, port },
  );
  const query = auth.kind === "UrlToken" ? `?token=${auth.token}` : "";
  process.stdout.write(`Open in your browser: http://${urlHost(host)}:${server.port}/${query}\nStop with Ctrl-C.\n`);
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
  await Promise.all([server.close(), probes.close()]);
}

const PING = { ping: () => undefined };

function authOf({ auth }: Flags): Auth {
  if (auth === "url-token") return { kind: "UrlToken", token: randomBytes(24).toString("base64url") };
  return { kind: auth === "none" ? "None" : "BearerToken" };
}

function readOnlyReason({ auth, readOnly }: Flags): string | undefined {
  if (auth === "none") return "This page is read-only: nobody signs in to it";
  return readOnly ? "This page is read-only: mooring ui runs with --read-only" : undefined;
}

function urlHost(host: string): string {
  if (host === "::" || host === "0.0.0.0") return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}

function sessionsOf({ auth, namespace }: Flags, credentials: Credentials): Sessions {
  const log = createLogger({ logLevel: "error", logFormat: "json" });
  const shared = { namespaces: namespace, clock: systemClock, random: Math.random, log };
  if (auth !== "bearer-token") {
    const connect = (onRequest: OnRequest) => createKubeClient(credentials, { onRequest });
    return singleSession(createClusterSession({ ...shared, connect }));
  }
  const clientOf = (token: string, onRequest?: OnRequest) =>
    createKubeClient(asOwnerOf(token, credentials), onRequest === undefined ? {} : { onRequest });
  return tokenSessions({
    open: (token) => createClusterSession({ ...shared, connect: (onRequest) => clientOf(token, onRequest) }),
    verify: async (token) => {
      const client = clientOf(token);
      try {
        return await isKnown(client);
      } finally {
        await client.close();
      }
    },
    clock: systemClock,
  });
}

type OnRequest = (request: KubeRequest) => void;
