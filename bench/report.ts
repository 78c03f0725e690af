import { readFile, writeFile } from "node:fs/promises";
import { drainText } from "./drain-report.ts";
import type { Figures, Profile, ScalePoint, ScaleStart } from "./figures.ts";
import type { Machine } from "./machine.ts";
import { heading, number, row } from "./markdown.ts";
import { PAGE_SIZE, plotsOf, titleOf } from "./plots.ts";
import { scenariosText, sizeText } from "./scenario-report.ts";

const PAGE = new URL("../docs/reference/performance.md", import.meta.url);
const IMAGES = new URL("../docs/images/", import.meta.url);
const BEGIN = "<!-- figures: made by `npm run bench` -->\n";
const END = "<!-- /figures -->";

const MACHINE_COLUMNS: readonly { title: string; of: (machine: Machine) => string }[] = [
  { title: "date", of: ({ date }) => date },
  { title: "cores", of: ({ cores, cpu }) => `${cores} (${cpu})` },
  { title: "memory", of: ({ memoryGiB }) => `${memoryGiB} GiB` },
  { title: "Linux", of: ({ kernel }) => kernel },
  { title: "Node", of: ({ node }) => node },
  { title: "Go", of: ({ go }) => go },
  { title: "Kubernetes", of: ({ kubernetes }) => kubernetes },
  { title: "load", of: ({ load }) => number(load) },
];

function machinesText({ drains, profiles, scale, scenarios }: Figures): string[] {
  const measurements = [
    ...drains.map((drain) => ({ title: titleOf(drain), machine: drain.machine })),
    ...profiles.map((profile) => ({ title: `profile, ${titleOf(profile)}`, machine: profile.machine })),
    ...scale.map(({ endpoints, machine }) => ({ title: `scale, ${endpoints.toLocaleString("en-US")}`, machine })),
    ...scenarios.map((one) => ({ title: `${one.scenario}, ${sizeText(one)}`, machine: one.machine })),
  ];
  const busy = measurements.filter(({ machine: { load, cores } }) => load > cores).length;
  return [
    "## Machines",
    "",
    ...(busy === 0
      ? []
      : [
          `**${busy} of ${measurements.length} measurements ran on a busy machine: use their counts, not their times.**`,
          "",
        ]),
    "Load: how many processes were ready to run, on average of the minute before the measurement. With more than the machine has cores, all",
    "times are too long.",
    "",
    ...heading("measurement", ...MACHINE_COLUMNS.map(({ title }) => title)),
    ...measurements.map(({ title, machine }) => row(title, ...MACHINE_COLUMNS.map(({ of }) => of(machine)))),
    "",
  ];
}

/** What each object adds to the heap, from the next smaller size to this one, KiB. */
function addedKiB(point: ScalePoint, smaller: ScalePoint | undefined): number {
  if (smaller === undefined) return Number.NaN;
  const objects = ({ endpoints, jobs }: ScalePoint) => endpoints + jobs;
  return ((point.rest.heapMiB - smaller.rest.heapMiB) * 1024) / (objects(point) - objects(smaller));
}

