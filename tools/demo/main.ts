// The whole of Mooring on this machine: `npm run demo`, with `-- --keep` to look around afterwards. Control plane, simulator of the
// remote service, operator and every example, shown as it happens. Exit code 0 only if every endpoint became Ready and every job Complete.
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createKubeClient } from "../../src/kube/client.ts";
import { loadCredentials } from "../../src/kube/credentials.ts";
import { failureLines, lookAroundLines, operatorEndedLines } from "./report.ts";
import { fetchResults, resultLines } from "./results.ts";
import { type Row, readRows } from "./rows.ts";
import { type Stack, startStack } from "./stack.ts";
import { createTable, stamp } from "./table.ts";

const EXAMPLES = fileURLToPath(new URL("../../examples", import.meta.url));
const REFRESH_MS = 250;

const { values } = parseArgs({
  options: { keep: { type: "boolean", default: false }, timeout: { type: "string", default: "120" } },
});
const timeoutSeconds = Number(values.timeout);
if (!(timeoutSeconds > 0)) throw new Error(`--timeout ${values.timeout}: a number of seconds above 0`);

const started = performance.now();
const seconds = () => (performance.now() - started) / 1000;
const print = (lines: string | readonly string[]) => console.log([lines].flat().join("\n"));
const say = (line: string) => print(`${stamp(seconds())} ${line}`);

const interrupt = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(name, () => interrupt.abort(new Error(`stopped by ${name}`)));
}

let stack: Stack | undefined;
try {
  stack = await startStack({ say, signal: interrupt.signal });
  process.exitCode = await show(stack);
} catch (error) {
  const interrupted = interrupt.signal.aborted;
  console.error(interrupted ? String(interrupt.signal.reason.message) : error instanceof Error ? error.message : error);
  process.exitCode = interrupted ? 130 : 1;
} finally {
  await stack?.stop();
}

/** Applies the examples and follows them to their end. Returns the exit code. */
async function show(stack: Stack): Promise<number> {
  const { kubectl, failed } = stack;
  const signal = AbortSignal.any([interrupt.signal, failed]);
  await kubectl("apply", "-f", EXAMPLES);
  say("kubectl apply -f examples/\n");
  const rows = await follow(stack, signal);
  const missing = rows.filter(({ converged }) => !converged);
  let problem = missing.length === 0 ? undefined : failureLines(missing, timeoutSeconds);

  print("");
  if (problem === undefined) {
    await command(stack, "wait", "--for=condition=Ready", "gpuendpoint", "--all", "--timeout=10s");
    await command(stack, "wait", "--for=condition=Complete", "speechjob,videojob", "--all", "--timeout=10s");
  }
  await command(stack, "get", "gpuendpoints,speechjobs,videojobs,accounts,clusteraccounts");
  const fetched = await fetchResults(rows, signal);
  print(["Results, each fetched:", ...resultLines(fetched), ""]);
  const broken = fetched.filter(({ problem }) => problem !== undefined);
  if (broken.length > 0) problem ??= broken.map(({ job, problem }) => `${job}: ${problem}`);
  if (problem === undefined) say(`${rows.length} of ${rows.length} examples are as their manifests say.`);
  else print([...problem, `logs: ${await stack.keepLogs()}`]);

  if (values.keep) {
    print(["", ...lookAroundLines(stack)]);
    stack.letOperatorEnd((line) => print(operatorEndedLines(stack, line)));
    await stay(failed);
  } else {
    print("To look around while it runs: npm run demo -- --keep");
  }
  return problem === undefined ? 0 : 1;
}

/** Shows the objects until all have converged, none of the others can, or the time is up. */
async function follow({ controlPlane, namespace }: Stack, signal: AbortSignal): Promise<Row[]> {
  const kube = createKubeClient(await loadCredentials({ kubeconfig: controlPlane.kubeconfig }));
  const table = createTable(process.stdout, seconds);
  const end = performance.now() + timeoutSeconds * 1000;
  try {
    while (true) {
      const rows = await readRows(kube, namespace, signal);
      table.show(rows);
      if (rows.every(({ converged, stalled }) => converged || stalled) || performance.now() > end) return rows;
      await sleep(REFRESH_MS, undefined, { signal });
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    await kube.close();
  }
}

async function command({ kubectl }: Stack, ...args: string[]): Promise<void> {
  const output = await kubectl(...args);
  print([`$ kubectl ${args.join(" ")}`, output.trimEnd(), ""]);
}

/** Until Ctrl-C, or until something ends that must not. */
async function stay(failed: AbortSignal): Promise<void> {
  // Nothing else keeps the process alive when the cluster is somebody else's.
  const alive = setInterval(() => undefined, 60_000);
  const either = AbortSignal.any([interrupt.signal, failed]);
  if (!either.aborted) await new Promise((resolve) => either.addEventListener("abort", resolve, { once: true }));
  clearInterval(alive);
  if (!interrupt.signal.aborted) failed.throwIfAborted();
}
