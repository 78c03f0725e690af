/**
 * What 300 endpoints and 50 jobs cost, in counts that a busy machine does not change.
 *
 * A change that makes one of them exceed its limit fails, with a table of all costs. If the change is worth its cost, raise the limit:
 * measure with `npm run test:full -- --only integration costs`, keep the margin that the row names, and say in the commit what the cost buys.
 */

import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, inject, it } from "vitest";
import { z } from "zod";
import { metric } from "../../bench/metric.ts";
import { NODE_FLAGS } from "../../scripts/node-flags.ts";
import { startProxy } from "../../tools/chaos/proxy.ts";
import { targetOf } from "../../tools/cluster/credentials.ts";
import { manifest } from "../support/manifests.ts";
import { createWorld, eventually, type Operator, plainKubeconfig, type StartOptions } from "../support/world.ts";

const readingSchema = z.object({
  /** Counts the readings. */
  readings: z.number(),
  /** Of JavaScript objects, since the start of the process. */
  allocatedBytes: z.number(),
  /** The size of each file that the process has loaded, by its path. */
  files: z.record(z.string(), z.number()),
});
type CostReading = z.infer<typeof readingSchema>;

type CostProbe = {
  start: Required<Pick<StartOptions, "within" | "nodeFlags">>;
  read(operator: Operator): Promise<CostReading>;
};

/** Loads cost-probe.ts into one operator. */
async function createCostProbe(): Promise<CostProbe> {
  const file = join(await mkdtemp(join(tmpdir(), "mooring-costs-")), "reading.json");
  const module = fileURLToPath(new URL("cost-probe.ts", import.meta.url));
  let readings = 0;
  return {
    start: { within: ["env", `COST_PROBE_FILE=${file}`], nodeFlags: [`--import=${module}`, ...NODE_FLAGS] },
    async read({ pid }) {
      process.kill(pid, "SIGUSR2");
      const reading = await eventually("the probe of the operator answers", async () => {
        const latest = readingSchema.parse(JSON.parse(await readFile(file, "utf8")));
        return latest.readings > readings && latest;
      });
      readings = reading.readings;
      return reading;
    },
  };
}

const ENDPOINTS = 300;
const JOBS = 50;
const JOBS_AT_ONCE = 10;
const ROUNDS = 4;

/**
 * The most that each cost may be. Behind each limit: what was measured, and what makes it vary. Where nothing varies, the margin is small
 * enough that one more of it for each object exceeds the limit.
 */
const LIMITS = {
  // 1.00. A conflict with a write of another client repeats a patch.
  "endpoint: status writes": 1.1,
  // 1.00: the finalizer and the record.
  "endpoint: other patches": 1.1,
  // 1.00, and one read that shows the created endpoint.
  "endpoint: remote creates": 1,
  "endpoint: remote reads": 1.1,
  // 1.12. At most 2 on a busy machine: an object that is reconciled before its account is known is reconciled once more.
  "endpoint: reconciles": 2.2,
  // 2.00: the record and the result. A request that takes longer than 1.5 s shows that as well.
  "job: status writes": 2.5,
  "job: other patches": 0.1,
  "job: paid requests": 1,
  // 4.00: created, sent, answered, finished.
  "job: reconciles": 5.5,
  // 0.09 to 0.34, of at most two for each object: the recorder's budget grows with time.
  "object: events": 2.2,
  // 4: it is added, gets its finalizer and is Ready; then every 15 s.
  "account: reconciles": 8,
  // 27 to 40: leases, the key of the account, watches. Some of them repeat with time.
  "all: other API requests": 90,
  // 4: the list of endpoints, the probe and the bills. Some of them repeat with time.
  "all: other remote calls": 40,
  // 1.00 each.
  "requested reconcile: status writes": 1.1,
  "requested reconcile: remote reads": 1.1,
  // 181 to 197, with the request that the watch shows, the read and the status write. It varies with when V8 compiles: compiled code makes fewer
  // objects (src/cli/operate/running-flags.ts).
  "requested reconcile: KiB allocated": 210,
  // 1.18, and at most 2, as above. A list of bills fails: that reconciles nothing.
  "restart: reconciles per object": 2.2,
  // 15 to 54 and 5, of which none is for an object: 350 more would be. Leases, events and polls repeat with time.
  "restart: API requests": 120,
  "restart: remote calls": 30,
  // 11 and 3,097: what a start of the operator loads with a kubeconfig. It has a bundle of its own. Batches are 60 of them.
  "start: files loaded": 12,
  "start: KiB of the files": 3_160,
} as const;

