/**
 * Compares Mooring with a controller that is written with controller-runtime for the same kind, in alternation: each drains
 * N new objects (create the remote endpoint, read it, write the status), on this machine's API server.
 * Run: npm run bench -- --objects 2000 --rounds 3 --report bench/report.md
 */
import { writeFile } from "node:fs/promises";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { stringify } from "yaml";
import { startControlPlane } from "../tools/cluster/control-plane.ts";
import { startGuarded } from "../tools/cluster/guarded.ts";
import { freePorts } from "../tools/cluster/ports.ts";
import { runProgram } from "../tools/cluster/run-program.ts";
import { waitUntil } from "../tools/cluster/wait-until.ts";
import { BENCH_TOOLS, prepareTools, tool } from "../tools/programs/tool.ts";
import { endpoint } from "./manifests.ts";

const { values } = parseArgs({
  options: {
    objects: { type: "string", default: "2000" },
    rounds: { type: "string", default: "3" },
    finalizer: { type: "boolean", default: false },
    report: { type: "string" },
  },
});
const objects = Number(values.objects);
const rounds = Number(values.rounds);
const NAMESPACE = "bench";
const BUNDLE = fileURLToPath(new URL("../dist/mooring.mjs", import.meta.url));
const CRDS = fileURLToPath(new URL("../crds", import.meta.url));
const TIMEOUT = "300s";

type Engine = "controller-runtime" | "Mooring";
type Measured = {
  drainSeconds: number;
  firstSeconds: number;
  cpuMsPerObject: number;
  peakMiB: number;
  apiServerMsPerObject: number;
  creates: number;
};

const say = (line: string) => process.stderr.write(`${line}\n`);
const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupted.abort());

await prepareTools(BENCH_TOOLS, say);
const driver = await tool("bench-driver");
const remote = await tool("bench-remote");
const peer = await tool("bench-peer");
const controlPlane = await startControlPlane({ log: say, signal: interrupted.signal });
const guarded = await startGuarded();
const { kubeconfig } = controlPlane;
try {
  const baseURL = `http://127.0.0.1:${(await freePorts(1))[0]}`;
  await guarded.start("remote", remote, ["-addr", new URL(baseURL).host]);
  await waitUntil(
    "the remote service answers",
    () =>
      fetch(`${baseURL}/__stats`).then(
        ({ ok }) => ok,
        () => false,
      ),
    {
      timeoutMs: 30_000,
    },
  );
  const template = await prepareCluster(baseURL);
  const commands: Record<Engine, string[]> = {
    "controller-runtime": [
      peer,
      "-workers=64",
      `-finalizer=${values.finalizer}`,
      `-base=${baseURL}`,
      `-kubeconfig=${kubeconfig}`,
    ],
    Mooring: [
      process.execPath,
      "--max-semi-space-size=4", // as in the image
      BUNDLE,
      "operator",
      `--kubeconfig=${kubeconfig}`,
      `--watch-namespaces=${NAMESPACE}`,
      `--leader-election-namespace=${NAMESPACE}`,
      "--allow-private-networks",
      "--metrics-bind-address=127.0.0.1:0",
      "--health-probe-bind-address=127.0.0.1:0",
    ],
  };
  const results: Record<Engine, Measured[]> = { "controller-runtime": [], Mooring: [] };
  for (let round = 1; round <= rounds; round++) {
    for (const engine of ["controller-runtime", "Mooring"] as const) {
      interrupted.signal.throwIfAborted();
      const measured = await measure({ baseURL, template, command: commands[engine] });
      results[engine].push(measured);
      say(`round ${round}, ${engine}: ${JSON.stringify(measured)}`);
    }
  }
  const report = reportOf(results);
  process.stdout.write(report);
  if (values.report !== undefined) await writeFile(values.report, report);
} finally {
  await guarded.stop();
  await controlPlane.stop();
}

function kubectl(...args: string[]): Promise<string> {
  return runProgram(controlPlane.kubectl, [`--kubeconfig=${kubeconfig}`, ...args], { signal: interrupted.signal });
}

