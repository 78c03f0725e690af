/**
 * `npm run test:sim -- fuzz [--specs] [--runs N] [--minutes N] [--seed N]`: disturbs the responses of the service, or the specs of objects,
 * and prints the number of executions by call or kind and by outcome.
 *
 * --specs      specs; default: responses
 * --runs N     calls, or objects with up to three specs; default 20,000
 * --minutes N  ends after this time, default: when all are done
 * --seed N     of fast-check, default: the time
 * --path P     of fast-check, with the seed: starts at a failure
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import fc from "fast-check";
import { CORPUS as RESPONSES } from "./corpus.ts";
import { anyCase as anyResponse, createResponseFuzzer } from "./responses.ts";
import { anyCase as anySpecs, specsOf } from "./specs/cases.ts";
import { CORPUS as SPECS } from "./specs/corpus.ts";
import { createSpecFuzzer } from "./specs/fuzzer.ts";

const { values } = parseArgs({
  options: {
    specs: { type: "boolean", default: false },
    runs: { type: "string", default: "20000" },
    minutes: { type: "string", default: "10000" },
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
    path: { type: "string" },
  },
});

/** `corpus` checks earlier findings first. */
type Fuzz = { corpus(): Promise<void>; property: fc.IAsyncProperty<unknown>; executions(): Map<string, number> };

const unhandled: unknown[] = [];
process.on("unhandledRejection", (reason) => unhandled.push(reason));
const artifactRoot = await mkdtemp(join(tmpdir(), "mooring-specs-"));

function fuzzResponses(): Fuzz {
  const { check, executions } = createResponseFuzzer(() => unhandled.splice(0));
  return {
    async corpus() {
      for (const { one } of RESPONSES) await check(one);
    },
    property: fc.asyncProperty(anyResponse, (one) => check(one)),
    executions,
  };
}

function fuzzSpecs(): Fuzz {
  const { check, executions } = createSpecFuzzer(artifactRoot, () => unhandled.splice(0));
  return {
    async corpus() {
      for (const one of SPECS) await check(one);
    },
    property: fc.asyncProperty(anySpecs, (one) => check({ kind: one.kind, specs: (name) => specsOf(one, name) })),
    executions,
  };
}

const { corpus, property, executions } = values.specs ? fuzzSpecs() : fuzzResponses();
const began = performance.now();
await corpus();
const result = await fc.check(property, {
  numRuns: Number(values.runs),
  seed: Number(values.seed),
  ...(values.path === undefined ? {} : { path: values.path }),
  interruptAfterTimeLimit: Math.min(2 ** 31 - 1, Number(values.minutes) * 60_000),
  markInterruptAsFailure: false,
});
const counts = [...executions()].sort(([a], [b]) => (a < b ? -1 : 1));
for (const [name, count] of counts) console.log(`${name}: ${count}`);
const total = counts.reduce((sum, [, count]) => sum + count, 0);
console.log(`${total} executions, seed ${values.seed}, ${Math.round((performance.now() - began) / 1_000)} s`);
await rm(artifactRoot, { recursive: true, force: true });
if (result.failed) {
  console.log(fc.defaultReportMessage(result));
  console.log(result.errorInstance instanceof Error ? result.errorInstance.message : result.errorInstance);
  process.exitCode = 1;
}
// Timers of the volume's stores.
process.exit();