type Cost = keyof typeof LIMITS;

/** The folder of the bundle. */
const CHUNK = /\/dist\/[^/]+\.mjs$/;

it("300 endpoints and 50 jobs cost no more than the limits", async () => {
  const world = await createWorld("costs", { simulator: { bootDelayMs: 0 } });
  await world.control("POST", "/__faults", { kind: "status", operation: "listBills", status: 404, times: 1_000 });
  const requests = new Map<string, number>();
  const pass = ({ method, path }: { method: string; path: string }) => {
    add(requests, requestName(method, path));
    return "pass" as const;
  };
  const proxy = await startProxy(await targetOf(inject("kubeconfig")), pass, () => undefined);
  const kubeconfig = await plainKubeconfig(proxy.url);
  const endpoints = Array.from({ length: ENDPOINTS }, (_, index) => `e-${index}`);
  const workers = { min: 0 };
  for (let from = 0; from < ENDPOINTS; from += 50) {
    const group = endpoints.slice(from, from + 50);
    await Promise.all(group.map((name) => world.apply(manifest("endpoint", { workers }, name))));
  }

  const costs = new Map<Cost, number>();
  const remoteCalls = async () => {
    const calls = new Map<string, number>();
    for (const { operation } of await world.audit()) add(calls, operation);
    return calls;
  };

  // The first start: everything is created and sent.
  const probe = await createCostProbe();
  const first = await world.startOperator({ kubeconfig, ...probe.start });
  await eventually("all endpoints are Ready", async () => {
    return metric(await idleMetrics(first), "mooring_endpoints", 'state="Ready"') === ENDPOINTS;
  });
  // So few at once that none waits for its turn, which its status would show.
  for (let from = 0; from < JOBS; from += JOBS_AT_ONCE) {
    const names = Array.from({ length: JOBS_AT_ONCE }, (_, index) => `j-${from + index}`);
    await Promise.all(names.map((name) => world.apply(manifest("turbo", {}, name))));
    await eventually("the jobs are complete", async () => {
      return metric(await idleMetrics(first), "mooring_jobs", 'phase="Succeeded"') === from + JOBS_AT_ONCE;
    });
  }
  const started = await idleMetrics(first);
  const loaded = Object.entries((await probe.read(first)).files).filter(([path]) => CHUNK.test(path));
  costs.set("endpoint: status writes", take(requests, "PUT gpuendpoints/status") / ENDPOINTS);
  costs.set("endpoint: other patches", take(requests, "PATCH gpuendpoints") / ENDPOINTS);
  costs.set("job: status writes", take(requests, "PUT speechjobs/status") / JOBS);
  costs.set("job: other patches", take(requests, "PATCH speechjobs") / JOBS);
  costs.set("object: events", take(requests, "POST events") / (ENDPOINTS + JOBS));
  costs.set("all: other API requests", sum(requests));
  const calls = await remoteCalls();
  costs.set("endpoint: remote creates", take(calls, "createEndpoint") / ENDPOINTS);
  costs.set("endpoint: remote reads", take(calls, "getEndpoint") / ENDPOINTS);
  costs.set("job: paid requests", take(calls, "synthesizeSpeech") / JOBS);
  costs.set("all: other remote calls", sum(calls));
  costs.set("endpoint: reconciles", reconcilesIn(started, "gpuendpoint") / ENDPOINTS);
  costs.set("job: reconciles", reconcilesIn(started, "speechjob") / JOBS);
  costs.set("account: reconciles", reconcilesIn(started, "account"));
  costs.set("start: files loaded", loaded.length);
  costs.set("start: KiB of the files", sum(new Map(loaded)) / 1024);

  // Each endpoint is read and reconciled once more. The lowest round counts: others have the work of timers in them.
  const rounds: { statusWrites: number; reads: number; bytes: number }[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    rounds.push(await measureRound(`round-${round}`, first, probe));
  }
  const lowest = (of: (round: (typeof rounds)[number]) => number) => Math.min(...rounds.map(of));
  costs.set("requested reconcile: status writes", lowest(({ statusWrites }) => statusWrites) / ENDPOINTS);
  costs.set("requested reconcile: remote reads", lowest(({ reads }) => reads) / ENDPOINTS);
  costs.set("requested reconcile: KiB allocated", lowest(({ bytes }) => bytes) / 1024);
  await first.stop();

  // A restart: nothing has changed.
  requests.clear();
  const callsBefore = sum(await remoteCalls());
  const second = await world.startOperator({ kubeconfig });
  await eventually("all is reconciled", async () => {
    const text = await idleMetrics(second);
    return reconcilesIn(text, "gpuendpoint") >= ENDPOINTS && reconcilesIn(text, "speechjob") >= JOBS;
  });
  const restarted = await idleMetrics(second);
  const reconciles = reconcilesIn(restarted, "gpuendpoint") + reconcilesIn(restarted, "speechjob");
  costs.set("restart: API requests", sum(requests));
  costs.set("restart: remote calls", sum(await remoteCalls()) - callsBefore);
  costs.set("restart: reconciles per object", reconciles / (ENDPOINTS + JOBS));
  await second.stop();
  await proxy.close();

  const table = tableOf(costs);
  console.log(table);
  expect(costs.size, "every limit has a cost").toBe(Object.keys(LIMITS).length);
  expect(excessive(costs), `these costs exceed their limits:\n${table}`).toEqual([]);

  /** Requests a reconcile of each endpoint. */
  async function measureRound(token: string, operator: Operator, probe: CostProbe) {
    const reconciledBefore = reconcilesIn(await idleMetrics(operator), "gpuendpoint");
    const readsBefore = (await remoteCalls()).get("getEndpoint") ?? 0;
    requests.clear();
    const { allocatedBytes } = await probe.read(operator);
    const annotations = { "reconcile.fluxcd.io/requestedAt": token };
    await Promise.all(endpoints.map((name) => world.patch("GpuEndpoint", name, { metadata: { annotations } })));
    await eventually("each request is handled", async () =>
      (await world.list("GpuEndpoint")).every(({ status }) => status?.["lastHandledReconcileAt"] === token),
    );
    const reconciled = reconcilesIn(await idleMetrics(operator), "gpuendpoint") - reconciledBefore;
    const after = await probe.read(operator);
    return {
      statusWrites: requests.get("PUT gpuendpoints/status") ?? 0,
      reads: ((await remoteCalls()).get("getEndpoint") ?? 0) - readsBefore,
      bytes: (after.allocatedBytes - allocatedBytes) / reconciled,
    };
  }
});

