import { generateKeyPairSync, randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { stringify } from "yaml";
import { type ApiServerAccess, probe } from "./api-server-probe.ts";
import type { Binaries } from "./binaries.ts";
import {
  apiserverArguments,
  controllerManagerArguments,
  etcdArguments,
  files,
  type Layout,
} from "./control-plane-arguments.ts";
import { type Guarded, startGuarded } from "./guarded.ts";
import { freePorts } from "./ports.ts";
import { waitUntil } from "./wait-until.ts";

const readyTimeoutMs = 180_000;
const attempts = 3;

/** A control plane that answers. `stop` ends it and removes its folder. */
export type Running = { kubeconfig: string; dir: string; stop(): Promise<void> };

/** A control plane of programs that this process started. */
export type RunningBinaries = Running & {
  /**
   * Replaces kube-apiserver and kube-controller-manager by those of `binaries`, such as another version of Kubernetes. etcd, the address
   * and the credentials stay. Returns when the new API server is ready.
   */
  replaceServers(binaries: Binaries): Promise<void>;
};

/**
 * Starts the programs in a folder of their own and waits until the API server is ready, the namespace `default` exists and, with a
 * controller manager, its service account. Starts over with other ports when one was taken meanwhile.
 */
export async function runBinaries(
  binaries: Binaries,
  log: (line: string) => void,
  signal?: AbortSignal,
): Promise<RunningBinaries> {
  for (let attempt = 1; ; attempt += 1) {
    const guarded = await startGuarded();
    try {
      const servers = await start(binaries, guarded, signal);
      return {
        kubeconfig: files(guarded.dir).kubeconfig,
        dir: guarded.dir,
        stop: guarded.stop,
        replaceServers: async (others) => {
          if (binaries.controllerManager !== undefined) await guarded.end("kube-controller-manager");
          await guarded.end("kube-apiserver");
          await servers.start(others);
        },
      };
    } catch (error) {
      const logs = await readLogs(guarded.dir);
      await guarded.stop();
      signal?.throwIfAborted();
      if (attempt < attempts && logs.some(({ text }) => isPortTaken(text))) {
        log("a port was taken by another process meanwhile: starting over with others");
        continue;
      }
      const tails = logs.map(({ name, text }) => `--- ${name}, last lines\n${text.split("\n").slice(-15).join("\n")}`);
      throw new Error([`the control plane did not start: ${describe(error)}`, ...tails].join("\n"), { cause: error });
    }
  }
}

type Servers = { start(binaries: Binaries): Promise<void> };

/** Starts etcd and then the other programs, which the result can start again. */
async function start(binaries: Binaries, guarded: Guarded, signal?: AbortSignal): Promise<Servers> {
  const [etcdPort = 0, apiserverPort = 0] = await freePorts(2);
  const layout: Layout = { dir: guarded.dir, etcdPort, apiserverPort };
  const { tokens, serviceAccountKey } = files(guarded.dir);
  const token = randomBytes(16).toString("hex");
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  await writeFile(serviceAccountKey, privateKey.export({ type: "sec1", format: "pem" }), { mode: 0o600 });
  await writeFile(tokens, `${token},admin,admin,system:masters\n`, { mode: 0o600 });

  const servers: Servers = { start: (others) => startServers(others, { guarded, layout, token, signal }) };
  await guarded.start("etcd", binaries.etcd, etcdArguments(layout));
  await servers.start(binaries);
  return servers;
}

type Place = { guarded: Guarded; layout: Layout; token: string; signal: AbortSignal | undefined };

async function startServers(binaries: Binaries, { guarded, layout, token, signal }: Place): Promise<void> {
  const { certificate, kubeconfig } = files(guarded.dir);
  const either = signal === undefined ? guarded.failed : AbortSignal.any([guarded.failed, signal]);
  const wait = (what: string, condition: () => Promise<boolean>) =>
    waitUntil(what, condition, { timeoutMs: readyTimeoutMs, signal: either });
  const serviceAccounts = binaries.controllerManager !== undefined;

  await guarded.start("kube-apiserver", binaries.apiserver, apiserverArguments(layout, { serviceAccounts }));
  const access: ApiServerAccess = { port: layout.apiserverPort, ca: "", token };
  await wait("kube-apiserver's certificate exists", async () => {
    access.ca = await readFile(certificate, "utf8").catch(() => "");
    return access.ca.endsWith("-----END CERTIFICATE-----\n");
  });
  await writeFile(kubeconfig, stringify(kubeconfigOf(access)), { mode: 0o600 });
  // A controller manager that is started earlier backs off for longer than it gains.
  await wait("kube-apiserver is ready", async () => (await probe(access, "/readyz")) === 200);
  if (binaries.controllerManager !== undefined) {
    await guarded.start("kube-controller-manager", binaries.controllerManager, controllerManagerArguments(layout));
  }
  const first = serviceAccounts ? "/api/v1/namespaces/default/serviceaccounts/default" : "/api/v1/namespaces/default";
  await wait(`${first} exists`, async () => (await probe(access, first)) === 200);
}

function kubeconfigOf({ port, ca, token }: ApiServerAccess): object {
  const cluster = {
    server: `https://127.0.0.1:${port}`,
    "certificate-authority-data": Buffer.from(ca).toString("base64"),
  };
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "mooring-test", cluster }],
    users: [{ name: "admin", user: { token } }],
    contexts: [{ name: "mooring-test", context: { cluster: "mooring-test", user: "admin", namespace: "default" } }],
    "current-context": "mooring-test",
  };
}

/** What Go's net package says when somebody else listens already. */
export function isPortTaken(log: string): boolean {
  return /address already in use/i.test(log);
}

async function readLogs(dir: string): Promise<{ name: string; text: string }[]> {
  const names = ["etcd", "kube-apiserver", "kube-controller-manager"];
  const logs = await Promise.all(
    names.map(async (name) => ({ name, text: await readFile(`${dir}/${name}.log`, "utf8").catch(() => "") })),
  );
  return logs.filter(({ text }) => text !== "");
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
