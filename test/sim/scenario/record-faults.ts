import { createRandom, type Random } from "../../../src/simulator/random.ts";
import { hashText } from "../engine/scheduler.ts";
import type { RecordWrite, RequestFault } from "../network/weather.ts";

/** What goes wrong with the record of a request in its object. */
export type RecordFault =
  /** Writes of records or outcomes go wrong, and nothing else. */
  | { fault: "recordWrites"; only: RecordWrite; kinds: RequestFault[]; share: number; forMs: number }
  /** Somebody removes the record, or the finalizer, of an object. */
  | { fault: "removeRecord" | "removeFinalizer"; serial: number }
  /** An endpoint gets the record of another object, as a copy of its manifest has it. */
  | { fault: "copyRecord"; serial: number; from: number }
  /** An endpoint gets its own first record again, as from a backup. */
  | { fault: "restoreRecord"; serial: number }
  /** The object is gone, in spite of its finalizer, when the service carries out its next create (kubernetes#77988). */
  | { fault: "goneWhenCreated"; serial: number }
  /** The CRDs are older: the API server drops `status.submission.sender`. */
  | { fault: "pruneSender"; forMs: number };

/** What these faults depend on in the plan of an object. */
type Planned = { serial: number; kind: string; at: number; appName?: string };

type TimedFault = RecordFault & { at: number };

/** Each row: how likely it is for an object, and what happens in the seconds in which the object is submitted. */
type Row = {
  share: number;
  /** Default: any object. */
  concerns?: (object: Planned) => boolean;
  of: (random: Random, object: Planned, others: readonly Planned[]) => RecordFault | undefined;
};

const isEndpoint = ({ kind }: Planned) => kind === "GpuEndpoint";
const forMs = (random: Random, most: number) => Math.round(random.between(1_000, most));
const writes =
  (only: RecordWrite, kinds: RequestFault[], most: number) =>
  (random: Random): RecordFault => ({
    fault: "recordWrites",
    only,
    kinds,
    share: random.between(0.3, 1),
    forMs: forMs(random, most),
  });

const ROWS: Record<string, Row> = {
  "a patch is applied late": { share: 0.1, of: writes("Record", ["late"], 20_000) },
  "an error after the commit, and a conflict when the write is repeated": {
    share: 0.1,
    of: writes("Record", ["errorAfter", "gatewayAfter", "responseLost", "responseSwallowed"], 20_000),
  },
  "a stall after which all complete": { share: 0.1, of: writes("Record", ["stalled"], 60_000) },
  "the record is refused": { share: 0.05, of: writes("Record", ["invalid", "throttled", "errorBefore"], 20_000) },
  "the outcome is refused": { share: 0.1, of: writes("Outcome", ["invalid", "tooLarge"], 60_000) },
  "the outcome is stored late or unnoticed": {
    share: 0.1,
    of: writes("Outcome", ["late", "stalled", "errorAfter", "responseLost"], 60_000),
  },
  "the record is removed": { share: 0.05, of: (_random, { serial }) => ({ fault: "removeRecord", serial }) },
  "the finalizer is removed": {
    share: 0.05,
    concerns: isEndpoint,
    of: (_random, { serial }) => ({ fault: "removeFinalizer", serial }),
  },
  "the record of another object": {
    share: 0.05,
    concerns: isEndpoint,
    of(random, { serial }, objects) {
      const others = objects.filter((one) => isEndpoint(one) && one.serial !== serial);
      const from = others[Math.floor(random.next() * others.length)];
      return from && { fault: "copyRecord", serial, from: from.serial };
    },
  },
  "an earlier record": {
    share: 0.05,
    concerns: isEndpoint,
    of: (_random, { serial }) => ({ fault: "restoreRecord", serial }),
  },
  "the object is gone when its create answers": {
    share: 0.05,
    // Nothing tells the other object with the app name whose endpoint is left.
    concerns: (object) => isEndpoint(object) && object.appName === undefined,
    of: (_random, { serial }) => ({ fault: "goneWhenCreated", serial }),
  },
  "the CRDs do not have the sender": {
    share: 0.03,
    concerns: (object) => !isEndpoint(object),
    of: (random) => ({ fault: "pruneSender", forMs: forMs(random, 60_000) }),
  },
};

const WHILE_SUBMITTED = 0.8;
/** Around the first request of an object: most requests leave some tenths of a second after its creation, and are answered soon. */
const earlyMs = (random: Random) => 4_000 * random.next() ** 3 - 200;

/** Each process ends at one of the first requests that can change something, so that all that is left is in the objects. */
export type CrashLoop = { fault: "crashLoop"; forMs: number };

/** Half of the seeds have a crash loop. */
export function planCrashLoop(purpose: string, { chaosMs }: { chaosMs: number }): (CrashLoop & { at: number })[] {
  const random = createRandom(hashText(`crash loop ${purpose}`));
  if (random.next() < 0.5) return [];
  const at = Math.round(random.between(0, chaosMs / 2));
  return [{ at, fault: "crashLoop", forMs: Math.round(random.between(30_000, Math.min(chaosMs - at, 600_000))) }];
}

/**
 * Half of the seeds have faults of records. They are drawn from a sequence of their own, so that the rest of a plan does not depend on
 * them.
 * @param purpose names the sequence
 */
export function planRecordFaults(
  purpose: string,
  { objects, chaosMs }: { objects: readonly Planned[]; chaosMs: number },
): TimedFault[] {
  const random = createRandom(hashText(`record faults ${purpose}`));
  if (random.next() < 0.5) return [];
  const faults: TimedFault[] = [];
  for (const object of objects) {
    for (const { share, concerns = () => true, of } of Object.values(ROWS)) {
      if (random.next() >= share || !concerns(object)) continue;
      const fault = of(random, object, objects);
      const isEarly = random.next() < WHILE_SUBMITTED;
      const at = isEarly ? object.at + earlyMs(random) : random.between(object.at, chaosMs);
      if (fault === undefined || at >= chaosMs) continue;
      const isAwaited = fault.fault === "goneWhenCreated";
      faults.push({ at: Math.max(0, isAwaited ? object.at - 1 : Math.round(at)), ...fault });
    }
  }
  return faults;
}
