import { readFile, writeFile } from "node:fs/promises";
import { z } from "zod";
import { machine } from "./machine.ts";
import { type Measurement, measurement, restFigures, withMeasurement } from "./scenario-figures.ts";

const drainRound = z.object({
  drainSeconds: z.number(),
  firstSeconds: z.number(),
  firstCallSeconds: z.number(),
  cpuMsPerObject: z.number(),
  peakMiB: z.number(),
  apiServerMsPerObject: z.number(),
  duplicates: z.number(),
});
/** One engine, one round: N new objects until all are Ready. */
export type DrainRound = z.output<typeof drainRound>;

/** What Mooring is compared with. The first is always measured: goals relate to it. */
export const PEERS = ["controller-runtime", "client-node", "bare", "kube-rs", "kopf"] as const;
export type Peer = (typeof PEERS)[number];
export type Engine = Peer | "Mooring";

const drain = z.object({
  machine,
  objects: z.number(),
  access: z.enum(["ServiceAccount", "Kubeconfig"]),
  rounds: z.object({
    "controller-runtime": z.array(drainRound),
    "client-node": z.array(drainRound).optional(),
    bare: z.array(drainRound).optional(),
    "kube-rs": z.array(drainRound).optional(),
    kopf: z.array(drainRound).optional(),
    Mooring: z.array(drainRound),
  } satisfies Record<Engine, z.ZodType>),
  /** Peers that did not do the same work as the others, and why. They have no rounds. */
  failures: z.partialRecord(z.enum(PEERS), z.string()).optional(),
});
export type Drain = z.output<typeof drain>;

const profile = z.object({
  machine,
  objects: z.number(),
  /** Milliseconds for each object. */
  areas: z.array(z.object({ area: z.string(), mooring: z.number(), bare: z.number() })),
});
/** Where the time of the main thread goes in one drain. The profiler itself costs some. */
export type Profile = z.output<typeof profile>;

const scaleStart = z.object({
  seconds: z.number(),
  firstCallSeconds: z.number(),
  cpuSeconds: z.number(),
  peakMiB: z.number(),
  lagP99Ms: z.number(),
  reconciles: z.number(),
  apiRequests: z.number(),
  remoteCalls: z.number(),
  /** Most that was seen. */
});
/** From the start of the operator until every endpoint is Ready and no object waits for a reconcile. */
export type ScaleStart = z.output<typeof scaleStart>;

const scalePoint = z.object({
  machine,
  endpoints: z.number(),
  jobs: z.number(),
  createSeconds: z.number(),
  /** Nothing exists at the service. */
  drain: scaleStart,
  /** Of all objects, by a program that drops them. */
  bareListSeconds: z.number().optional(),
  /** Of the bare program, when it has read all GpuEndpoints. */
  bareRestMiB: z.number().optional(),
  /** Every endpoint exists and is bound. */
  restart: scaleStart,
  rest: restFigures,
  /** Create requests that the service received. */
  creates: z.number(),
});
export type ScalePoint = z.output<typeof scalePoint>;

const figures = z.object({
  drains: z.array(drain),
  profiles: z.array(profile).default([]),
  scale: z.array(scalePoint),
  scenarios: z.array(measurement).default([]),
});
/** All figures of the report. A new measurement replaces the one of the same size. */
export type Figures = z.output<typeof figures>;

export const NO_FIGURES: Figures = { drains: [], profiles: [], scale: [], scenarios: [] };

/** @returns no figures when the file does not exist */
export async function readFigures(path: string | URL): Promise<Figures> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  });
  return text === undefined ? NO_FIGURES : figures.parse(JSON.parse(text));
}

export async function writeFigures(path: string | URL, all: Figures): Promise<void> {
  await writeFile(path, `${JSON.stringify(all, (_, value) => rounded(value), 2)}\n`);
}

export function withDrain(all: Figures, added: Drain): Figures {
  return { ...all, drains: withSized(all.drains, added) };
}

export function withProfile(all: Figures, added: Profile): Figures {
  return { ...all, profiles: withSized(all.profiles, added) };
}

type Sized = Pick<Drain, "objects">;

function withSized<T extends Sized>(present: readonly T[], added: T): T[] {
  const others = present.filter((one) => one.objects !== added.objects);
  return [...others, added].sort((a, b) => a.objects - b.objects);
}

export function withScalePoint(all: Figures, added: ScalePoint): Figures {
  const others = all.scale.filter(({ endpoints }) => endpoints !== added.endpoints);
  return { ...all, scale: [...others, added].sort((a, b) => a.endpoints - b.endpoints) };
}

export function withScenario(all: Figures, added: Measurement): Figures {
  return { ...all, scenarios: withMeasurement(all.scenarios, added) };
}

/** Four significant digits below 1,000, else an integer. */
function rounded(value: unknown): unknown {
  if (typeof value !== "number" || Number.isInteger(value)) return value;
  return Math.abs(value) >= 1_000 ? Math.round(value) : Number(value.toPrecision(4));
}
