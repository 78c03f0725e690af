import { parseArgs } from "node:util";
import { PEERS, type Peer } from "./figures.ts";
import { SCENARIO_NAMES, type ScenarioName } from "./scenario-figures.ts";

/** Flags with one number above 0, each of which has a default. */
const NUMBERS = {
  rounds: "Rounds of each engine, and of churn. Default 3.",
  calm: "Seconds before the measurement of the rest. Default 75; for the scenario rest 240.",
  rest: "Seconds of the measurement of the rest. Default 120; for the scenario rest 60.",
  endpoints: "GpuEndpoints of churn, rest and takeover. Default 1000; of latency 10000.",
  changes: "latency: changes of a spec, one after the other. Default 200.",
  jobs: "Jobs that run at once in jobs and takeover. Default 100.",
  rate: "jobs: requests a second of the account. Default 10.",
  finish: "jobs: ended jobs until the measurement ends. Default 150.",
  shortest: "jobs: shortest time of a task, in seconds. Default 20.",
  longest: "jobs: longest time of a task, in seconds. Default 60.",
  "audio-minutes": "stream: minutes of audio of each stream. Default 60.",
  "time-scale": "stream: what the time of the stream is multiplied by. Default 0.075: 60 minutes of audio in 270 s.",
  records: "bills: number of bills. Default 100000.",
  starts: "cli: starts of each command. Default 15.",
} as const;
type NumberFlag = keyof typeof NUMBERS;
const NUMBER_NAMES = Object.keys(NUMBERS) as NumberFlag[];
/** Of these flags, a fraction counts. */
const FRACTIONS: readonly NumberFlag[] = ["audio-minutes", "time-scale", "rate"];

const LISTS = {
  objects: "Sizes of the drain. Without this flag, --scale and --scenario: 2000.",
  peers: `Peers of the drain: ${PEERS.join(",")}. Default: controller-runtime alone, which is always measured.`,
  scale: "Numbers of GpuEndpoints of the scale measurement.",
  scenario: `Scenarios, in the order given: ${SCENARIO_NAMES.join(",")}.`,
} as const;
const SWITCHES = {
  profile: "One drain of Mooring and one of bare with V8's profiler, instead of the comparison.",
  report: "Writes the page again and measures nothing.",
  help: "Prints the flags.",
} as const;
/** All flags of `npm run bench`, and what each means. docs/reference/performance.md has the same table. */
export const FLAGS: Readonly<Record<string, string>> = { ...LISTS, ...NUMBERS, ...SWITCHES };

export function helpText(): string {
  const lines = Object.entries(FLAGS).map(([name, meaning]) => `  --${name.padEnd(15)}${meaning}`);
  return `Usage: npm run bench -- [flags]\n\n${lines.join("\n")}\n`;
}

export type NumberFlags = Partial<Record<NumberFlag, number>>;
export type Flags = {
  /** Sizes of the drain. */
  objects: readonly number[];
  /** Peers of the drain, in the order of `PEERS`. */
  peers: readonly Peer[];
  /** Sizes of the scale. */
  scale: readonly number[];
  scenarios: readonly ScenarioName[];
  profile: boolean;
  help: boolean;
  numbers: NumberFlags;
};

/** Without anything to measure, and without `--report`: 2,000 objects. */
const DEFAULT_OBJECTS = [2_000];

/** @throws Error that names the flag, its value and what it takes */
export function parseFlags(args: readonly string[]): Flags {
  const { values } = parseArgs({
    args: [...args],
    options: {
      objects: { type: "string", default: "" },
      peers: { type: "string", default: "" },
      scale: { type: "string", default: "" },
      scenario: { type: "string", default: "" },
      profile: { type: "boolean", default: false },
      report: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
      ...Object.fromEntries(NUMBER_NAMES.map((name) => [name, { type: "string" as const }])),
    },
  });
  const { profile, help } = values;
  const objects = sizesIn("objects", values.objects);
  const peers = peersIn(values.peers);
  const scale = sizesIn("scale", values.scale);
  const scenarios = scenariosIn(values.scenario);
  const isDefault = objects.length + scale.length + scenarios.length === 0 && !values.report;
  const given: Readonly<Record<string, unknown>> = values;
  const numbers: NumberFlags = {};
  for (const flag of NUMBER_NAMES) {
    const text = given[flag];
    if (text !== undefined) numbers[flag] = numberIn(flag, String(text));
  }
  return { objects: isDefault ? DEFAULT_OBJECTS : objects, peers, scale, scenarios, profile, help, numbers };
}

function numberIn(flag: NumberFlag, text: string): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  const isAllowed = FRACTIONS.includes(flag) ? Number.isFinite(value) && value > 0 : isSize(value);
  if (isAllowed) return value;
  throw new Error(`--${flag} ${text}: use ${FRACTIONS.includes(flag) ? "a number" : "an integer"} above 0`);
}

function sizesIn(flag: string, list: string): number[] {
  const found = partsOf(list).map(Number);
  if (!found.every(isSize)) throw new Error(`--${flag} ${list}: use integers above 0, such as 1000,3000`);
  return found;
}

function scenariosIn(list: string): ScenarioName[] {
  return namesIn("scenario", list, SCENARIO_NAMES);
}

/** controller-runtime is one of them, given or not: the goals relate to it. */
function peersIn(list: string): Peer[] {
  const given = namesIn("peers", list, PEERS);
  return PEERS.filter((peer) => peer === "controller-runtime" || given.includes(peer));
}

function namesIn<Name extends string>(flag: string, list: string, names: readonly Name[]): Name[] {
  return partsOf(list).map((part) => {
    const known = names.find((name) => name === part);
    if (known === undefined) throw new Error(`--${flag} ${list}: "${part}" is none of ${names.join(", ")}`);
    return known;
  });
}

const isSize = (value: number) => Number.isInteger(value) && value > 0;
const partsOf = (list: string) => list.split(",").flatMap((part) => (part.trim() === "" ? [] : [part.trim()]));