/** The kinds, an account without a rate limit that matters, and the template of the objects. Returns its path. */
async function prepareCluster(baseURL: string): Promise<string> {
  await kubectl("apply", "--server-side", `--filename=${CRDS}`);
  await kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s");
  await kubectl("create", "namespace", NAMESPACE);
  await kubectl("create", "secret", "generic", "key", `--namespace=${NAMESPACE}`, "--from-literal=apiKey=bench");
  const account = join(guarded.dir, "account.yaml");
  const spec = {
    baseURL,
    apiKeySecretRef: { name: "key", key: "apiKey" },
    rateLimit: { requestsPerSecond: 100_000, burst: 1_000 },
  };
  const metadata = { name: "default", namespace: NAMESPACE };
  await writeFile(account, stringify({ apiVersion: "mooring.dev/v1alpha1", kind: "Account", metadata, spec }));
  await kubectl("apply", `--filename=${account}`);

  const template = join(guarded.dir, "endpoint.yaml");
  const one = endpoint("NAME");
  const deletionPolicy = values.finalizer ? "ScaleToZero" : "Retain";
  const manifest = {
    ...one,
    metadata: { name: "NAME", namespace: NAMESPACE },
    // The remote has no workers.
    spec: { ...one.spec, workers: { ...one.spec.workers, min: 0 }, deletionPolicy },
  };
  await writeFile(template, stringify(manifest));
  return template;
}

type Run = { baseURL: string; template: string; command: readonly string[] };

/** Removes the objects of the run before, then creates new ones and starts the engine. */
async function measure({ baseURL, template, command }: Run): Promise<Measured> {
  const common = [`-kubeconfig=${kubeconfig}`, `-ns=${NAMESPACE}`, `-template=${template}`];
  await runProgram(driver, [...common, "-mode=delete"]);
  await fetch(`${baseURL}/__reset`, { method: "POST" });
  const log = join(guarded.dir, "operator.log");
  const before = await apiServerSeconds();
  const args = [...common, `-n=${objects}`, `-timeout=${TIMEOUT}`, `-log=${log}`, "--", ...command];
  const printed = await runProgram(driver, args, { signal: interrupted.signal });
  const after = await apiServerSeconds();
  const result = JSON.parse(printed.trim().split("\n").at(-1) ?? "") as Record<string, number>;
  const stats = (await (await fetch(`${baseURL}/__stats`)).json()) as Record<string, number>;
  if (result["done"] !== objects) throw new Error(`${result["done"]} of ${objects} objects are ready: ${printed}`);
  return {
    drainSeconds: result["drain_s"] ?? Number.NaN,
    firstSeconds: result["first_s"] ?? Number.NaN,
    cpuMsPerObject: result["cpu_ms_per_object"] ?? Number.NaN,
    peakMiB: result["peak_rss_mib"] ?? Number.NaN,
    apiServerMsPerObject: ((after - before) * 1_000) / objects,
    creates: stats["create"] ?? 0,
  };
}

async function apiServerSeconds(): Promise<number> {
  const metrics = await kubectl("get", "--raw", "/metrics");
  return Number(/^process_cpu_seconds_total (\S+)$/m.exec(metrics)?.[1]);
}

function reportOf(results: Record<Engine, Measured[]>): string {
  const measures: { title: string; of: (one: Measured) => number }[] = [
    { title: "drain, s", of: (one) => one.drainSeconds },
    { title: "start to first object, s", of: (one) => one.firstSeconds },
    { title: "CPU, ms per object", of: (one) => one.cpuMsPerObject },
    { title: "peak memory, MiB", of: (one) => one.peakMiB },
    { title: "API server CPU, ms per object", of: (one) => one.apiServerMsPerObject },
    { title: "creates", of: (one) => one.creates },
  ];
  const lines = measures.map(({ title, of }) => {
    const [theirs, ours] = [results["controller-runtime"].map(of), results.Mooring.map(of)];
    const ratio = (median(ours) / median(theirs)).toFixed(2);
    return `| ${title} | ${spread(theirs)} | ${spread(ours)} | ${ratio} |`;
  });
  const [cpu] = cpus();
  return [
    `# ${objects} new endpoints, ${values.finalizer ? "with" : "without"} a finalizer`,
    "",
    `Median (lowest to highest) of ${rounds} rounds in alternation. ${cpus().length} cores (${cpu?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB,`,
    `Node ${process.versions.node}. API server, etcd, remote service and operator share the machine. Both use a kubeconfig.`,
    "",
    "| | controller-runtime, same kind | Mooring | ratio |",
    "|---|---|---|---|",
    ...lines,
    "",
  ].join("\n");
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function spread(numbers: readonly number[]): string {
  const shown = (value: number) => (value >= 100 ? value.toFixed(0) : value.toFixed(2));
  return `${shown(median(numbers))} (${shown(Math.min(...numbers))} to ${shown(Math.max(...numbers))})`;
}
