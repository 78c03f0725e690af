import { createRandom, type Random } from "../../../src/simulator/random.ts";
import { hashText } from "../engine/scheduler.ts";
import { REQUEST_FAULTS, type RequestFault } from "../network/weather.ts";
import { type InputsPlan, planInputs, type Upload } from "./inputs.ts";
import { type LostKey, planLostKeys } from "./lost-keys.ts";
import type { ObjectPlan } from "./objects.ts";
import { type CrashLoop, planCrashLoop, planRecordFaults, type RecordFault } from "./record-faults.ts";
import { BESIDE_A_RESTORE, NOT_WITH_A_RESTORE, planRestore, type RestoredEtcd } from "./restores.ts";
import { planStaleStates, type StaleState } from "./stale-states.ts";

/** A batch that a user creates. Each item has a serial as an object has. */
export type BatchPlan = {
  namespace: string;
  name: string;
  at: number;
  kind: "SpeechJob" | "VideoJob";
  serials: readonly number[];
  parallelism: number;
  /** Nothing is started while more jobs are halted. Default 3. */
  maxHalted?: number;
  /** SpeechJobs: the response has the audio. */
  synchronous: boolean;
  /** Items with the same serial send the same request, which is paid for once. */
  reuse: boolean;
};

/** What users do, at the cluster or at the service. */
export type Action =
  | { do: "scale"; serial: number; max: number }
  | { do: "command"; serial: number; text: string }
  | { do: "suspend"; serial: number; suspend: boolean }
  | { do: "pause"; serial: number; paused: boolean }
  | { do: "reconcile"; serial: number; token: string }
  | { do: "delete"; serial: number }
  | Upload
  | { do: "release"; token: string }
  | { do: "remoteScale"; serial: number; max: number }
  | { do: "remoteDelete"; serial: number }
  | { do: "rotateKey"; key: string }
  | { do: "rotateEnv"; value: string };

/** A request of a process, by what it can change. A renewal of the lease counts as a read. */
export type RequestClass = "Read" | "ApiWrite" | "ServiceWrite";

/** What goes wrong besides single requests. `process`: which of the processes, modulo their number. */
export type Fault =
  | { fault: "crash"; process: number; downMs: number }
  /** The process ends right before or after the next request but `skip` of those that `of` names leaves it. */
  | {
      fault: "crashAtSend";
      process: number;
      of: RequestClass | "Any";
      skip: number;
      moment: "Before" | "After";
      downMs: number;
    }
  | { fault: "terminate"; process: number; downMs: number }
  | { fault: "pause"; process: number; forMs: number }
  | {
      fault: "requests";
      of: "api" | "service";
      share: number;
      forMs: number;
      kinds: RequestFault[];
      writesOnly: boolean;
    }
  | { fault: "slow"; of: "api" | "service"; latencyMs: number; forMs: number }
  | { fault: "down"; of: "api" | "service"; forMs: number }
  | { fault: "cutWatches"; midLine: boolean }
  | { fault: "silenceWatches" }
  | { fault: "delayWatches"; forMs: number }
  | { fault: "compact" }
  | { fault: "restartApi" }
  | StaleState
  | RecordFault
  | CrashLoop
  | LostKey
  | RestoredEtcd
  /** The service accepts updates of endpoints without effect. */
  | { fault: "ignoreUpdates"; forMs: number }
  /** The Secret holds the key of another member, which does not see the endpoints. */
  | { fault: "foreignKey"; forMs: number }
  /**
   * A namespace gets an Account `default` with the key of another member. `forMs` undefined: it stays. `againMs`: it comes back so long
   * after it vanished.
   */
  | { fault: "defaultAccount"; namespace: string; forMs?: number; againMs?: number };

export type Timed<T> = T & { at: number };

