import { randomBytes } from "node:crypto";
import { copyFile, mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { NODE_FLAGS } from "../../scripts/node-flags.ts";
import { KINDS } from "../../src/api/v1alpha1/kinds.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane.ts";
import { type Guarded, startGuarded } from "../cluster/guarded.ts";
import { runProgram } from "../cluster/run-program.ts";
import { waitUntil } from "../cluster/wait-until.ts";

const BUNDLE = fileURLToPath(new URL("../../dist/mooring.mjs", import.meta.url));
const API_KEY = "demo-key";
/** Each step of the start takes a second or two, and more on a busy machine. */
const START_TIMEOUT_MS = 120_000;
const STARTED_TIMEOUT = `--timeout=${START_TIMEOUT_MS / 1000}s`;
/** In a busy cluster, the deletion of a namespace takes more than a minute. */
const GONE_TIMEOUT = "--timeout=2m";
const NAMESPACED = KINDS.flatMap(({ resource: { namespaced, plural } }) => (namespaced ? [plural] : [])).join(",");

/** Everything the demo runs. All of it ends with this process, whichever way that ends. */
export type Stack = {
  controlPlane: ControlPlane;
  /** Where the examples live: `default` of a control plane of our own, a new one in somebody else's cluster. */
  namespace: string;
  /** The account that the examples use, as `KIND/NAME`. */
  account: string;
  simulator: string;
  /** Address of the operator's /metrics. */
  metrics: string;
  /** The command that runs the operator, to start it again after it was stopped. */
  operatorCommand: string;
  /** From now on, the end of the operator is reported and ends nothing else. */
  letOperatorEnd(report: (line: string) => void): void;
  /** Folder of operator.log and simulator.log, while the stack runs. */
  logs: string;
  /** Aborts when a program ended that was to stay. */
  failed: AbortSignal;
  /** kubectl with the stack's kubeconfig and namespace; rejects with its last lines. */
  kubectl(...args: string[]): Promise<string>;
  /** Copies the logs to a folder that stays, and returns it. */
  keepLogs(): Promise<string>;
  stop(): Promise<void>;
};

export type StackOptions = {
  say: (line: string) => void;
  signal: AbortSignal;
  /** Further flags of the operator. */
  operatorArgs?: readonly string[];
};

/** Control plane, CRDs, simulator, operator and a default account that points at the simulator. Returns when the account is Ready. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { say, signal } = options;
  const controlPlane = await startControlPlane({ log: (line) => say(`control plane: ${line}`), signal });
  let guarded: Guarded | undefined;
  try {
    guarded = await startGuarded();
    return await fill(controlPlane, guarded, options);
  } catch (error) {
    await guarded?.stop();
    await controlPlane.stop();
    throw error;
  }
}

async function fill(controlPlane: ControlPlane, guarded: Guarded, options: StackOptions): Promise<Stack> {
  const { say, signal, operatorArgs = [] } = options;
  const { dir, failed } = guarded;
  const borrowed = controlPlane.provider === "existing";
  const namespace = borrowed ? `mooring-demo-${randomBytes(3).toString("hex")}` : "default";
  const either = AbortSignal.any([signal, failed]);
  const run = (args: readonly string[]) =>
    runProgram(controlPlane.kubectl, ["--kubeconfig", controlPlane.kubeconfig, "--namespace", namespace, ...args], {
      signal: either,
    });

  const kind = borrowed ? "account" : "clusteraccount";
  const stack: Omit<Stack, "simulator" | "metrics" | "operatorCommand"> = {
    controlPlane,
    namespace,
    account: `${kind}/default`,
    logs: dir,
    failed,
    letOperatorEnd: (report) => guarded.tolerate("operator", ({ message }) => report(message)),
    kubectl: (...args) => run(args),
    keepLogs: async () => {
      const kept = await mkdtemp(join(tmpdir(), "mooring-demo-"));
      for (const name of ["operator.log", "simulator.log"]) {
        await copyFile(join(dir, name), join(kept, name)).catch(() => undefined);
      }
      return kept;
    },
    stop: async () => {
      if (borrowed) await giveBack();
      await guarded.stop();
      await controlPlane.stop();
    },
  };

  /** The operator ends the endpoints. Its Lease is in the namespace too, and without it the operator ends: so the objects go first. */
  async function giveBack(): Promise<void> {
    const { kubectl, kubeconfig } = controlPlane;
    const remove = (args: readonly string[], options?: { signal: AbortSignal }) =>
      runProgram(kubectl, ["--kubeconfig", kubeconfig, "delete", ...args, GONE_TIMEOUT], options);
    say(`deleting namespace ${namespace} and what is in it; the CRDs stay in the cluster`);
    try {
      await remove(["--namespace", namespace, "--all", NAMESPACED], { signal: failed });
      await remove(["namespace", namespace]);
    } catch (error) {
      const scope = `--watch-namespaces ${namespace} --operator-namespace ${namespace}`;
      say(`${message(error)}\nIt is still there. To remove it:`);
      say(`  bin/mooring cleanup ${scope} && kubectl delete namespace ${namespace}`);
    }
  }

  const crds = join(dir, "crds.yaml");
  await writeFile(crds, await runProgram(process.execPath, [BUNDLE, "crds"], { signal: either }));
  await run(["apply", "--server-side", "--force-conflicts", "-f", crds]);
  await run(["wait", "--for=condition=Established", STARTED_TIMEOUT, "-f", crds]);
  say("CRDs established");
  if (borrowed) await run(["create", "namespace", namespace]);
  try {
    await guarded.start("simulator", process.execPath, [BUNDLE, "simulator", "--port=0", `--api-key=${API_KEY}`]);
    const simulator = await printed("simulator", /listening on (http:\S+)/);
    say(`simulator of the remote service at ${simulator}`);

    const scope = [`--watch-namespaces=${namespace}`, "--allow-private-networks"];
    const artifacts = join(dir, "artifacts");
    await mkdir(artifacts);
    const command = [
      ...NODE_FLAGS,
      BUNDLE,
      "operator",
      `--kubeconfig=${controlPlane.kubeconfig}`,
      `--operator-namespace=${namespace}`,
      "--metrics-bind-address=127.0.0.1:0",
      "--health-probe-bind-address=127.0.0.1:0",
      "--log-format=pretty",
      `--artifact-root=${artifacts}`,
      ...(borrowed ? scope : []),
      ...operatorArgs,
    ];
    await guarded.start("operator", process.execPath, command);
    const metrics = `http://127.0.0.1:${await printed("operator", /"metrics":(\d+)/)}/metrics`;
    say("operator running");

    const account = join(dir, "account.yaml");
    await writeFile(account, accountManifests(simulator, namespace, borrowed));
    await run(["apply", "-f", account]);
    await run(["wait", "--for=condition=Ready", `${kind}/default`, STARTED_TIMEOUT]);
    say(`${borrowed ? "Account" : "ClusterAccount"} default is Ready: the simulator takes its key`);
    return { ...stack, simulator, metrics, operatorCommand: [process.execPath, ...command].join(" ") };
  } catch (error) {
    const reason = failed.aborted && !signal.aborted ? failed.reason : error;
    if (borrowed) await giveBack();
    if (signal.aborted) throw reason;
    throw new Error(`${message(reason)}\nlogs: ${await stack.keepLogs()}`, { cause: reason });
  }

  async function printed(name: string, pattern: RegExp): Promise<string> {
    let found: string | undefined;
    const options = { timeoutMs: START_TIMEOUT_MS, signal: either };
    await waitUntil(
      `${name} says that it runs`,
      async () => {
        found = pattern.exec(await guarded.output(name))?.[1];
        return found !== undefined;
      },
      options,
    );
    return found ?? "";
  }
}

function accountManifests(baseURL: string, namespace: string, borrowed: boolean): string {
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "service-api-key", namespace },
    stringData: { apiKey: API_KEY },
  };
  const reference = { name: "service-api-key", key: "apiKey" };
  const billing = { interval: "10s" };
  const account = {
    apiVersion: "mooring.dev/v1alpha1",
    kind: borrowed ? "Account" : "ClusterAccount",
    metadata: { name: "default", ...(borrowed ? { namespace } : {}) },
    spec: borrowed
      ? { baseURL, billing, apiKeySecretRef: reference }
      : {
          baseURL,
          billing,
          // Everyone here may see what the account costs.
          spending: { showInStatus: true, reports: [{ namespaces: {} }] },
          apiKeySecretRef: { namespace, ...reference },
          // The results are at the simulator, on this machine.
          results: { allowedPrivateNetworks: ["127.0.0.0/8"] },
        },
  };
  return [secret, account].map((object) => stringify(object)).join("---\n");
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
