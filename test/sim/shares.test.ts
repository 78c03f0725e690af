import { expect, it } from "vitest";
import { videoJobResource } from "../../src/api/v1alpha1/kinds.ts";
import { isNotFound } from "../../src/kube/errors.ts";
import { type AnyObject, condition } from "../support/world.ts";
import { type Start, sharedWorld, submit } from "./shared-account.ts";
import type { Stage } from "./stage/stage.ts";

const MINUTE_MS = 60_000;
const YUAN = 10_000;
/** A video of 5 s at 3,000 a second. */
const TASK_PRICE = 15_000;

/** Deletes the jobs whose requests were accepted. */
async function removeStarted({ kube }: Stage, starts: readonly Start[]): Promise<void> {
  for (const { team: namespace, job: name } of starts) {
    await kube.delete(videoJobResource, { namespace, name }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }
}

const named = (count: number) => Array.from({ length: count }, (_, index) => `job-${index}`);
const of = (starts: readonly Start[], team: string) => starts.filter((one) => one.team === team);
/** Most requests of a minute. */
const mostInMinute = (starts: readonly Start[]) =>
  Math.max(0, ...starts.map(({ at }) => starts.filter((one) => one.at > at - MINUTE_MS && one.at <= at).length));
/** Most tasks at the service at a time. */
const mostAtOnce = (starts: readonly Start[]) =>
  Math.max(0, ...starts.map(({ at }) => starts.filter((one) => one.at <= at && one.endsAt > at).length));

it("over an hour, shares that always wait get requests by weight, within 5 %", { timeout: 300_000 }, async () => {
  const weights = { film: 3, voice: 2, ads: 1 };
  const teams = Object.entries(weights).map(([name, weight]) => ({ name, share: { weight } }));
  const { stage, starts, start } = await sharedWorld(teams, { maxConcurrentTasks: 6 });
  await submit(stage, "film", named(240));
  await submit(stage, "voice", named(170));
  await submit(stage, "ads", named(100));
  start();
  await stage.pass(5 * MINUTE_MS);
  const before = starts.length;
  await stage.pass(60 * MINUTE_MS);
  const hour = starts.slice(before);
  expect(hour.length).toBeGreaterThan(250);
  expect(mostAtOnce(starts)).toBeLessThanOrEqual(6);
  for (const [team, weight] of Object.entries(weights)) {
    const part = of(hour, team).length / hour.length;
    expect(Math.abs(part / (weight / 6) - 1), `${team}: ${part}`).toBeLessThan(0.05);
  }
});

it("limits hold across crashes, takeovers and restarts, and a team that asks seldom never starves", {
  timeout: 300_000,
}, async () => {
  const { stage, starts, start } = await sharedWorld(
    [
      { name: "greedy", share: { limits: { concurrentTasks: 3 }, weight: 100 } },
      { name: "bursty", share: { limits: { requestsPerMinute: 4 } } },
      { name: "thrifty", share: { limits: { dailyLimit: String((10 * TASK_PRICE) / YUAN) } } },
      { name: "seldom" },
    ],
    { maxConcurrentTasks: 8 },
  );
  await submit(stage, "greedy", named(120));
  await submit(stage, "bursty", named(130));
  await submit(stage, "thrifty", named(30));
  const submitted = new Map<string, number>();
  let process = start();
  for (let minute = 0; minute < 30; minute++) {
    if (minute % 6 === 5) {
      const name = `job-${minute}`;
      submitted.set(name, stage.scheduler.now());
      await submit(stage, "seldom", [name]);
    }
    // A crash in the middle of a minute, every five minutes; each second one a stop in order.
    if (minute % 5 === 4) {
      await stage.pass(30_000 + 1_000 * minute);
      if (minute % 2 === 0) process.kill();
      else await Promise.all([process.stop(), stage.pass(20_000)]);
      process = start();
    }
    await stage.pass(MINUTE_MS);
  }
  await stage.pass(3 * MINUTE_MS); // the bills show the price again

  expect(mostAtOnce(starts)).toBeLessThanOrEqual(8);
  expect(mostAtOnce(of(starts, "greedy"))).toBe(3);
  expect(mostInMinute(of(starts, "bursty"))).toBe(4);
  expect(of(starts, "thrifty").length).toBeLessThanOrEqual(10);
  expect(of(starts, "thrifty").length).toBeGreaterThanOrEqual(9);
  const waiting = await stage.kube.get<AnyObject>(videoJobResource, { namespace: "thrifty", name: "job-29" });
  expect(condition(waiting, "Ready")).toMatchObject({
    reason: "ShareLimited",
    message: expect.stringMatching(/^Share thrifty allows 15 yuan a day \(limits.dailyLimit\): .* go first$/),
  });
  for (const [job, at] of submitted) {
    const begun = of(starts, "seldom").find((one) => one.job === job);
    expect(begun, `${job} never began`).toBeDefined();
    // A takeover after a crash takes up to half a minute.
    expect((begun?.at ?? Number.POSITIVE_INFINITY) - at, job).toBeLessThan(2 * MINUTE_MS);
  }
});

it("the requests of deleted jobs count across crashes and restarts, of which no object tells", {
  timeout: 300_000,
}, async () => {
  const { stage, starts, start } = await sharedWorld(
    [{ name: "bursty", share: { limits: { requestsPerMinute: 4 } } }],
    {},
    [3_000, 6_000],
  );
  await submit(stage, "bursty", named(80));
  let process = start();
  for (let round = 0; round < 6; round++) {
    await stage.pass(100_000 + 7_000 * round);
    if (round % 2 === 0) process.kill();
    else await Promise.all([process.stop(), stage.pass(20_000)]);
    await removeStarted(stage, starts);
    process = start();
  }
  await stage.pass(3 * MINUTE_MS);
  expect(starts.length).toBeGreaterThan(20);
  expect(mostInMinute(starts)).toBe(4);
});
