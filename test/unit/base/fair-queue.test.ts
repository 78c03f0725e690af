import fc from "fast-check";
import { expect, it } from "vitest";
import { createFairQueue } from "../../../src/base/fair-queue.ts";

type Step =
  | { kind: "push"; group: string }
  | { kind: "remove"; index: number }
  | { kind: "shift" }
  | { kind: "shiftLongest" };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("push" as const), group: fc.constantFrom("a", "b", "c") }),
  fc.record({ kind: fc.constant("remove" as const), index: fc.nat(40) }),
  fc.record({ kind: fc.constant("shift" as const) }),
  fc.record({ kind: fc.constant("shiftLongest" as const) }),
);

it("is in each group first in, first out, and gives the groups turns, whatever leaves in between", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      const queue = createFairQueue<number>();
      /** The same as plain arrays: groups in the order of their turns. */
      let model: { group: string; keys: string[] }[] = [];
      let pushed = 0;
      for (const one of steps) {
        if (one.kind === "push") {
          const key = `k${pushed}`;
          queue.push(one.group, key, pushed++);
          const group = model.find(({ group }) => group === one.group);
          if (group === undefined) model.push({ group: one.group, keys: [key] });
          else group.keys.push(key);
        } else if (one.kind === "remove") {
          const key = `k${one.index}`;
          const present = model.some(({ keys }) => keys.includes(key));
          expect(queue.remove(key)).toBe(present);
          model = model.map(({ group, keys }) => ({ group, keys: keys.filter((other) => other !== key) }));
        } else if (one.kind === "shiftLongest") {
          const most = Math.max(0, ...model.map(({ keys }) => keys.length));
          const longest = model.find(({ keys }) => keys.length === most);
          expect(queue.shiftLongest()?.key).toBe(longest?.keys.shift());
        } else {
          const [first, ...others] = model;
          const key = first?.keys.shift();
          expect(queue.shift()?.key).toBe(key);
          model = first === undefined ? [] : [...others, first];
        }
        model = model.filter(({ keys }) => keys.length > 0);
        const keys = model.flatMap((group) => group.keys);
        expect(queue.size()).toBe(keys.length);
        expect(queue.peek()?.key).toBe(keys[0]);
        expect(queue.first(5).map((value) => `k${value}`)).toEqual(keys.slice(0, 5));
        for (const { keys } of model) expect(queue.ahead(keys[0] ?? "")).toBe(0);
      }
    }),
  );
});

it("counts what is ahead, and forgets what it has passed", () => {
  const queue = createFairQueue<number>();
  for (let i = 0; i < 1_000; i++) queue.push("a", `k${i}`, i);
  expect(queue.ahead("k999")).toBe(999);
  for (let i = 0; i < 900; i++) queue.shift();
  expect([queue.ahead("k999"), queue.ahead("k900"), queue.get("k950")]).toEqual([99, 0, 950]);
});

it("refuses a second entry of a key", () => {
  const queue = createFairQueue<number>();
  queue.push("a", "k", 1);
  expect(() => queue.push("b", "k", 2)).toThrow("has an entry k already");
});
