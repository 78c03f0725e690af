/**
 * `npm run test:fuzz -- [--runs N] [--minutes N] [--seed N]`: disturbs the responses of the service, and prints the number of
 * executions by call and outcome.
 *
 * --runs N     executions, default 20,000
 * --minutes N  ends after this time, default: when all are done
 * --seed N     of fast-check, default: the time
 */
import { parseArgs } from "node:util";
import fc from "fast-check";
import { CORPUS } from "./corpus.ts";
import { anyCase, createResponseFuzzer } from "./responses.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "20000" },
    minutes: { type: "string", default: "10000" },
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
  },
});

const unhandled: unknown[] = [];
process.on("unhandledRejection", (reason) => unhandled.push(reason));
const fuzzer = createResponseFuzzer(() => unhandled.splice(0));
const began = performance.now();
for (const { one } of CORPUS) await fuzzer.check(one);
const result = await fc.check(
  fc.asyncProperty(anyCase, (one) => fuzzer.check(one)),
  {
    numRuns: Number(values.runs),
    seed: Number(values.seed),
    interruptAfterTimeLimit: Math.min(2 ** 31 - 1, Number(values.minutes) * 60_000),
    markInterruptAsFailure: false,
  },
);
const counts = [...fuzzer.executions()].sort(([a], [b]) => (a < b ? -1 : 1));
for (const [name, count] of counts) console.log(`${name}: ${count}`);
const total = counts.reduce((sum, [, count]) => sum + count, 0);
console.log(`${total} executions, seed ${values.seed}, ${Math.round((performance.now() - began) / 1_000)} s`);
if (result.failed) {
  console.log(fc.defaultReportMessage(result));
  process.exitCode = 1;
}