export type Plan = {
  seed: number;
  replicas: number;
  /** Accounts without objects, which the processes divide among them. */
  spares: number;
  streamingLists: boolean;
  generation: "Current" | "Earlier";
  listDelayMs: number;
  duplicateAppName: "Refuse" | "Accept";
  maxConcurrentTasks: number | undefined;
  /** Most that tasks may cost, in tasks; undefined: no budget. */
  budgetTasks: number | undefined;
  objects: ObjectPlan[];
  /** Default: none. */
  batches?: readonly BatchPlan[];
  /** Videos with inputs and their sources, besides `objects`. Default: none. */
  inputs?: InputsPlan;
  actions: Timed<Action>[];
  faults: Timed<Fault>[];
  /** Faults end here. */
  chaosMs: number;
};

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const NAMESPACES = ["team-a", "team-b"];

/** Of the shortest mean time between other faults. */
const STALE_STATE_GAPS = 20;

/** How much happens in which time. */
type Pace = {
  chaosMs: number;
  /** Most jobs that users create. */
  jobs: number;
  /** The mean time between faults is drawn from this range, ms. */
  faultGapMs: readonly [number, number];
  /** How often a user releases halted jobs, ms. */
  releaseMs: number;
};

/**
 * What a seed means.
 * @param hours undefined: some minutes in which much goes wrong. A number: so long, with minutes between the faults, so that work
 *   starts, runs and ends between them.
 */
export function planOf(seed: number, hours?: number): Plan {
  const random = createRandom(hashText(hours === undefined ? `plan ${seed}` : `plan ${seed} of ${hours} h`));
  const pace = hours === undefined ? burst(random) : sustained(hours);
  const { chaosMs } = pace;
  const planned = planObjects(random, pace);
  const rivals = planRivals(`${seed} ${hours}`, planned, chaosMs);
  const alone = [...planStores(`${seed} ${hours}`, planned), ...rivals];
  const objects = [...alone, ...planReuse(`${seed} ${hours}`, alone, chaosMs)];
  const generation = chance(random, 0.7) ? "Current" : "Earlier";
  const jobs = objects.filter(({ kind }) => kind !== "GpuEndpoint").length;
  const plan: Plan = {
    seed,
    ...planReplicas(`${seed} ${hours}`, chance(random, 0.4)),
    streamingLists: chance(random, 0.75),
    generation,
    listDelayMs: chance(random, 0.3) ? Math.round(random.between(0, 20_000)) : 0,
    duplicateAppName: chance(random, 0.5) ? "Refuse" : "Accept",
    maxConcurrentTasks: chance(random, 0.3) ? 2 : undefined,
    budgetTasks: jobs > 2 && chance(random, 0.25) ? jobs - 1 : undefined,
    objects,
    actions: planActions(random, planned, pace),
    faults: [
      // The earlier generation shows no members, so that nothing tells a foreign key from a deletion.
      ...planFaults(random, planned, pace).filter(({ fault }) => fault !== "foreignKey" || generation === "Current"),
      ...planStaleStates(`${seed} ${hours}`, objects, { chaosMs, gapMs: STALE_STATE_GAPS * pace.faultGapMs[0] }),
      ...planLostKeys(`${seed} ${hours}`, chaosMs),
      ...planBusyService(`${seed} ${hours}`, chaosMs),
    ],
    chaosMs,
  };
  const restore = planRestore(`${seed} ${hours}`, chaosMs);
  if (restore !== undefined && !plan.faults.some(({ fault }) => NOT_WITH_A_RESTORE.includes(fault))) {
    const beside = plan.faults.filter(({ fault, ...what }) => BESIDE_A_RESTORE.includes(fault) || isOfService(what));
    return { ...plan, maxConcurrentTasks: undefined, budgetTasks: undefined, faults: [...beside, restore] };
  }
  return {
    ...plan,
    // Items that a budget does not pay for would wait for ever.
    batches: plan.budgetTasks === undefined ? planBatches(`${seed} ${hours}`, chaosMs) : [],
    ...(plan.budgetTasks === undefined ? { inputs: planInputs(`${seed} ${hours}`, chaosMs) } : {}),
    faults: [...plan.faults, ...planRecordFaults(`${seed} ${hours}`, plan), ...planCrashLoop(`${seed} ${hours}`, plan)],
  };
}

