import { randomBytes } from "node:crypto";
import packageJson from "../../../../package.json" with { type: "json" };
import { anyExcept, publicOnly } from "../../../base/address-guard.ts";
import { systemClock } from "../../../base/clock.ts";
import { createLogger } from "../../../base/log.ts";
import { resultLookup } from "../../../controllers/account/result-lookup.ts";
import { createKubeClient, type KubeRequest } from "../../../kube/client.ts";
import { type Credentials, loadCredentials } from "../../../kube/credentials.ts";
import { parseBindAddress, serveProbes } from "../../../runtime/http.ts";
import { readAssets } from "../../../ui/assets.ts";
import { createClusterSession } from "../../../ui/cluster-session.ts";
import { createEndpointCaller } from "../../../ui/endpoint-call.ts";
import type { Auth } from "../../../ui/guard.ts";
import { createMediaOpener } from "../../../ui/media.ts";
import { serveUi } from "../../../ui/server.ts";
import { type Sessions, singleSession, tokenSessions } from "../../../ui/sessions.ts";
import { asOwnerOf, isKnown } from "../../../ui/user-credentials.ts";
import { errorText } from "../../error-text.ts";
import type { UiFlags } from "./flags.ts";

/** Serves the page until the process is told to stop. */
export async function runUi(flags: UiFlags): Promise<void> {
  const bind = parseBindAddress(flags.bindAddress);
  if (bind === undefined) throw new Error("--bind-address: expected [HOST]:PORT");
  const { host = "::", port } = bind;
  const assets = await readAssets();
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
        storeLookup: flags.allowPrivateNetworks
          ? anyExcept(flags.deniedNetworks)
          : publicOnly(STORE_ADVICE, [], flags.deniedNetworks),
        clock: systemClock,
      }),
      callEndpoint: createEndpointCaller({
        lookup: flags.allowPrivateNetworks
          ? anyExcept(flags.deniedNetworks)
          : publicOnly(CALL_ADVICE, [], flags.deniedNetworks),
        clock: systemClock,
      }),
      version: packageJson.version,
      readOnly: readOnlyReason(flags),
      namespaces: flags.namespace,
      clock: systemClock,
    },
    { host, port },
  ).catch(async (error: unknown) => {
    await probes.close();
    throw new Error(
      `--bind-address ${flags.bindAddress}: ${errorText(error)}: use another port, or port 0 for any free one`,
    );
  });
  // A fragment: no server, proxy or log receives it.
  const fragment = auth.kind === "UrlToken" ? `#token=${auth.token}` : "";
  process.stdout.write(`Open in your browser: http://${urlHost(host)}:${server.port}/${fragment}\nStop with Ctrl-C.\n`);
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
  await Promise.all([server.close(), probes.close()]);
}

const STORE_ADVICE = "the page reads copies from public addresses only: use --allow-private-networks for development";

const CALL_ADVICE = "the page calls endpoints at public addresses only: use --allow-private-networks for development";

const PING = { ping: () => undefined };

function authOf({ auth }: UiFlags): Auth {
  if (auth === "url-token") return { kind: "UrlToken", token: randomBytes(24).toString("base64url") };
  return { kind: auth === "none" ? "None" : "BearerToken" };
}

function readOnlyReason({ auth, readOnly }: UiFlags): string | undefined {
  if (auth === "none") return "This page is read-only: nobody signs in to it";
  return readOnly ? "This page is read-only: mooring ui runs with --read-only" : undefined;
}

function urlHost(host: string): string {
  if (host === "::" || host === "0.0.0.0") return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}

function sessionsOf({ auth, namespace }: UiFlags, credentials: Credentials): Sessions {
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
