import fc from "fast-check";
import { expect, it } from "vitest";
import { createWorkQueue, type Priority, type WorkQueue } from "../../../src/runtime/queue.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";

/** The queue's promise in its simplest form: when each key is due, and which are being worked on. */
type Model = {
  due: Map<string, number>;
  /** A running key, and when it is to run once more. */
  running: Map<string, number | undefined>;
};
type Real = { queue: WorkQueue; clock: FakeClock };
type Command = fc.AsyncCommand<Model, Real>;

const earlier = (a: number | undefined, b: number): number => (a === undefined ? b : Math.min(a, b));
const ready = (model: Model, now: number): string[] =>
  [...model.due].filter(([, due]) => due <= now).map(([key]) => key);

function added(model: Model, key: string, due: number): void {
  if (model.running.has(key)) model.running.set(key, earlier(model.running.get(key), due));
  else model.due.set(key, earlier(model.due.get(key), due));
}

const command = (name: string, run: (model: Model, real: Real) => void | Promise<void>): Command => ({
  check: () => true,
  run: async (model, real) => {
    await run(model, real);
    expect(real.queue.depth()).toBe(ready(model, real.clock.monotonic()).length);
  },
  toString: () => name,
});

const add = (key: string, afterMs: number, priority: Priority): Command =>
  command(`add ${key} after ${afterMs} ${priority}`, (model, { queue, clock }) => {
    queue.add(key, { afterMs, priority });
    added(model, key, clock.monotonic() + afterMs);
  });

/** Backoff without jitter: 10 ms, and never more. */
const fail = (key: string): Command =>
  command(`fail ${key}`, (model, { queue, clock }) => {
    queue.addRateLimited(key);
    added(model, key, clock.monotonic() + 10);
  });

const take = command("take", async (model, { queue, clock }) => {
  const able = ready(model, clock.monotonic());
  if (able.length === 0) return;
  const key = await queue.next();
  expect(able).toContain(key);
  expect(model.running.has(key ?? "")).toBe(false);
  model.due.delete(key ?? "");
  model.running.set(key ?? "", undefined);
});

const done = (nth: number): Command =>
  command(`done ${nth}`, (model, { queue }) => {
    const keys = [...model.running.keys()];
    const key = keys[nth % Math.max(1, keys.length)];
    if (key === undefined) return;
    queue.done(key);
    const again = model.running.get(key);
    model.running.delete(key);
    if (again !== undefined) model.due.set(key, again);
  });

const wait = (ms: number): Command => command(`wait ${ms}`, (_model, { clock }) => clock.advance(ms));

const keys = fc.constantFrom("a/1", "a/2", "a/3", "b/1", "b/2", "cluster");
const times = fc.constantFrom(0, 0, 1, 5, 20, 100);
const commands = [
  fc.tuple(keys, times, fc.constantFrom<Priority>("high", "low")).map((args) => add(...args)),
  keys.map(fail),
  fc.constant(take),
  fc.nat(5).map(done),
  fc.constantFrom(1, 4, 10, 50).map(wait),
];

it("hands out each key that was added, when it is due, to one worker at a time, and loses none", async () => {
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 60 }), async (script) => {
      const clock = createFakeClock();
      const backoff = { baseMs: 10, capMs: 10, jitter: 0, random: () => 0 };
      const real: Real = { clock, queue: createWorkQueue({ clock, backoff }) };
      const model: Model = { due: new Map(), running: new Map() };
      await fc.asyncModelRun(() => ({ model, real }), script);

      // Whatever is still owed comes out in the end.
      for (const [key, again] of model.running) {
        real.queue.done(key);
        if (again !== undefined) model.due.set(key, again);
      }
      await clock.advance(1_000);
      const owed = new Set(model.due.keys());
      const handed: string[] = [];
      while (real.queue.depth() > 0) handed.push((await real.queue.next()) ?? "");
      expect(new Set(handed)).toEqual(owed);
      expect(handed).toHaveLength(owed.size);
      expect(clock.timers()).toBe(0);
    }),
    { numRuns: 300 },
  );
});