/** The plan with its jobs that have inputs among its objects. */
export function withInputs({ inputs, ...plan }: Plan): Plan {
  if (inputs === undefined) return plan;
  return { ...plan, objects: [...plan.objects, ...inputs.objects], actions: [...plan.actions, ...inputs.actions] };
}

/** One, two or three processes, and accounts for each of several. */
function planReplicas(purpose: string, several: boolean): Pick<Plan, "replicas" | "spares"> {
  const random = createRandom(hashText(`replicas ${purpose}`));
  if (!several) return { replicas: 1, spares: chance(random, 0.2) ? 2 : 0 };
  return { replicas: chance(random, 0.5) ? 3 : 2, spares: Math.round(random.between(0, 5)) };
}

const isOfService = (fault: object) => "of" in fault && fault.of === "service";

function burst(random: Random): Pace {
  const chaosMs = Math.round(random.between(4, 16)) * MINUTE_MS;
  return { chaosMs, jobs: 5, faultGapMs: [5_000, 60_000], releaseMs: 2 * MINUTE_MS };
}

function sustained(hours: number): Pace {
  return {
    chaosMs: hours * HOUR_MS,
    jobs: 5 + 2 * hours,
    faultGapMs: [2 * MINUTE_MS, 10 * MINUTE_MS],
    releaseMs: 20 * MINUTE_MS,
  };
}

function planObjects(random: Random, { chaosMs, jobs: mostJobs }: Pace): ObjectPlan[] {
  const objects: ObjectPlan[] = [];
  const place = () => ({ namespace: pick(random, NAMESPACES), at: Math.round(random.between(0, chaosMs * 0.8)) });
  const endpoints = Math.round(random.between(1, 4));
  for (let i = 0; i < endpoints; i++) {
    const deletionPolicy = chance(random, 0.7) ? "ScaleToZero" : "Delete";
    const first: ObjectPlan = {
      ...place(),
      serial: objects.length,
      kind: "GpuEndpoint",
      name: `ep-${i}`,
      deletionPolicy,
    };
    objects.push(first);
    // The same name again: created when the earlier object is gone.
    if (chance(random, 0.3)) objects.push({ ...first, serial: objects.length, at: first.at + 60_000 });
  }
  const jobs = Math.round(random.between(0, mostJobs));
  for (let i = 0; i < jobs; i++) {
    const kind = chance(random, 0.5) ? "SpeechJob" : "VideoJob";
    const fails = chance(random, 0.2);
    const common = { ...place(), serial: objects.length, kind, name: `job-${i}`, fails } as const;
    const backoffLimit = chance(random, 0.3) ? 1 : 0;
    const copiedToken = chance(random, 0.2);
    objects.push({
      ...common,
      backoffLimit,
      copiedToken,
      synchronous: kind === "SpeechJob" && !fails && chance(random, 0.4),
    });
  }
  return objects;
}

/** A third of the seeds have stores, which most of their jobs use. */
function planStores(purpose: string, objects: readonly ObjectPlan[]): ObjectPlan[] {
  const random = createRandom(hashText(`stores ${purpose}`));
  if (random.next() < 0.67) return [...objects];
  return objects.map((one) => (one.kind !== "GpuEndpoint" && chance(random, 0.7) ? { ...one, stored: true } : one));
}

/** A tenth of the seeds have two objects with the same chosen app name. */
function planRivals(purpose: string, { length }: readonly ObjectPlan[], chaosMs: number): ObjectPlan[] {
  const random = createRandom(hashText(`rivals ${purpose}`));
  if (random.next() < 0.9) return [];
  const at = random.between(0, chaosMs * 0.8);
  const lateMs = chance(random, 0.5) ? 0 : 3_000 * random.next() ** 2;
  return NAMESPACES.map((namespace, i) => ({
    serial: length + i,
    kind: "GpuEndpoint",
    namespace,
    name: "rival",
    appName: "chosen",
    at: Math.round(at + i * lateMs),
  }));
}

