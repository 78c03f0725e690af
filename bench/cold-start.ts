import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { NODE_FLAGS } from "../scripts/node-flags.ts";
import { BUNDLE } from "./bundle.ts";
import type { BenchOptions } from "./cluster.ts";
import { describeMachine } from "./machine.ts";
import { spreadOf } from "./plots.ts";
import type { Cli } from "./scenario-figures.ts";

/** Node alone is the limit. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  "node alone": ["--eval", ""],
  "mooring --version": [BUNDLE, "--version"],
  "mooring --help": [BUNDLE, "--help"],
  "mooring validate --help": [BUNDLE, "validate", "--help"],
  "mooring status --help": [BUNDLE, "status", "--help"],
  "mooring operator --help": [BUNDLE, "operator", "--help"],
};
/** Writes what the process used to the file descriptor 3. `resourceUsage` would count the memory of the process that started this one. */
const USAGE = `data:text/javascript,import{readFileSync,writeSync}from"node:fs";process.once("exit",()=>{const{user,system}=process.cpuUsage();writeSync(3,JSON.stringify({cpu:user+system,status:readFileSync("/proc/self/status","utf8")}))})`;

const usage = z.object({ cpu: z.number(), status: z.string() });
type Start = { ms: number; cpuMs: number; peakMiB: number };

/** How long the commands take that do nothing but start, in alternation. */
export async function measureColdStart({ starts, say, signal }: BenchOptions & { starts: number }): Promise<Cli> {
  const machine = await describeMachine();
  const measured = new Map<string, Start[]>(Object.keys(COMMANDS).map((name) => [name, []]));
  for (let round = 0; round < starts; round++) {
    for (const [name, args] of Object.entries(COMMANDS)) measured.get(name)?.push(await startOnce(args, signal));
  }
  const commands = Object.fromEntries([...measured].map(([name, all]) => [name, figuresOf(all)]));
  say(`cold start: ${JSON.stringify(commands)}`);
  return { scenario: "cli", machine, size: { starts }, commands };
}

async function startOnce(args: readonly string[], signal: AbortSignal): Promise<Start> {
  const began = performance.now();
  const command = [...NODE_FLAGS, `--import=${USAGE}`, ...args];
  const child = spawn(process.execPath, command, { stdio: ["ignore", "ignore", "inherit", "pipe"], signal });
  const [printed] = await Promise.all([text(child.stdio[3] as NodeJS.ReadableStream), once(child, "exit")]);
  const ms = performance.now() - began;
  const { cpu, status } = usage.parse(JSON.parse(printed));
  return { ms, cpuMs: cpu / 1_000, peakMiB: Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024 };
}

function figuresOf(all: readonly Start[]): Cli["commands"][string] {
  const { median, low } = spreadOf(all.map(({ ms }) => ms));
  const medianOf = (of: (one: Start) => number) => spreadOf(all.map(of)).median;
  return {
    medianMs: median,
    lowestMs: low,
    cpuMs: medianOf(({ cpuMs }) => cpuMs),
    peakMiB: medianOf(({ peakMiB }) => peakMiB),
  };
}
