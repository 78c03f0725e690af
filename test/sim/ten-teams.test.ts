import { expect, it } from "vitest";
import { createRandom } from "../../src/simulator/random.ts";
import { waitRatios } from "../support/waiting-times.ts";
import { sharedWorld, submit } from "./shared-account.ts";

const MINUTE_MS = 60_000;
/** 5000 is what docs/how-to/shares.md tells of; the default takes seconds. One team has four fifths of the jobs. */
const JOBS = Number(process.env["TEN_TEAMS_JOBS"] ?? 500);
/** Tasks that the shared account allows at a time; an account of its own allows a team a tenth of them. */
const TASKS = 50;
const TEAMS = Array.from({ length: 10 }, (_, index) => `team-${index}`);
const [GREEDY = "", ...OTHERS] = TEAMS;
/** Jobs of each other team come in bursts, at any time, one in 7 minutes on average. */
const BURST = 14;
const jobsOf = (team: string) => (team === GREEDY ? JOBS * 0.8 : Math.round((JOBS * 0.2) / 9));

/** Runs whole operators. Returns how long each job of the other teams waited for its request, in ms. */
async function waits(teams: readonly string[], maxConcurrentTasks: number): Promise<number[]> {
  const worldTeams = teams.map((name) => ({ name }));
  const { stage, starts, start } = await sharedWorld(worldTeams, { maxConcurrentTasks }, [20_000, 60_000]);
  const { scheduler } = stage;
  const submitted = new Map<string, number>();
  start();
  const submitBurst = async (team: string, from: number, to: number) => {
    for (let index = from; index < Math.min(to, jobsOf(team)); index++) {
      submitted.set(`${team}/job-${index}`, scheduler.now());
      await submit(stage, team, [`job-${index}`]);
    }
  };
  await stage.pass(MINUTE_MS);
  if (teams.includes(GREEDY)) await submitBurst(GREEDY, 0, jobsOf(GREEDY));
  const others = teams.filter((team) => team !== GREEDY);
  const minutes = Math.ceil(jobsOf(OTHERS[0] ?? "") / BURST) * 7;
  const bursts = others.flatMap((team) => {
    const random = createRandom(TEAMS.indexOf(team));
    const froms = Array.from({ length: minutes / 7 }, (_, burst) => burst * BURST);
    return froms.map((from) => ({ team, from, at: random.between(0, minutes * MINUTE_MS) }));
  });
  const began = scheduler.now();
  for (const { team, from, at } of bursts.sort((one, other) => one.at - other.at)) {
    await stage.pass(Math.max(0, began + at - scheduler.now()));
    await submitBurst(team, from, from + BURST);
  }
  const wanted = others.length * jobsOf(OTHERS[0] ?? "");
  const ofOthers = () => starts.filter(({ team }) => team !== GREEDY);
  for (let minute = 0; ofOthers().length < wanted && minute < 60; minute++) await stage.pass(MINUTE_MS);
  const found = ofOthers().map(({ team, job, at }) => at - (submitted.get(`${team}/${job}`) ?? Number.NaN));
  expect(found).toHaveLength(wanted);
  return found;
}

it("beside a team with four fifths of the jobs, the others wait at most 1.3 times as long as with an account of their own", {
  timeout: 3_600_000,
}, async () => {
  const beside = await waits(TEAMS, TASKS);
  // The others are alike, so one tells of all.
  const own = await waits(OTHERS.slice(0, 1), TASKS / TEAMS.length);
  const { mean, p95 } = waitRatios(beside, own);
  console.log(
    `${JOBS} jobs: waiting times beside an account of their own: mean ${mean.toFixed(2)}, p95 ${p95.toFixed(2)}`,
  );
  expect(mean).toBeLessThan(1.3);
  expect(p95).toBeLessThan(1.3);
});