/** In a fifth of the seeds, jobs with the same request reuse its results: one that comes again and again, and one at about the same time. */
function planReuse(purpose: string, { length }: readonly ObjectPlan[], chaosMs: number): ObjectPlan[] {
  const random = createRandom(hashText(`reuse ${purpose}`));
  if (random.next() < 0.8) return [];
  const at = Math.round(random.between(0, chaosMs * 0.5));
  const kind = chance(random, 0.6) ? "SpeechJob" : "VideoJob";
  const synchronous = kind === "SpeechJob" && chance(random, 0.6);
  const job = { serial: length, kind, namespace: "team-a", stored: true, reuse: true, synchronous } as const;
  const lateMs = chance(random, 0.5) ? 3_000 * random.next() ** 2 : 90_000 * random.next();
  return [
    { ...job, name: "again", at, ttlSeconds: 20 },
    { ...job, name: "twin", at: Math.round(at + lateMs) },
  ];
}

/** Serials of items follow those of objects with a distance. */
const FIRST_ITEM = 1_000;

/** In a fifth of the seeds, a batch. With reuse, some of its items send the same request. */
function planBatches(purpose: string, chaosMs: number): BatchPlan[] {
  const random = createRandom(hashText(`batches ${purpose}`));
  if (random.next() < 0.8) return [];
  const kind = chance(random, 0.7) ? "SpeechJob" : "VideoJob";
  const reuse = chance(random, 0.4);
  const count = Math.round(random.between(3, 20));
  const serials = Array.from({ length: count }, (_, at) => FIRST_ITEM + (reuse ? Math.floor(at * 0.7) : at));
  const synchronous = kind === "SpeechJob" && chance(random, 0.6);
  const parallelism = Math.round(random.between(1, 6));
  const at = Math.round(random.between(0, chaosMs * 0.5));
  return [{ namespace: "team-a", name: "book", at, kind, serials, parallelism, synchronous, reuse }];
}

function planActions(random: Random, objects: readonly ObjectPlan[], { chaosMs, releaseMs }: Pace): Timed<Action>[] {
  const actions: Timed<Action>[] = [];
  for (const { serial, kind, at } of objects) {
    const later = () => Math.round(random.between(at + 1_000, chaosMs));
    if (kind === "GpuEndpoint") {
      const count = Math.round(random.between(0, 5));
      for (let i = 0; i < count; i++) actions.push({ at: later(), ...endpointAction(random, serial) });
    }
    if (chance(random, 0.15)) {
      const pausedAt = later();
      actions.push({ at: pausedAt, do: "pause", serial, paused: true });
      actions.push({ at: pausedAt + 60_000, do: "pause", serial, paused: false });
    }
    if (chance(random, 0.35)) actions.push({ at: later(), do: "delete", serial });
  }
  for (let at = 0.75 * releaseMs; at < chaosMs; at += releaseMs)
    actions.push({ at, do: "release", token: `chaos-${at}` });
  if (chance(random, 0.3)) {
    const at = Math.round(random.between(0, chaosMs));
    actions.push({ at, do: "rotateKey", key: `canary-key-${Math.round(random.between(100, 999))}` });
  }
  if (chance(random, 0.3)) {
    const at = Math.round(random.between(0, chaosMs));
    actions.push({ at, do: "rotateEnv", value: `canary-env-${Math.round(random.between(100, 999))}` });
  }
  return actions.sort((a, b) => a.at - b.at);
}

