import fc from "fast-check";
import { type Disturbance, disturbance } from "./answers.ts";
import { CALLS, type Call } from "./calls.ts";
import { problemsOf } from "./oracles.ts";
import { createTarget, GENERATIONS, type Generation, type Target } from "./target.ts";

export type Case = { call: string; generation: Generation; disturbance: Disturbance };
export type Failure = { case: Case; problems: string[] };

/** A call of the provider with one disturbed response after the other, in both generations. */
export const anyCase: fc.Arbitrary<Case> = fc.record({
  call: fc.constantFrom(...CALLS.map(({ name }) => name)),
  generation: fc.constantFrom(...GENERATIONS),
  disturbance,
});

/** The service of a target remembers what is created: a new one takes its place now and then. */
const CALLS_PER_TARGET = 200;

export type ResponseFuzzer = {
  /** @throws Error that shows the case and what is wrong */
  check(one: Case): Promise<void>;
  executions(): Map<string, number>;
};

/** Checks what the provider layer makes of responses. Collects rejections that nobody handles. */
export function createResponseFuzzer(unhandled: () => unknown[]): ResponseFuzzer {
  const counts = new Map<string, number>();
  let target: Target | undefined;
  let calls = 0;
  return {
    async check(one) {
      if (target === undefined || calls >= CALLS_PER_TARGET) [target, calls] = [await createTarget(), 0];
      calls += 1;
      const execution = await target.execute(callNamed(one.call), one.generation, one.disturbance);
      const ended = "value" in execution.end ? "value" : "error";
      counts.set(`${one.call} ${ended}`, (counts.get(`${one.call} ${ended}`) ?? 0) + 1);
      const problems = [...problemsOf(execution), ...unhandled().map((reason) => `unhandled: ${String(reason)}`)];
      if (problems.length > 0) throw new Error(`${problems.join("; ")}\n${JSON.stringify(one).slice(0, 2_000)}`);
    },
    executions: () => counts,
  };
}

function callNamed(name: string): Call {
  const call = CALLS.find((one) => one.name === name);
  if (call === undefined) throw new Error(`no call is named ${name}`);
  return call;
}
