import { existsSync, globSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MUTANTS } from "../sim/mutants/all.ts";
import { mutated, ROOT, sourceOf } from "../sim/mutants/mutant.ts";
import { marked, takeReached } from "../sim/mutants/random/marks.ts";
import { relatedTests } from "../sim/mutants/random/related.ts";

describe("a guard that the mutation check disables", () => {
  it.each(MUTANTS)("$name is in $file, and something can notice it", (mutant) => {
    const { breaks, tests, integration } = mutant;
    expect(mutated(mutant, sourceOf(mutant))).toContain(mutant.replace);
    expect(breaks ?? tests ?? integration).toBeDefined();
    if (integration !== undefined) expect(existsSync(join(ROOT, integration))).toBe(true);
    if (tests === undefined) return;
    const part = tests.replace("test/unit/", "test/{unit,component}/");
    expect(globSync([`${part}*.test.ts`, `${part}*/**/*.test.ts`], { cwd: ROOT })).not.toEqual([]);
  });

  it("has a name of its own", () => {
    const names = MUTANTS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it("fails loudly when its code has changed", () => {
    const mutant = { name: "lease", file: "src/lease.ts", find: "if (held)", replace: "" };
    const message = (count: number) => `guard lease: its code occurs ${count} times in src/lease.ts, expected once`;
    expect(() => mutated(mutant, "if (isHeld)")).toThrow(message(0));
    expect(() => mutated(mutant, "if (held) {} if (held) {}")).toThrow(message(2));
  });
});

describe("a random mutant", () => {
  it("changes one place", () => {
    const mutant = { name: "src/a.ts:1:14 equality", file: "src/a.ts", find: "b < 1", replace: "b <= 1", at: 13 };
    expect(mutated(mutant, "if (a < 1 && b < 1 && b < 1) go();")).toBe("if (a < 1 && b <= 1 && b < 1) go();");
  });

  it("is shown to the tests that load its file", () => {
    const tests = relatedTests("src/base/semaphore.ts");
    expect(tests).toContain("test/unit/base/semaphore.test.ts");
    expect(tests).toContain("test/unit/artifacts/failed-writers.test.ts");
    expect(tests).not.toContain("test/unit/base/fair-queue.test.ts");
  });

  it("and each place tells that it runs, and does what it did", () => {
    const source = "if (a && b) xs?.some(first ?? c);";
    const place = (index: number, find: string, operator: string) => ({
      index,
      file: "",
      at: source.indexOf(find),
      find,
      operator,
    });
    const places = [
      place(0, "a && b", "condition"),
      place(1, "a && b", "logical"),
      place(2, "some", "method"),
      place(3, "xs?.some(first ?? c);", "statement"),
      place(4, "first ?? c", "logical"),
    ];
    const text = marked(source, places);
    const run = new Function("a", "b", "xs", "first", "c", text);
    takeReached();
    run(true, false, [], undefined, () => true);
    expect(takeReached().sort()).toEqual([0, 1]);
    run(true, true, [1], undefined, () => true);
    expect(takeReached().sort()).toEqual([0, 1, 2, 3, 4]);
  });
});
