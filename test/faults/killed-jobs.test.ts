import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { createRandom } from "../../src/simulator/random.ts";
import { manifest, type Variant } from "../support/manifests.ts";
import { openRecordsOf } from "../support/open-records.ts";
import { type AnyObject, type AuditEntry, createWorld, eventually, type World } from "../support/world.ts";
import { PAID, paidCalls } from "./paid-calls.ts";

/** By hand, whole: `MOORING_KILL_JOBS=400 MOORING_KILLS=30 npx vitest run test/faults/killed-jobs`. */
const JOBS = Number(process.env.MOORING_KILL_JOBS ?? 48);
const KILLS = Number(process.env.MOORING_KILLS ?? 5);
const SEED = Number(process.env.MOORING_KILL_SEED ?? 1);
/** An operator lives this long, from when its controllers have started. */
const [SHORTEST_MS, LONGEST_MS] = [50, 2_500];

const FAULTS = [
  ...PAID.flatMap((operation) => [
    { operation, kind: "resetAfter", probability: 0.05 },
    { operation, kind: "rateLimit", retryAfter: 1, probability: 0.05 },
    { operation, kind: "gatewayPage", after: true, probability: 0.01 },
    { operation, kind: "gatewayPage", probability: 0.01 },
  ]),
  { operation: "streamSpeech", kind: "truncate", probability: 0.05 },
  { operation: "getTaskResult", kind: "status", status: 500, probability: 0.04 },
  { operation: "getTaskResult", kind: "resetBefore", probability: 0.03 },
  { operation: "getTaskResult", kind: "gatewayPage", probability: 0.03 },
];

const VARIANTS: readonly [Variant, (text: string) => Record<string, unknown>][] = [
  ["hd", (text) => ({ text })],
  ["turbo", (text) => ({ text })],
  ["turbo", (text) => ({ text, stream: true, output: { storeRef: { name: "results" } } })],
  ["image", (text) => ({ imageToVideo: { prompt: text } })],
  ["reference", (text) => ({ videoToVideo: { input: { prompt: text } } })],
];

const nameOf = (index: number) => `job-${String(index).padStart(4, "0")}-end`;
const resubmits = (index: number) => index % 2 === 1;

async function jobsOf(world: World): Promise<Map<string, AnyObject>> {
  const all = [...(await world.list("SpeechJob")), ...(await world.list("VideoJob"))];
  return new Map(all.map((job) => [job.metadata.name, job]));
}

async function openRequests(world: World): Promise<number> {
  return (await openRecordsOf(world)).length;
}

