import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { createRandom } from "../../src/simulator/random.ts";
import { manifest } from "../support/manifests.ts";
import { openRecordsOf } from "../support/open-records.ts";
import { createWorld, eventually, type World } from "../support/world.ts";

/** By hand, whole: `MOORING_KILL_ENDPOINTS=300 MOORING_KILLS=40 npx vitest run test/faults/killed-endpoints`. */
const ENDPOINTS = Number(process.env.MOORING_KILL_ENDPOINTS ?? 40);
const KILLS = Number(process.env.MOORING_KILLS ?? 5);
const SEED = Number(process.env.MOORING_KILL_SEED ?? 1);
/** An operator works this long; one in five is killed before it has begun to. */
const LONGEST_MS = 3_000;
const EARLY = 0.2;
const LOST_ANSWERS = 0.05;
const LIST_DELAY_MS = 5_000;

/** How many creates have no outcome yet that the status shows. */
async function openCreates(world: World): Promise<number> {
  return (await openRecordsOf(world)).length;
}

it(`${ENDPOINTS} endpoints while the operator is killed ${KILLS} times: as many at the remote, all bound`, {
  timeout: KILLS * 20_000 + 420_000,
}, async () => {
  const random = createRandom(SEED);
  const world = await createWorld("killed", {
    // A second endpoint of the same app name would be taken, so that it shows.
    simulator: { timeScale: 1, bootDelayMs: 0, listDelayMs: LIST_DELAY_MS, duplicateAppName: "Accept" },
  });
  await world.control("POST", "/__faults", {
    kind: "resetAfter",
    operation: "createEndpoint",
    probability: LOST_ANSWERS,
  });
  const lives = Array.from({ length: KILLS }, () => ({
    early: random.next() < EARLY,
    ms: random.next() * LONGEST_MS,
  }));
  const spanMs = lives.reduce((sum, { ms }) => sum + ms, 0);
  const applying = (async () => {
    for (let index = 0; index < ENDPOINTS; index++) {
      await world.apply(manifest("endpoint", {}, `e-${index}`));
      await sleep((spanMs / ENDPOINTS) * 2 * random.next());
    }
  })();
  let left = 0;
  for (const { early, ms } of lives) {
    const operator = await world.startOperator();
    if (!early) await eventually("it works", async () => operator.log().includes("controllers started"));
    await sleep(ms);
    await operator.kill();
    left += await openCreates(world);
  }
  await applying;
  await world.startOperator();
  const calmAt = performance.now();
  const bound = await eventually(
    "all endpoints are bound and every outcome is shown",
    async () => {
      const objects = await world.list("GpuEndpoint");
      const ids = objects.map(({ status }) => status?.endpointID).filter((id) => id !== undefined);
      return ids.length === ENDPOINTS && (await openCreates(world)) === 0 && ids;
    },
    300_000,
  );
  const calmSeconds = Math.round((performance.now() - calmAt) / 1_000);
  const { endpoints } = await world.state();
  const creates = await world.audit("createEndpoint");
  const lost = creates.filter(({ status }) => status === null).length;
  console.log(
    `${endpoints.length} endpoints for ${ENDPOINTS} objects, ${new Set(bound).size} bound; ${KILLS} kills left ${left} records without an outcome, ` +
      `${lost} answers lost; ${creates.length} creates sent; all bound ${calmSeconds} s after the last kill; seed ${SEED}`,
  );
  expect(endpoints).toHaveLength(ENDPOINTS);
  expect(new Set(bound)).toEqual(new Set(endpoints.map(({ id }) => id)));
});
