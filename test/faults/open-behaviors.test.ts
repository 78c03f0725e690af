import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { readTruth } from "../sim/campaign/truth.ts";
import { verdictOf, wrongs } from "../sim/campaign/verdict.ts";
import { ROWS, switchesOf } from "../sim/pairs/factors.ts";
import { manifest, merged } from "../support/manifests.ts";
import { createWorld, eventually } from "../support/world.ts";

const JOBS = 8;
const ENDPOINTS = 3;
/** From the request to the service's log, and from the log to the operator's record of the response. */
const DELIVERY_MS = 5_000;
const values = switchesOf(ROWS[5] ?? []);
const merge = (parts: (Record<string, unknown> | undefined)[]) =>
  parts.reduce<Record<string, unknown>>((all, part) => merged(all, part ?? {}), {});

// The simulation runs every row (test/sim/pairs).
it(`${JOBS} jobs, ${ENDPOINTS} endpoints and a kill with values of ${values.length} open behaviors`, async () => {
  const root = await mkdtemp(join(tmpdir(), "mooring-behaviors-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const world = await createWorld("behaviors", {
    simulator: merge([{ timeScale: 0.2 }, ...values.map(({ simulator }) => simulator)]),
    account: merge([{ endpoints: { syncInterval: "5s" } }, ...values.map(({ account }) => account)]),
  });
  for (const faults of values.flatMap((value) => value.faults ?? [])) await world.control("POST", "/__faults", faults);
  const start = () => world.startOperator({ args: [`--artifact-root=${root}`] });
  const first = await start();
  await eventually("the operator works", async () => first.log().includes("controllers started"));
  for (let index = 0; index < JOBS; index++) {
    const name = `job-${index}-end`;
    const object =
      index % 2 === 0
        ? manifest("hd", { text: name }, name)
        : manifest("image", { imageToVideo: { prompt: name } }, name);
    await world.apply(object);
  }
  const names = Array.from({ length: ENDPOINTS }, (_, index) => `endpoint-${index}`);
  for (const name of names) await world.apply(manifest("endpoint", {}, name));
  await eventually("work has begun", async () => (await world.audit()).some(({ effect }) => effect !== undefined));
  const killedAt = Date.now();
  await first.kill();
  await start();
  await eventually(
    "the jobs have ended",
    async () => (await readTruth(world)).jobs.every(({ status }) => status?.["phase"] !== "Pending"),
    60_000,
  ).catch(() => undefined);
  await world.control("DELETE", "/__faults");

  const expected = {
    wanted: new Map(names.map((name) => [name, 2])),
    ignoresUpdates: values.some(({ ignoresUpdates }) => ignoresUpdates === true),
    waits: values.flatMap(({ waits }) => waits ?? []),
  };
  let left: string[] = [];
  await eventually(
    "everything has settled",
    async () => {
      left = wrongs(await readTruth(world), expected);
      return left.length === 0;
    },
    240_000,
  ).catch(() => expect(left).toEqual([]));
  const interrupted = (at: number | undefined) => at === undefined || Math.abs(killedAt - at) < DELIVERY_MS;
  const { duplicates, losses } = await verdictOf(await readTruth(world), await world.audit(), interrupted);
  expect({ duplicates, losses }).toEqual({ duplicates: [], losses: [] });
});
