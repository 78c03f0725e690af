/**
 * Accounts whose service answers with lists that are too large, too deep or without an end. The operator stays within the memory
 * limit of the chart, keeps answering /healthz, and serves another account as before.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, it } from "vitest";
import { tools } from "../../support/command-line.ts";
import { limitMemory, peakMiB } from "../../support/hostile/memory-limit.ts";
import { HOSTILE_LISTS } from "../../support/hostile/responses.ts";
import { startHostileService } from "../../support/hostile/service.ts";
import { manifest } from "../../support/manifests.ts";
import {
  closeWorldsAfterAll,
  condition,
  disposableWorld,
  eventually,
  type Operator,
  waitForCondition,
} from "../../support/world.ts";

closeWorldsAfterAll();

/** The chart's limit. */
const LIMIT_MIB = 512;
/** A liveness probe of the chart waits this long. */
const LONGEST_STALL_MS = 5_000;
const SHORT = ["1,000,000 endpoints in one page", "a record of 1,000,000 names", "large pages without an end"];
const lists =
  process.env.MOORING_CAMPAIGN === undefined ? HOSTILE_LISTS.filter(({ name }) => SHORT.includes(name)) : HOSTILE_LISTS;

const limit = limitMemory(`mooring-${randomBytes(4).toString("hex")}`, LIMIT_MIB * 1024 * 1024);
afterAll(async () => {
  await eventually("the cgroup is empty", async () => {
    limit.remove();
    return true;
  });
});

/** Asks /healthz all the time. */
function watchHealth(operator: Operator): { longestMs(): number; stop(): void } {
  const port = /"probes":(\d+)/.exec(operator.log())?.[1];
  let longest = 0;
  let running = true;
  void (async () => {
    while (running) {
      const began = performance.now();
      await fetch(`http://127.0.0.1:${port}/healthz`).then(
        (answer) => answer.text(),
        () => undefined,
      );
      if (running) longest = Math.max(longest, performance.now() - began);
      await sleep(20);
    }
  })();
  return {
    longestMs: () => Math.round(longest),
    stop: () => {
      running = false;
    },
  };
}

it("costs the operator little and another account nothing", async () => {
  const service = await startHostileService();
  const world = await disposableWorld("hostile");
  const operator = await world.startOperator({ within: limit.within });
  await eventually("the operator starts", async () => operator.log().includes('"probes":'));
  const readyAfter = async (name: string) => {
    const began = performance.now();
    await world.apply(manifest("endpoint", {}, name));
    await waitForCondition(world, "GpuEndpoint", name, "Ready", "True");
    return Math.round(performance.now() - began);
  };
  await readyAfter("first");
  const quiet = await readyAfter("quiet");

  const health = watchHealth(operator);
  for (const [index, list] of lists.entries()) {
    service.answer(`/r${index}/gpus/v2/endpoints`, list);
    await world.apply({
      kind: "Account",
      metadata: { name: `hostile-${index}` },
      spec: {
        baseURL: `${service.url}/r${index}`,
        apiKeySecretRef: { name: "key", key: "apiKey" },
        endpoints: { pageSize: 1000 },
        rateLimit: { requestsPerSecond: 100, burst: 100 },
      },
    });
    const accountRef = { kind: "Account", name: `hostile-${index}` };
    await world.apply(manifest("endpoint", { accountRef }, `victim-${index}`));
  }
  const busy: number[] = [];
  for (const name of ["a", "b", "c"]) busy.push(await readyAfter(name));

  const told = await Promise.all(
    lists.map(async ({ name }, index) => {
      if (name.startsWith("9,999")) return `${name}: is read`;
      const account = await waitForCondition(world, "Account", `hostile-${index}`, "EndpointsListed", "False", 200_000);
      return `${name}: ${condition(account, "EndpointsListed")?.message}`;
    }),
  );
  const after = await readyAfter("last");
  health.stop();
  const peak = await peakMiB(operator.pid);
  console.log(
    [
      `${limit.kind} of ${LIMIT_MIB} MiB: ${peak} MiB at most; /healthz answered within ${health.longestMs()} ms`,
      `another account: an endpoint is ready after ${quiet} ms before, ${busy.join(", ")} ms meanwhile, ${after} ms after`,
      ...told,
    ].join("\n"),
  );
  expect(peak).toBeLessThan(LIMIT_MIB);
  expect(health.longestMs()).toBeLessThan(LONGEST_STALL_MS);

  const imported = await tools(world).mooring(
    "import",
    "--account",
    "hostile-0",
    "--out",
    "/tmp/mooring-never-written",
  );
  expect(imported.code).not.toBe(0);
  expect(imported.stderr).toContain("data has more than 10000 records");
  expect(await operator.stop()).toBe(0);
  service.close();
});
