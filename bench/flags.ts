import { parseArgs } from "node:util";
import { PEERS, type Peer } from "./figures.ts";
import { SCENARIO_NAMES, type ScenarioName } from "./scenario-figures.ts";

/** Flags with one number above 0, each of which has a default (docs/reference/performance.md). */
const NUMBERS = [
  "rounds",
  "calm",
  "rest",
  "endpoints",
  "jobs",
  "rate",
  "finish",
  "shortest",
  "longest",
  "audio-minutes",
  "time-scale",
  "records",
] as const;
type NumberFlag = (typeof NUMBERS)[number];
/** Of these flags, a fraction counts. */
const FRACTIONS: readonly NumberFlag[] = ["audio-minutes", "time-scale", "rate"];

const LISTS = ["objects", "peers", "scale", "scenario"] as const;
const SWITCHES = ["profile", "report"] as const;
/** All flags of `npm run bench`. */
export const FLAG_NAMES: readonly string[] = [...LISTS, ...SWITCHES, ...NUMBERS];

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
      ...Object.fromEntries(NUMBERS.map((name) => [name, { type: "string" as const }])),
    },
  });
  const { profile } = values;
  const objects = sizesIn("objects", values.objects);
  const peers = peersIn(values.peers);
  const scale = sizesIn("scale", values.scale);
  const scenarios = scenariosIn(values.scenario);
  const isDefault = objects.length + scale.length + scenarios.length === 0 && !values.report;
  const given: Readonly<Record<string, unknown>> = values;
  const numbers: NumberFlags = {};
  for (const flag of NUMBERS) {
    const text = given[flag];
    if (text !== undefined) numbers[flag] = numberIn(flag, String(text));
  }
  return { objects: isDefault ? DEFAULT_OBJECTS : objects, peers, scale, scenarios, profile, numbers };
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
