import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { SourceMap } from "node:module";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { startBenchCluster } from "./cluster.ts";
import { type DrainOptions, measureRound, mooringCommand, writeTemplate } from "./drain.ts";
import type { Profile } from "./figures.ts";
import { describeMachine } from "./machine.ts";
import { peerCommand } from "./peers/commands.ts";

/** Of V8: `samples` are IDs of nodes, `timeDeltas` the microseconds before each sample. */
const cpuProfile = z.object({
  nodes: z.array(
    z.object({
      id: z.number(),
      callFrame: z.object({
        functionName: z.string(),
        url: z.string(),
        lineNumber: z.number(),
        columnNumber: z.number(),
      }),
      children: z.array(z.number()).optional(),
    }),
  ),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
});
type CpuProfile = z.output<typeof cpuProfile>;
type Frame = CpuProfile["nodes"][number]["callFrame"];

/** What a frame belongs to, by its name or its source; the first that matches counts. */
const AREAS: readonly { area: string; is: (source: string) => boolean }[] = [
  { area: "garbage collection", is: (source) => source === "(garbage collector)" },
  { area: "V8 and operating system, not in a function", is: (source) => source === "(program)" },
  { area: "undici: HTTP client", is: (source) => source.includes("node_modules/undici/") },
  { area: "zod: validation of what comes in", is: (source) => source.includes("node_modules/zod/") },
  {
    area: "pino: log lines",
    is: (source) => /node_modules\/(pino|sonic-boom|thread-stream|quick-format)/.test(source),
  },
  { area: "prom-client: metrics", is: (source) => source.includes("node_modules/prom-client/") },
  { area: "other libraries", is: (source) => source.includes("node_modules/") },
  { area: "Node: load of modules", is: (source) => /node:internal\/(modules|bootstrap|process\/e|vm)/.test(source) },
  { area: "Node: sockets, TLS, streams", is: (source) => /node:(_?tls|_?net|_?http|.*stream|.*crypto)/.test(source) },
  {
    area: "Node: abort signals, events, timers, promises",
    is: (source) => source.startsWith("node:") || source === "native",
  },
  { area: "our code: API server", is: (source) => source.includes("src/kube/") },
  { area: "our code: queue, informers, metrics", is: (source) => source.includes("src/runtime/") },
  { area: "our code: remote service", is: (source) => source.includes("src/provider/") },
  { area: "our code: submissions", is: (source) => source.includes("src/submission/") },
  { area: "our code: reconcilers", is: (source) => source.includes("src/controllers/") },
  { area: "our code: other", is: () => true },
];

/** One drain of Mooring and one of bare with V8's sampling profiler: where the time of their main threads goes. */
export async function measureProfile(options: Omit<DrainOptions, "rounds" | "peers">): Promise<Profile> {
  const { objects, say, signal } = options;
  const cluster = await startBenchCluster(options);
  try {
    const machine = await describeMachine(cluster.kubectl);
    const template = await writeTemplate(cluster);
    const profiled = async (name: string, commandWith: (flags: readonly string[]) => Promise<readonly string[]>) => {
      const folder = join(cluster.guarded.dir, `profile-${name}`);
      const command = await commandWith(["--cpu-prof", `--cpu-prof-dir=${folder}`]);
      const round = await measureRound(cluster, { template, command, objects, signal });
      say(`${objects} objects with a profiler, ${name}: ${JSON.stringify(round)}`);
      const [file = ""] = await readdir(folder);
      const profile = cpuProfile.parse(JSON.parse(await readFile(join(folder, file), "utf8")));
      return secondsByArea(profile, round.drainSeconds);
    };
    const bare = await profiled("bare", (nodeFlags) => peerCommand("bare", cluster, { nodeFlags }));
    const mooring = await profiled("Mooring", async (nodeFlags) => (await mooringCommand(cluster, nodeFlags)).command);
    const areas = AREAS.flatMap(({ area }) => {
      const perObject = (seconds: Map<string, number>) => ((seconds.get(area) ?? 0) * 1_000) / objects;
      const one = { area, mooring: perObject(mooring), bare: perObject(bare) };
      return one.mooring > 0 || one.bare > 0 ? [one] : [];
    });
    return { machine, objects, areas };
  } finally {
    await cluster.stop();
  }
}

/**
 * The time of the samples outside of idle, by the area of the innermost frame that has a source.
 * @param within how many seconds from the start count. After the drain, Mooring sends the events that wait.
 */
export async function secondsByArea(
  { nodes, samples, timeDeltas }: CpuProfile,
  within: number,
): Promise<Map<string, number>> {
  const byID = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const sources = createSources();
  const areas = new Map<number, string | undefined>();
  for (const { id, callFrame } of nodes) {
    if (callFrame.functionName === "(idle)") continue;
    let at: number | undefined = id;
    let source = await sources(callFrame);
    // A builtin such as JSON.parse belongs to its caller.
    while (source === undefined && at !== undefined) {
      at = parents.get(at);
      const frame = at === undefined ? undefined : byID.get(at)?.callFrame;
      source = frame === undefined ? "native" : await sources(frame);
    }
    areas.set(id, AREAS.find(({ is }) => is(source ?? "native"))?.area);
  }
  const result = new Map<string, number>();
  let at = 0;
  for (const [index, id] of samples.entries()) {
    const seconds = (timeDeltas[index] ?? 0) / 1e6;
    at += seconds;
    if (at > within) break;
    const area = areas.get(id);
    if (area !== undefined) result.set(area, (result.get(area) ?? 0) + seconds);
  }
  return result;
}

/** The file in which a frame was written; undefined for a builtin. */
function createSources(): (frame: Frame) => Promise<string | undefined> {
  const maps = new Map<string, Promise<SourceMap | undefined>>();
  return async ({ functionName, url, lineNumber, columnNumber }) => {
    if (functionName.startsWith("(") && functionName !== "(anonymous)") {
      return functionName === "(root)" ? "native" : functionName;
    }
    if (url === "" || url.startsWith("wasm:")) return undefined;
    if (!url.startsWith("file:")) return url;
    const path = fileURLToPath(url);
    const map = maps.get(path) ?? readMap(path);
    maps.set(path, map);
    const entry = (await map)?.findEntry(lineNumber, columnNumber);
    return entry !== undefined && "originalSource" in entry ? entry.originalSource : basename(path);
  };
}

/** Undefined: the file was not bundled. */
async function readMap(path: string): Promise<SourceMap | undefined> {
  const map = `${path}.map`;
  return existsSync(map) ? new SourceMap(JSON.parse(await readFile(map, "utf8"))) : undefined;
}