it(`${JOBS} jobs while the operator is killed ${KILLS} times: paid once an attempt, none lost and reported well`, {
  timeout: KILLS * LONGEST_MS * 2 + 600_000,
}, async () => {
  const random = createRandom(SEED);
  const root = await mkdtemp(join(tmpdir(), "mooring-killed-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const start = () => world.startOperator({ args: [`--artifact-root=${root}`] });
  const world = await createWorld("killedjobs", { simulator: { timeScale: 0.5 } });
  await world.control("POST", "/__faults", FAULTS);
  await world.apply({ kind: "ArtifactStore", metadata: { name: "results" }, spec: { volume: { path: "results" } } });
  const lives = Array.from({ length: KILLS }, () => SHORTEST_MS + random.next() * (LONGEST_MS - SHORTEST_MS));
  const spanMs = lives.reduce((sum, life) => sum + life, 0);
  let working = false;
  // Jobs come while an operator works, so that a kill meets requests that are under way.
  const applying = (async () => {
    for (let index = 0; index < JOBS; index++) {
      while (!working) await sleep(10);
      const [variant, textOf] = VARIANTS[Math.floor(index / 2) % VARIANTS.length] ?? [
        "hd",
        (text: string) => ({ text }),
      ];
      const name = nameOf(index);
      const policy = resubmits(index) ? { onSubmissionUnknown: "Resubmit" } : {};
      await world.apply(manifest(variant, { ...textOf(name), ...policy }, name));
      await sleep((spanMs / JOBS) * 1.4 * random.next());
    }
  })();
  let left = 0;
  for (const life of lives) {
    const operator = await start();
    await eventually("the operator works", async () => operator.log().includes("controllers started"));
    working = true;
    await sleep(life);
    await operator.kill();
    working = false;
    left += await openRequests(world);
  }
  await start();
  working = true;
  await applying;
  const calmAt = performance.now();
  const settled = await eventually(
    "every job has ended or asks a person",
    async () => {
      const jobs = await jobsOf(world);
      const open = [...jobs.values()].filter(
        ({ status }) => !["Succeeded", "Failed", "Halted"].includes(String(status?.phase)),
      );
      return jobs.size === JOBS && open.length === 0 && (await openRequests(world)) === 0 && jobs;
    },
    300_000,
  );
  const calmSeconds = Math.round((performance.now() - calmAt) / 1_000);
  const halted = [...settled.values()]
    .filter(({ status }) => status?.phase === "Halted")
    .map(({ metadata }) => metadata.name);
  const before = await paidCalls(world);

  // Each attempt was taken once at most, and nobody who is not sure calls it a success.
  for (let index = 0; index < JOBS; index++) {
    const name = nameOf(index);
    const { status } = settled.get(name) ?? {};
    const taken = (before.get(name) ?? []).filter(({ effect }) => effect !== undefined);
    const attempts = Number(status?.attempts ?? 0);
    expect(taken.length, `${name}: taken more often than attempts were made`).toBeLessThanOrEqual(attempts);
    if (!resubmits(index)) expect(attempts, `${name}: sent again under Halt`).toBeLessThanOrEqual(1);
    else expect(status?.phase, `${name}: Resubmit does not halt`).toBe("Succeeded");
    if (status?.phase === "Succeeded") await expectPaidFor(name, taken, status);
  }

  // A person looks, and releases them; what is lost again is released again.
  for (let round = 1; ; round++) {
    const jobs = await eventually(
      "released jobs have ended or ask again",
      async () => {
        const now = await jobsOf(world);
        return [...now.values()].every(({ status }) => ["Succeeded", "Halted"].includes(String(status?.phase))) && now;
      },
      120_000,
    );
    const waiting = [...jobs.values()].filter(({ status }) => status?.phase === "Halted");
    if (waiting.length === 0) break;
    expect(round).toBeLessThan(10);
    for (const { kind = "", metadata } of waiting) {
      const annotations = { "mooring.dev/resubmit-token": `round-${round}` };
      await world.patch(kind, metadata.name, { metadata: { annotations } });
    }
    await eventually("they are released", async () => {
      const now = await jobsOf(world);
      return waiting.every(
        ({ metadata }) => now.get(metadata.name)?.status?.lastHandledResubmitToken === `round-${round}`,
      );
    });
  }
  const done = await jobsOf(world);
  const after = await paidCalls(world);
  for (const [name, { status }] of done) {
    const taken = (after.get(name) ?? []).filter(({ effect }) => effect !== undefined);
    expect(taken.length, name).toBeLessThanOrEqual(Number(status?.attempts));
    await expectPaidFor(name, taken, status ?? {});
  }
  const all = [...after.values()].flat();
  const taken = all.filter(({ effect }) => effect !== undefined).length;
  const count = (status: number | null) => all.filter((entry) => entry.status === status).length;
  console.log(
    `${JOBS} jobs, all succeeded; ${KILLS} kills left ${left} records without an outcome, ${count(null)} answers lost, ${count(429)} refused with 429, ` +
      `${count(502)} gateway pages; ${halted.length} jobs halted under Halt and were released; ${all.length} paid calls sent, ${taken} taken, ` +
      `${taken - JOBS} of them twice for a job (Resubmit and released); settled ${calmSeconds} s after the last kill; seed ${SEED}`,
  );
});

/** A success is of a task, or an audio, that the service made for this very job. */
async function expectPaidFor(name: string, taken: AuditEntry[], status: Record<string, unknown>): Promise<void> {
  expect(status["phase"]).toBe("Succeeded");
  expect(taken.length, `${name} succeeded, and the service took nothing`).toBeGreaterThan(0);
  if (status["taskID"] !== undefined) expect(taken.map(({ id }) => id)).toContain(status["taskID"]);
  const [result] = status["results"] as { url?: string; artifact?: { uri: string; bytes: number } }[];
  if (result?.artifact === undefined) expect((await fetch(result?.url ?? "", { method: "HEAD" })).status).toBe(200);
  else expect((await stat(fileURLToPath(result.artifact.uri))).size).toBe(result.artifact.bytes);
}
