import TinyQueue from "tinyqueue";
import type { Clock } from "../clock.ts";
import { createFairQueue } from "../fair-queue.ts";

/** Where an object that is due waits for its read. `First`: before all of `Others`, but for each fourth read. */
export type Line = "First" | "Others";

type Waiting = { id: string; reference: { namespace: string } };

/** The order in which referenced objects are read. In each line, namespaces take turns. */
export type ReferenceLine<T extends Waiting> = {
  /** The object is due at this time (monotonic ms), and not before. Replaces an earlier time. */
  add(one: T, dueAt: number): void;
  remove(id: string): void;
  /** Moves an object that is due to another line. An object that is not due stays where it is. */
  move(id: string, line: Line): void;
  /** In how many ms an object is due; 0: one is due. `lineOf`: the line of an object that has become due. */
  dueInMs(lineOf: (one: T) => Line): number;
  /** At most `count` of the objects that are due. They are in no line until they are added again. */
  take(count: number): T[];
};

/** One of so many reads is for `Others`, however many are in line `First`. */
const OTHERS_SHARE = 4;

export function createReferenceLine<T extends Waiting>(clock: Pick<Clock, "monotonic">): ReferenceLine<T> {
  const schedule = new TinyQueue<{ one: T; dueAt: number }>([], (a, b) => a.dueAt - b.dueAt);
  /** An entry of the schedule with another time is outdated. */
  const dueTimes = new Map<string, number>();
  const lines = { First: createFairQueue<T>(), Others: createFairQueue<T>() };
  let reads = 0;

  function remove(id: string): void {
    dueTimes.delete(id);
    lines.First.remove(id);
    lines.Others.remove(id);
  }

  const push = (line: Line, one: T) => lines[line].push(one.reference.namespace, one.id, one);

  function takeOne(): T | undefined {
    const [first, second] = ++reads % OTHERS_SHARE === 0 ? [lines.Others, lines.First] : [lines.First, lines.Others];
    return (first.shift() ?? second.shift())?.value;
  }

  return {
    add(one, dueAt) {
      remove(one.id);
      dueTimes.set(one.id, dueAt);
      schedule.push({ one, dueAt });
    },
    remove,
    move(id, line) {
      const other = line === "First" ? "Others" : "First";
      const one = lines[other].get(id);
      if (one === undefined) return;
      lines[other].remove(id);
      push(line, one);
    },
    dueInMs(lineOf) {
      const now = clock.monotonic();
      let next = schedule.peek();
      while (next !== undefined && (next.dueAt <= now || dueTimes.get(next.one.id) !== next.dueAt)) {
        schedule.pop();
        const { one, dueAt } = next;
        if (dueTimes.get(one.id) === dueAt) {
          dueTimes.delete(one.id);
          push(lineOf(one), one);
        }
        next = schedule.peek();
      }
      if (lines.First.size() + lines.Others.size() > 0) return 0;
      return next === undefined ? Number.POSITIVE_INFINITY : next.dueAt - now;
    },
    take(count) {
      const taken: T[] = [];
      for (let one = takeOne(); one !== undefined; one = takeOne()) {
        taken.push(one);
        if (taken.length === count) break;
      }
      return taken;
    },
  };
}
