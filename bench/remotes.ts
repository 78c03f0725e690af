import { z } from "zod";
import type { Guarded } from "../tools/cluster/guarded.ts";
import { freePorts } from "../tools/cluster/ports.ts";
import { waitUntil } from "../tools/cluster/wait-until.ts";
import { tool } from "../tools/programs/tool.ts";
import { BUNDLE } from "./bundle.ts";
import { type Counts, sumOf } from "./counts.ts";

/** The key that both remote services accept. */
export const API_KEY = "bench";
const START_TIMEOUT_MS = 30_000;

/** A remote service in Go that has endpoints and tasks, and checks nothing. */
export type MinimalRemote = {
  baseURL: string;
  /** Calls by operation since the last reset, and what `NO_CALLS` lists. */
  stats(): Promise<Counts>;
  /** When the last update of each endpoint arrived, ms since the epoch, by its ID. */
  updates(): Promise<Counts>;
  reset(): Promise<void>;
};

const stats = z.record(z.string(), z.number());

/**
 * @param flags of the program, such as `-task=60s`: tasks take from half of this time to one and a half
 * @param name of its log, and used once
 */
export async function startMinimalRemote(
  guarded: Guarded,
  flags: readonly string[] = [],
  name = "remote",
): Promise<MinimalRemote> {
  const baseURL = `http://127.0.0.1:${(await freePorts(1))[0]}`;
  await guarded.start(name, await tool("bench-remote"), ["-addr", new URL(baseURL).host, ...flags]);
  const readStats = () => fetch(`${baseURL}/__stats`);
  const answers = () =>
    readStats().then(
      ({ ok }) => ok,
      () => false,
    );
  await waitUntil("the remote service answers", answers, { timeoutMs: START_TIMEOUT_MS });
  return {
    baseURL,
    stats: async () => stats.parse(await (await readStats()).json()),
    updates: async () => stats.parse(await (await fetch(`${baseURL}/__updates`)).json()),
    reset: async () => void (await fetch(`${baseURL}/__reset`, { method: "POST" })),
  };
}

/** Names of the remote's stats that are not operations: numbers of objects, and the time of the first call (Unix, ms). */
const NO_CALLS: readonly string[] = ["endpoints", "tasks", "duplicates", "first_call_ms"];

/** The calls in the stats of the minimal remote, by operation. */
export function operationsIn(stats: Counts): Counts {
  return Object.fromEntries(Object.entries(stats).filter(([name]) => !NO_CALLS.includes(name)));
}

/** All calls in the stats of the minimal remote. */
export function callsIn(stats: Counts): number {
  return sumOf(operationsIn(stats));
}

/** The simulator, for what the minimal remote does not have. */
export type SimulatorRemote = {
  baseURL: string;
  /** Sets behaviors; names as in `GET /__config`. */
  configure(assumptions: object): Promise<void>;
  /** All calls of an operation. */
  calls(operation: string): Promise<SimulatorCall[]>;
  tasks(): Promise<SimulatorTask[]>;
};

const simulatorCall = z.object({
  /** RFC 3339: when the response was sent. */
  time: z.string(),
  query: z.record(z.string(), z.string()),
  body: z.unknown(),
  /** What the call changed. */
  effect: z.string().optional(),
});
export type SimulatorCall = z.output<typeof simulatorCall>;
/** `endsAtMs`: since the epoch. */
const simulatorTask = z.object({ id: z.string(), endsAtMs: z.number() });
export type SimulatorTask = z.output<typeof simulatorTask>;
const simulatorState = z.object({ tasks: z.array(simulatorTask) });

export async function startSimulator(guarded: Guarded): Promise<SimulatorRemote> {
  const args = [BUNDLE, "simulator", "--port=0", `--api-key=${API_KEY}`];
  await guarded.start("simulator", process.execPath, args);
  let baseURL = "";
  const prints = async () => {
    baseURL = /listening on (http:\S+)/.exec(await guarded.output("simulator"))?.[1] ?? "";
    return baseURL !== "";
  };
  await waitUntil("the simulator prints its address", prints, {
    timeoutMs: START_TIMEOUT_MS,
    signal: guarded.failed,
  });
  const ask = async (path: string, init: RequestInit = {}): Promise<unknown> => {
    const response = await fetch(`${baseURL}${path}`, init);
    if (!response.ok) throw new Error(`simulator, ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  return {
    baseURL,
    async configure(assumptions) {
      const headers = { "content-type": "application/json" };
      await ask("/__config", { method: "POST", headers, body: JSON.stringify(assumptions) });
    },
    calls: async (operation) => z.array(simulatorCall).parse(await ask(`/__audit?operation=${operation}`)),
    tasks: async () => simulatorState.parse(await ask("/__state")).tasks,
  };
}