function add(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** The count, which no other cost then contains. */
function take(counts: Map<string, number>, name: string): number {
  const count = counts.get(name) ?? 0;
  counts.delete(name);
  return count;
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}

/** `METHOD RESOURCE[/SUBRESOURCE]` of a request to the API server. */
function requestName(method: string, path: string): string {
  const [, resource, subresource] = /\/namespaces\/[^/]+\/([a-z]+)(?:\/[^/?]+(?:\/([a-z]+))?)?/.exec(path) ?? [];
  return `${method} ${resource ?? path.split("?")[0]}${subresource === undefined ? "" : `/${subresource}`}`;
}

/** The metrics of an operator in which no key waits for a reconcile. */
async function idleMetrics(operator: Operator): Promise<string> {
  return eventually("the operator is idle", async () => {
    const port = /"metrics":(\d+)/.exec(operator.log())?.[1];
    if (port === undefined) return undefined;
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return metric(text, "workqueue_depth") + metric(text, "controller_runtime_active_workers") === 0 && text;
  });
}

const reconcilesIn = (metrics: string, controller: string) =>
  metric(metrics, "controller_runtime_reconcile_total", `controller="${controller}"`);

function excessive(costs: ReadonlyMap<Cost, number>): Cost[] {
  return [...costs].flatMap(([cost, measured]) => (measured > LIMITS[cost] ? [cost] : []));
}

function tableOf(costs: ReadonlyMap<Cost, number>): string {
  const lines = [...costs].map(([cost, measured]) => {
    const state = measured > LIMITS[cost] ? "  EXCEEDED" : "";
    return `${cost.padEnd(44)}${measured.toFixed(2).padStart(10)}${String(LIMITS[cost]).padStart(10)}${state}`;
  });
  return [`${"cost".padEnd(44)}${"measured".padStart(10)}${"limit".padStart(10)}`, ...lines].join("\n");
}
