import { expect, it } from "vitest";
import { createRandom } from "../../../src/simulator/random.ts";
import { createSpendingAdmission } from "../../../src/submission/admission.ts";
import type { Allowance } from "../../../src/submission/allowance.ts";
import type { Division, Pool } from "../../../src/submission/division.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const MINUTE_MS = 60_000;
/** Tasks that the shared account allows at a time; an account of its own allows a team a tenth of them. */
const TASKS = 50;
const TEAMS = Array.from({ length: 10 }, (_, index) => `team-${index}`);
const GREEDY = "team-0";

type Job = { team: string; uid: string; at: number; runsMs: number };

/** 5,000 jobs: one team submits 4,000 of them at once, and the others theirs in bursts over an hour. */
function plannedJobs(): Job[] {
  const random = createRandom(7);
  const job = (team: string, index: number, at: number): Job => {
    return { team, uid: `${team}/${index}`, at, runsMs: random.between(20_000, 60_000) };
  };
  return TEAMS.flatMap((team) => {
    if (team === GREEDY) return Array.from({ length: 4_000 }, (_, index) => job(team, index, 0));
    return Array.from({ length: 112 }, (_, index) => job(team, index, Math.floor(index / 14) * 7 * MINUTE_MS));
  }).slice(0, 5_000);
}

/** Runs jobs through an account. Returns how long each waited for its place, ms. */
async function run(jobs: readonly Job[], maxTasks: number, division: Division | undefined) {
  const clock = createFakeClock();
  const began = clock.monotonic();
  /** ms since the beginning, as `at` of the jobs. */
  const now = () => clock.monotonic() - began;
  const allowance: Allowance = { maxTasks, budget: undefined, reserve: undefined, division };
  const admission = createSpendingAdmission({ clock, allowance: () => allowance, inFlight: () => [] });
  const waited = new Map<string, number>();
  const ask = (job: Job): void => {
    const { uid, team } = job;
    if (waited.has(uid)) return;
    const answer = admission.request("a", { uid, namespace: team, operation: "submitImageToVideo" }, () => ask(job));
    if (answer.kind === "Waiting") return;
    waited.set(uid, now() - job.at);
    admission.sent(uid);
    admission.running("a", { uid, namespace: team, operation: "submitImageToVideo" });
    clock.setTimeout(() => admission.release(uid, { charged: true }), job.runsMs);
  };
  const open = [...jobs].sort((a, b) => a.at - b.at);
  const waiting: Job[] = [];
  for (let second = 0; waited.size < jobs.length; second++) {
    for (let next = open[0]; next !== undefined && next.at <= now(); next = open[0]) {
      open.shift();
      waiting.push(next);
      ask(next);
    }
    // A job that waits asks once a minute.
    if (second % 60 === 0) for (const job of waiting) ask(job);
    await clock.advance(1_000);
  }
  return waited;
}

const quantile = (values: readonly number[], part: number) =>
  [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * part)] ?? 0;
const mean = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;

it("of ten teams with 5,000 jobs, those beside one with 4,000 wait for tasks that run, and not for its queue", async () => {
  const jobs = plannedJobs();
  const pools = new Map<string, Pool>(
    TEAMS.map((team) => [
      team,
      {
        share: team,
        weight: 1,
        namespaces: [team],
        concurrentTasks: undefined,
        requestsPerMinute: undefined,
        dailyLimit: undefined,
        monthlyLimit: undefined,
      },
    ]),
  );
  const division: Division = {
    poolOf: (namespace) => pools.get(namespace),
    spent: () => ({ day: 0n, month: 0n, unpriced: undefined }),
    costOf: () => undefined,
  };
  const shared = await run(jobs, TASKS, division);
  const others = TEAMS.filter((team) => team !== GREEDY);
  const own: number[] = [];
  for (const team of others) {
    const alone = await run(
      jobs.filter((job) => job.team === team),
      TASKS / TEAMS.length,
      undefined,
    );
    own.push(...alone.values());
  }
  const beside = [...shared].flatMap(([uid, ms]) => (uid.startsWith(`${GREEDY}/`) ? [] : [ms]));
  expect(shared.size).toBe(jobs.length);
  // Tasks that run are not stopped for a burst: it waits until the first of them end. An account of its own has free places at once.
  expect(mean(beside) / mean(own)).toBeLessThan(1.7);
  expect(quantile(beside, 0.95) / quantile(own, 0.95)).toBeLessThan(1.3);
});