/** A column for each size. */
const SCALE_ROWS: readonly { title: string; of: (point: ScalePoint, smaller: ScalePoint | undefined) => number }[] = [
  { title: "finished jobs", of: ({ jobs }) => jobs },
  { title: "first start: until all are Ready, s", of: ({ drain }) => drain.seconds },
  { title: "first start: CPU, ms per object", of: ({ drain, endpoints }) => (drain.cpuSeconds * 1_000) / endpoints },
  { title: "first start: peak memory, MiB", of: ({ drain }) => drain.peakMiB },
  { title: "first start: reconciles per object", of: (point) => reconcilesPerObject(point, point.drain) },
  { title: "first start: API requests per endpoint", of: ({ drain, endpoints }) => drain.apiRequests / endpoints },
  { title: "first start: event loop delay p99, ms", of: ({ drain }) => drain.lagP99Ms },
  { title: "create requests", of: ({ creates }) => creates },
  { title: "restart: until steady, s", of: ({ restart }) => restart.seconds },
  { title: "restart: start to first remote call, s", of: ({ restart }) => restart.firstCallSeconds },
  {
    title: "list of all objects by a program that drops them, s",
    of: ({ bareListSeconds = Number.NaN }) => bareListSeconds,
  },
  { title: "restart: CPU, s", of: ({ restart }) => restart.cpuSeconds },
  { title: "restart: peak memory, MiB", of: ({ restart }) => restart.peakMiB },
  { title: "restart: reconciles per object", of: (point) => reconcilesPerObject(point, point.restart) },
  { title: "restart: remote calls", of: ({ restart }) => restart.remoteCalls },
  { title: "restart: event loop delay p99, ms", of: ({ restart }) => restart.lagP99Ms },
  { title: "rest: resident memory, MiB", of: ({ rest }) => rest.residentMiB },
  { title: "rest: resident memory of bare, MiB", of: ({ bareRestMiB = Number.NaN }) => bareRestMiB },
  { title: "rest: heap after a collection, MiB", of: ({ rest }) => rest.heapMiB },
  { title: "rest: heap for each further object, KiB", of: addedKiB },
  { title: "rest: CPU, ms per minute", of: ({ rest }) => rest.cpuMsPerMinute },
  {
    title: "rest: CPU per object, µs per minute",
    of: (point) => (point.rest.cpuMsPerMinute * 1_000) / (point.endpoints + point.jobs),
  },
  { title: "rest: event loop delay p99, ms", of: ({ rest }) => rest.lagP99Ms },
  { title: "rest: reconciles per minute", of: ({ rest }) => rest.reconcilesPerMinute },
  { title: "rest: API requests per minute", of: ({ rest }) => rest.apiRequestsPerMinute },
  { title: "rest: remote calls per minute", of: ({ rest }) => rest.remoteCallsPerMinute },
  {
    title: `rest: goal, endpoints / page size of ${PAGE_SIZE}`,
    of: ({ endpoints }) => Math.ceil(endpoints / PAGE_SIZE),
  },
];

function reconcilesPerObject({ endpoints, jobs }: ScalePoint, { reconciles }: ScaleStart): number {
  return reconciles / (endpoints + jobs);
}

function scaleText(points: readonly ScalePoint[]): string[] {
  return [
    ...heading("endpoints", ...points.map(({ endpoints }) => endpoints.toLocaleString("en-US"))),
    ...SCALE_ROWS.map(({ title, of }) =>
      row(title, ...points.map((point, index) => number(of(point, points[index - 1])))),
    ),
    "",
  ];
}

function profileText({ areas, ...profile }: Profile): string[] {
  const total = areas.reduce((sum, { mooring }) => sum + mooring, 0);
  const ofBare = areas.reduce((sum, { bare }) => sum + bare, 0);
  const share = (value: number) => `${((value / total) * 100).toFixed(1)} %`;
  return [
    `### Where the time of the main thread goes: ${titleOf(profile)}`,
    "",
    "One drain of Mooring and one of bare, each from the start of the process, with V8's sampling profiler, which costs time itself. A builtin,",
    "such as `JSON.parse`, counts for its caller. The samples are of the main thread alone, and end with the drain. They include the time in",
    "which another process has its core.",
    "",
    ...heading("area", "ms per object", "share", "bare, ms per object"),
    ...[...areas]
      .sort((a, b) => b.mooring - a.mooring)
      .map(({ area, mooring, bare }) => row(area, number(mooring), share(mooring), number(bare))),
    row("all", number(total), "", number(ofBare)),
    "",
  ];
}

/** The part of the page between its markers. */
export function figuresText(figures: Figures): string {
  const { drains, profiles, scale, scenarios } = figures;
  const plots = plotsOf(figures).map(({ file, alt }) => ({
    isRatio: file.includes("ratios"),
    text: `![${alt}](../images/${file})`,
  }));
  const imagesOf = (ratio: boolean) => plots.flatMap(({ isRatio, text }) => (isRatio === ratio ? [text, ""] : []));
  return [
    "",
    ...(drains.length === 0
      ? []
      : ["## Compared with controller-runtime", "", ...imagesOf(true), ...drains.flatMap(drainText)]),
    ...profiles.flatMap(profileText),
    ...(scale.length === 0 ? [] : ["## Scale", "", ...imagesOf(false), ...scaleText(scale)]),
    ...scenariosText(scenarios),
    ...machinesText(figures),
  ].join("\n");
}

/** Writes the figures into the page, and the plots beside it. */
export async function writeReport(figures: Figures): Promise<void> {
  const page = await readFile(PAGE, "utf8");
  await writeFile(PAGE, withFigures(page, figures));
  for (const { file, svg } of plotsOf(figures)) await writeFile(new URL(file, IMAGES), svg);
}

/** @throws Error when the page has no markers */
export function withFigures(page: string, figures: Figures): string {
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined)
    throw new Error(`docs/reference/performance.md has no ${BEGIN.trim()} ... ${END}`);
  return `${before}${BEGIN}${figuresText(figures)}${END}${after}`;
}
