import TinyQueue from "tinyqueue";
import { createRandom, type Random } from "../../../src/simulator/random.ts";

/**
 * Simulated time. Everything that happens is an event at a time; the seed decides the order of events at the same
 * time. An event runs, then everything that waits for nothing but promises goes on, then the next event runs.
 */
export type Scheduler = {
  /** Milliseconds since the beginning. */
  now(): number;
  /** Runs `run` after `ms`; the returned function cancels it. */
  after(ms: number, run: () => void): () => void;
  /** Runs the next event. False: there is none up to `until`; time is `until` then. */
  step(until: number): Promise<boolean>;
  /** Runs events until there is none up to `until`, or until `isOver` is true after an event. */
  run(until: number, isOver: () => boolean): Promise<void>;
  /** Events that ran. */
  steps(): number;
  /** An independent sequence of random numbers for one purpose, so that one purpose does not disturb another. */
  random(purpose: string): Random;
  /** Adds a line to the trace; two runs with the same trace did the same. */
  trace(line: string): void;
  /** Hash of the trace so far. */
  digest(): string;
  /** The last lines of the trace, with their times. */
  lastLines(): string[];
};

/** Thrown into what adds event after event without an end of its own: time cannot go on. */
export class RunawayError extends Error {}

type Event = { at: number; tie: number; run: (() => void) | undefined };

const KEPT_LINES = 400;
/** Steps for each turn of Node's event loop: a turn costs a system call. */
const STEPS_PER_TURN = 64;
/** Events that one event adds. The largest are starts: some hundreds. */
const ADDED_BY_ONE = 100_000;

export function createScheduler(seed: number, onTrace: (line: string) => void = () => {}): Scheduler {
  const ties = createRandom(hashText(`${seed} ties`));
  const events = new TinyQueue<Event>([], (a, b) => a.at - b.at || a.tie - b.tie);
  const lines: string[] = [];
  let now = 0;
  let steps = 0;
  let added = 0;
  let digest = 0;

  function runNext(until: number): boolean {
    for (let event = events.peek(); event !== undefined && event.at <= until; event = events.peek()) {
      events.pop();
      if (event.run === undefined) continue;
      now = Math.max(now, event.at);
      steps++;
      added = 0;
      event.run();
      return true;
    }
    now = Math.max(now, until);
    return false;
  }

  return {
    now: () => now,
    after(ms, run) {
      if (++added > ADDED_BY_ONE) {
        added = 0;
        throw new RunawayError(`one event adds more than ${ADDED_BY_ONE} events: something repeats without a pause`);
      }
      const event: Event = { at: now + Math.max(0, ms), tie: ties.next(), run };
      events.push(event);
      return () => {
        event.run = undefined;
      };
    },
    async step(until) {
      if (!runNext(until)) return false;
      await settled();
      return true;
    },
    run(until, isOver) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      let isDone = false;
      // Node runs everything that waits for nothing but promises between two callbacks of a turn.
      const next = () => {
        if (isDone) return;
        try {
          isDone = isOver() || !runNext(until);
        } catch (error) {
          isDone = true;
          reject(error);
        }
        if (isDone) resolve();
      };
      const turn = () => {
        if (isDone) return;
        for (let i = 0; i < STEPS_PER_TURN; i++) setImmediate(next);
        setImmediate(turn);
      };
      turn();
      return promise;
    },
    steps: () => steps,
    random: (purpose) => createRandom(hashText(`${seed} ${purpose}`)),
    trace(line) {
      const timed = `${now.toFixed(3)} ${line}`;
      digest = hashText(timed, digest);
      onTrace(timed);
      lines.push(timed);
      if (lines.length > 2 * KEPT_LINES) lines.splice(0, KEPT_LINES);
    },
    digest: () => (digest >>> 0).toString(16),
    lastLines: () => lines.slice(-KEPT_LINES),
  };
}

/** Lets everything that waits for nothing but promises go on. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** FNV-1a. */
export function hashText(text: string, from = 0): number {
  let hash = 0x811c9dc5 ^ from;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
