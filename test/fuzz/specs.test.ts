import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it, onTestFinished } from "vitest";
import { anyCase, specsOf } from "./specs/cases.ts";
import { CORPUS } from "./specs/corpus.ts";
import { createSpecFuzzer, type SpecFuzzer } from "./specs/fuzzer.ts";

/** The long form is `npm run test:sim -- fuzz --specs`. */
const RUNS = 40;
const BUDGET_MS = 5_000;

async function fuzzer(): Promise<SpecFuzzer> {
  const unhandled: unknown[] = [];
  const onRejection = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", onRejection);
  const root = await mkdtemp(join(tmpdir(), "mooring-specs-"));
  const created = createSpecFuzzer(root, () => unhandled.splice(0));
  onTestFinished(async () => {
    process.off("unhandledRejection", onRejection);
    created.end();
    await rm(root, { recursive: true, force: true });
  });
  return created;
}

it("specs that once led to a defect are handled", async () => {
  const { check, executions } = await fuzzer();
  for (const one of CORPUS) await check(one);
  expect(executions().size).toBeGreaterThan(0);
});

it("any spec that the API server stores is handled", async () => {
  const { check } = await fuzzer();
  await fc.assert(
    fc.asyncProperty(anyCase, (one) => check({ kind: one.kind, specs: (name) => specsOf(one, name) })),
    { numRuns: RUNS, interruptAfterTimeLimit: BUDGET_MS, markInterruptAsFailure: false },
  );
});
