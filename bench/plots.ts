import type { Drain, DrainRound, Engine, Figures, Peer, ScalePoint } from "./figures.ts";
import { barChart, curveChart } from "./svg.ts";

/** As accounts have it by default. */
export const PAGE_SIZE = 100;

/** What is compared: a ratio to controller-runtime, and the goal for it by the number of objects. */
export type Measure = {
  title: string;
  of: (round: DrainRound) => number;
  goals: Readonly<Record<number, number>>;
};

export const MEASURES: readonly Measure[] = [
  { title: "time until all are Ready, s", of: (one) => one.drainSeconds, goals: { 2000: 0.8, 10000: 0.7 } },
  { title: "CPU, ms per object", of: (one) => one.cpuMsPerObject, goals: { 2000: 1, 10000: 0.9 } },
  {
    title: "API server's CPU, ms per object",
    of: (one) => one.apiServerMsPerObject,
    goals: { 2000: 0.8, 10000: 0.75 },
  },
  { title: "peak memory, MiB", of: (one) => one.peakMiB, goals: { 2000: 2, 10000: 1.5 } },
];

export type Spread = { median: number; low: number; high: number };

export function spreadOf(numbers: readonly number[]): Spread {
  const sorted = [...numbers].sort((a, b) => a - b);
  const at = (index: number) => sorted[index] ?? Number.NaN;
  return { median: at(Math.floor(sorted.length / 2)), low: at(0), high: at(sorted.length - 1) };
}

/** Mooring's rounds, or those of `engine`, to the peer's rounds of the same number. Those of controller-runtime ran right before Mooring's. */
export function ratiosOf(
  { rounds }: Drain,
  of: Measure["of"],
  peer: Peer = "controller-runtime",
  engine: Engine = "Mooring",
): Spread {
  const theirs = rounds[peer] ?? [];
  const ratio = (ours: DrainRound, round: number) =>
    of(ours) / (theirs[round] === undefined ? Number.NaN : of(theirs[round]));
  return spreadOf((rounds[engine] ?? []).map(ratio));
}

export const titleOf = ({ objects }: Pick<Drain, "objects">) => `${objects.toLocaleString("en-US")} endpoints`;

export type Plot = { file: string; alt: string; svg: string };

/** The plots of the page. */
export function plotsOf({ drains, scale }: Figures): Plot[] {
  const groups = drains.map((drain) => ({
    title: titleOf(drain),
    bars: MEASURES.map(({ title, of }) => {
      const { median, low, high } = ratiosOf(drain, of);
      return { name: title.replace(/,.*$/, ""), value: median, low, high };
    }),
  }));
  const curve = (name: string, of: (point: ScalePoint) => number) => ({
    name,
    points: scale.map((point) => ({ x: point.endpoints, y: of(point) })),
  });
  const curves = [
    {
      name: "start",
      title: "Seconds from the start until nothing is left to do",
      curves: [curve("first start", ({ drain }) => drain.seconds), curve("restart", ({ restart }) => restart.seconds)],
    },
    {
      name: "memory",
      title: "Memory, MiB",
      curves: [
        curve("peak, first start", ({ drain }) => drain.peakMiB),
        curve("resident at rest", ({ rest }) => rest.residentMiB),
        curve("heap at rest", ({ rest }) => rest.heapMiB),
      ],
    },
    {
      name: "rest",
      title: "At rest, per minute",
      curves: [
        curve("CPU, ms", ({ rest }) => rest.cpuMsPerMinute),
        curve("remote calls", ({ rest }) => rest.remoteCallsPerMinute),
        curve("goal for them", ({ endpoints }) => endpoints / PAGE_SIZE),
        curve("API requests", ({ rest }) => rest.apiRequestsPerMinute),
      ],
    },
    {
      name: "delay",
      title: "Event loop delay p99, ms",
      curves: [
        curve("first start", ({ drain }) => drain.lagP99Ms),
        curve("restart", ({ restart }) => restart.lagP99Ms),
        curve("at rest", ({ rest }) => rest.lagP99Ms),
      ],
    },
  ];
  const ratios = "Ratio of Mooring to controller-runtime: 1 is equal";
  return [
    ...(drains.length === 0 ? [] : [{ file: "performance-ratios.svg", alt: ratios, svg: barChart(ratios, groups) }]),
    ...(scale.length === 0 ? [] : curves).map(({ name, title, curves }) => ({
      file: `performance-${name}.svg`,
      alt: title,
      svg: curveChart(title, "endpoints", curves),
    })),
  ];
}
