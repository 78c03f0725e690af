import { expect, it, onTestFinished } from "vitest";
import { clusterAccountResource, videoJobResource } from "../../src/api/v1alpha1/kinds.ts";
import { namespaceResource } from "../../src/kube/resource.ts";
import { createRandom } from "../../src/simulator/random.ts";
import { manifest } from "../support/manifests.ts";
import type { AnyObject } from "../support/world.ts";
import { createStage } from "./stage/stage.ts";

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
  const simulator = { queueMs: [1_000, 5_000] as [number, number], videoTaskMs: [20_000, 60_000] as [number, number] };
  const stage = await createStage({ account: null, simulator });
  onTestFinished(stage.end);
  const { kube, scheduler, namespace } = stage;
  for (const name of teams) {
    await kube.create(namespaceResource, {}, { metadata: { name, labels: { team: name } }, spec: {} });
  }
  await kube.create(
    clusterAccountResource,
    {},
    {
      apiVersion: "mooring.dev/v1alpha1",
      kind: "ClusterAccount",
      metadata: { name: "shared" },
      spec: {
        baseURL: "http://service.invalid",
        apiKeySecretRef: { namespace, name: "key", key: "apiKey" },
        rateLimit: { requestsPerSecond: 50, burst: 50 },
        maxConcurrentTasks,
        shares: teams.map((name) => ({ name, namespaceSelector: { matchLabels: { team: name } } })),
      },
    },
  );
  const submitted = new Map<string, number>();
  const found: number[] = [];
  stage.start({
    service: (of) => ({
      call: async (request) => {
        const answer = await of.call(request);
        const { prompt = "" } = (request.body ?? {}) as { prompt?: string };
        const at = submitted.get(prompt);
        if (answer.effect === "TaskSubmitted" && at !== undefined) {
          submitted.delete(prompt);
          if (!prompt.startsWith(`${GREEDY}/`)) found.push(scheduler.now() - at);
        }
        return answer;
      },
    }),
  });
  const submit = async (team: string, from: number, to: number) => {
    for (let index = from; index < Math.min(to, jobsOf(team)); index++) {
      const name = `job-${index}`;
      const accountRef = { kind: "ClusterAccount", name: "shared" };
      const { spec, ...job } = manifest("image", { accountRef, imageToVideo: { prompt: `${team}/${name}` } }, name);
      submitted.set(`${team}/${name}`, scheduler.now());
      await kube.create<AnyObject>(
        videoJobResource,
        { namespace: team },
        { ...job, spec, metadata: { name, namespace: team } },
      );
    }
  };
  await stage.pass(MINUTE_MS);
  if (teams.includes(GREEDY)) await submit(GREEDY, 0, jobsOf(GREEDY));
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
    await submit(team, from, from + BURST);
  }
  const wanted = others.length * jobsOf(OTHERS[0] ?? "");
  for (let minute = 0; found.length < wanted && minute < 60; minute++) await stage.pass(MINUTE_MS);
  expect(found).toHaveLength(wanted);
  return found;
}

const quantile = (values: readonly number[], part: number) =>
  [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * part)] ?? 0;
const mean = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;

it("beside a team with four fifths of the jobs, the others wait at most 1.3 times as long as with an account of their own", {
  timeout: 3_600_000,
}, async () => {
  const beside = await waits(TEAMS, TASKS);
  // The others are alike, so one tells of all.
  const own = await waits(OTHERS.slice(0, 1), TASKS / TEAMS.length);
  const [ofMean, of95] = [mean(beside) / mean(own), quantile(beside, 0.95) / quantile(own, 0.95)];
  console.log(
    `${JOBS} jobs: waiting times beside an account of their own: mean ${ofMean.toFixed(2)}, p95 ${of95.toFixed(2)}`,
  );
  expect(ofMean).toBeLessThan(1.3);
  expect(of95).toBeLessThan(1.3);
});