function endpointAction(random: Random, serial: number): Action {
  const draw = random.next();
  const max = Math.round(random.between(2, 9));
  if (draw < 0.35) return { do: "scale", serial, max };
  if (draw < 0.5) return { do: "command", serial, text: `serve --level ${max}` };
  if (draw < 0.65) return { do: "suspend", serial, suspend: chance(random, 0.5) };
  if (draw < 0.8) return { do: "remoteScale", serial, max: max + 10 };
  if (draw < 0.9) return { do: "remoteDelete", serial };
  return { do: "reconcile", serial, token: `look-${max}` };
}

/** For minutes, a service of a fifth of the seeds refuses most requests that change something, as one that is busy does. */
function planBusyService(purpose: string, chaosMs: number): Timed<Fault>[] {
  const random = createRandom(hashText(`busy service ${purpose}`));
  if (random.next() < 0.8) return [];
  const at = Math.round(random.between(0, chaosMs / 2));
  const forMs = Math.round(random.between(MINUTE_MS, 4 * MINUTE_MS));
  const share = random.between(0.5, 0.9);
  return [{ fault: "requests", of: "service", at, forMs, share, kinds: ["throttled"], writesOnly: true }];
}

function planFaults(random: Random, objects: readonly ObjectPlan[], { chaosMs, faultGapMs }: Pace): Timed<Fault>[] {
  const faults: Timed<Fault>[] = [];
  const meanGapMs = random.between(...faultGapMs);
  for (let at = random.between(0, meanGapMs); at < chaosMs; at += random.between(0, 2 * meanGapMs)) {
    faults.push({ at: Math.round(at), ...drawFaultPlan(random) });
  }
  // Where it hurts: while an object is submitted.
  for (const { at } of objects) {
    if (chance(random, 0.5)) faults.push({ at: Math.round(at + random.between(0, 4_000)), ...drawFaultPlan(random) });
  }
  return faults.filter(({ at }) => at < chaosMs);
}

function drawFaultPlan(random: Random): Fault {
  const draw = random.next();
  const process = Math.floor(random.next() * 2);
  const of = chance(random, 0.5) ? "api" : "service";
  const downMs = Math.round(random.between(100, chance(random, 0.8) ? 5_000 : 40_000));
  const forMs = Math.round(random.between(1_000, 45_000));
  if (draw < 0.15) return { fault: "crash", process, downMs };
  if (draw < 0.45) {
    const moment = chance(random, 0.5) ? "Before" : "After";
    const where = pick(random, ["Any", "ApiWrite", "ServiceWrite"] as const);
    const skip = Math.floor(random.next() * (where === "Any" ? 12 : 3));
    return { fault: "crashAtSend", process, of: where, skip, moment, downMs };
  }
  if (draw < 0.5) return { fault: "terminate", process, downMs };
  if (draw < 0.58) return { fault: "pause", process, forMs };
  if (draw < 0.76) {
    const kinds = chance(random, 0.5) ? [...REQUEST_FAULTS] : [pick(random, REQUEST_FAULTS)];
    const writesOnly = chance(random, 0.5);
    return { fault: "requests", of, share: random.between(0.05, writesOnly ? 1 : 0.6), forMs, kinds, writesOnly };
  }
  if (draw < 0.81) return { fault: "slow", of, latencyMs: random.between(100, 3_000), forMs };
  if (draw < 0.85) return { fault: "down", of, forMs };
  if (draw < 0.9) return { fault: "cutWatches", midLine: chance(random, 0.5) };
  if (draw < 0.93) return { fault: "silenceWatches" };
  if (draw < 0.96) return { fault: "delayWatches", forMs };
  if (draw < 0.98) return chance(random, 0.5) ? { fault: "compact" } : { fault: "restartApi" };
  return chance(random, 0.5) ? { fault: "ignoreUpdates", forMs: forMs * 2 } : { fault: "foreignKey", forMs: forMs * 4 };
}

function chance(random: Random, probability: number): boolean {
  return random.next() < probability;
}

function pick<T>(random: Random, values: readonly T[]): T {
  const value = values[Math.floor(random.next() * values.length)];
  if (value === undefined) throw new Error("nothing to pick from");
  return value;
}
