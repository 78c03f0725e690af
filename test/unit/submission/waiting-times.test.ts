import { expect, it } from "vitest";
import { createRandom } from "../../../src/simulator/random.ts";
import { createSpendingAdmission } from "../../../src/submission/admission.ts";
import type { Allowance } from "../../../src/submission/allowance.ts";
import type { Division, Pool } from "../../../src/submission/division.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { waitRatios } from "../../support/waiting-times.ts";

const MINUTE_MS = 60_000;
/** Tasks that the shared account allows at a time; an account of its own allows a team a tenth of them. */
const TASKS = 50;
const TEAMS = Array.from({ length: 10 }, (_, index) => `team-${index}`);
const GREEDY = "team-0";

type Job = { team: string; uid: string; at: number; runsMs: number };

/** 5,000 jobs: one team submits 4,000 of them at once, and each of the others 8 bursts in an hour. `burstAt`: minutes. */
function plannedJobs(burstAt: (burst: number, random: () => number) => number): Job[] {
  const random = createRandom(7);
  const job = (team: string, index: number, at: number): Job => {
    return { team, uid: `${team}/${index}`, at, runsMs: random.between(20_000, 60_000) };
  };
  return TEAMS.flatMap((team) => {
    if (team === GREEDY) return Array.from({ length: 4_000 }, (_, index) => job(team, index, 0));
    const bursts = Array.from({ length: 8 }, (_, burst) => burstAt(burst, () => random.between(0, 56_000) / 1_000));
    return Array.from({ length: 112 }, (_, index) =>
      job(team, index, (bursts[Math.floor(index / 14)] ?? 0) * MINUTE_MS),
    );
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

/** The waits of the nine other teams, ms: beside the greedy one, and with an account of their own. */
async function waitsOf(jobs: readonly Job[]): Promise<{ beside: number[]; own: number[] }> {
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
  expect(shared.size).toBe(jobs.length);
  const own: number[] = [];
  for (const team of TEAMS.filter((one) => one !== GREEDY)) {
    const ofTeam = jobs.filter((job) => job.team === team);
    own.push(...(await run(ofTeam, TASKS / TEAMS.length, undefined)).values());
  }
  const beside = [...shared].flatMap(([uid, ms]) => (uid.startsWith(`${GREEDY}/`) ? [] : [ms]));
  return { beside, own };
}

it("nine teams beside one with 4,000 jobs wait no longer than with an account of their own: bursts at any time", async () => {
  const { beside, own } = await waitsOf(plannedJobs((_, minutes) => minutes()));
  const { mean, p95 } = waitRatios(beside, own);
  expect(mean).toBeLessThan(1.3);
  expect(p95).toBeLessThan(1.3);
});

// Tasks that run are not stopped for a burst: if all begin at once, they wait for the first of them to end. An account of its own has
// free places then.
it("if all nine begin in the same second, the longest waits are as with an account of their own, and the mean has that wait on top", async () => {
  const { beside, own } = await waitsOf(plannedJobs((burst) => 7 * burst));
  const { mean, p95 } = waitRatios(beside, own);
  expect(mean).toBeLessThan(1.7);
  expect(p95).toBeLessThan(1.3);
});
