import fc from "fast-check";
import { expect, it, onTestFinished } from "vitest";
import { CORPUS } from "./corpus.ts";
import { anyCase, createResponseFuzzer } from "./responses.ts";

/** The long form is `npm run test:sim -- fuzz`. */
const RUNS = 300;

function fuzzer() {
  const unhandled: unknown[] = [];
  const onRejection = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", onRejection);
  onTestFinished(() => void process.off("unhandledRejection", onRejection));
  return createResponseFuzzer(() => unhandled.splice(0));
}

it("responses that once led to a defect end in values or errors that the operator can use", async () => {
  const { check, executions } = fuzzer();
  for (const { one } of CORPUS) await check(one);
  expect([...executions().values()].reduce((sum, count) => sum + count, 0)).toBe(CORPUS.length);
});

it("any disturbed response ends in a value or an error that the operator can use", async () => {
  const { check } = fuzzer();
  await fc.assert(
    fc.asyncProperty(anyCase, (one) => check(one)),
    { numRuns: RUNS },
  );
});
