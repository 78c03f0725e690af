import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { inject } from "vitest";
import { z } from "zod";
import { accountResource } from "../../src/api/v1alpha1/kinds.ts";
import { startProxy } from "../../tools/chaos/proxy.ts";
import { targetOf } from "../../tools/cluster/credentials.ts";
import { merged } from "../support/manifests.ts";
import { condition, createWorld, eventually, plainKubeconfig } from "../support/world.ts";
import { type Outcome, readOutcome } from "./outcome.ts";
import type { Scenario } from "./scenario.ts";
import { superviseOperators } from "./supervisor.ts";
import { createUser, type Help } from "./user.ts";
import { createWatchRelay, type WatchEvent } from "./watch-relay.ts";
import { type CrashPoint, createWriteLog, type Write } from "./writes.ts";

/** What disturbs a run. */
export type Perturbation = {
  /** The operator dies here. */
  crash?: CrashPoint;
  /** After the crash, the lists of the next operator show the state before the crash for some seconds. */
  stale?: true;
  /** The operator never gets this event: its watch ends a second later, and it lists again. */
  missed?: WatchEvent;
};

export type Run = Help & {
  outcome: Outcome;
  writes: readonly Write[];
  /** When the operator died, a status showed a request without its outcome. */
  unknownOutcome: boolean;
  /** The events of the operator's watches. */
  events: readonly WatchEvent[];
  /** Whether the perturbation took place. */
  reached: boolean;
  /** Empty: the run ended as it must. */
  failure: string;
  /** What the operators logged. */
  log: string;
};

type Settled = (outcome: Outcome, releases: { released: number }) => string[];

/** Beyond what a create with an unknown outcome takes: 60 s. */
const SETTLE_MS = 150_000;
/** An undisturbed run is over when nothing has changed for this long. */
const STILL_MS = 2_500;
const LOOK_MS = 1_000;
/** How long a stale API server lags behind. */
const LAG_MS = 3_000;

/**
 * Runs a scenario in a world of its own, with proxies between the operator and both servers. At a crash point, the operator
 * dies with SIGKILL and another one starts.
 * @param settled what is left until the run is over; without it, the run is over when nothing changes any more
 */
export async function runScenario(
  scenario: Scenario,
  perturbation: Perturbation = {},
  settled?: Settled,
): Promise<Run> {
  const log = createWriteLog(perturbation.crash);
  const watches = createWatchRelay(perturbation.missed);
  let beginning: string | undefined;
  const root = await mkdtemp(join(tmpdir(), "mooring-perturbation-"));
  const world = await createWorld("perturb", {
    account: null,
    simulator: { timeScale: 1, ...scenario.simulator },
  });
  const operators = superviseOperators(world, log);
  const target = {
    ...(await targetOf(inject("kubeconfig"))),
    takeOver: watches,
    onKeptBack: (body: string) => {
      if (perturbation.stale === true) watches.lagBehind(versionBefore(body) ?? beginning ?? "0", LAG_MS);
    },
  };
  const kubernetes = await startProxy(target, log.trap("kubernetes"), operators.kill);
  const onKeptBack = () => {
    if (perturbation.stale === true && beginning !== undefined) watches.lagBehind(beginning, LAG_MS);
  };
  const service = await startProxy({ url: world.simulator.url, onKeptBack }, log.trap("service"), operators.kill);
  const user = createUser(world);
  const read = () => readOutcome(world, root, scenario.ignores);
  try {
    if (scenario.fromStart === true) await arm();
    await world.apply(accountFor(scenario, service.url));
    await operators.start({ kubeconfig: await plainKubeconfig(kubernetes.url), args: [`--artifact-root=${root}`] });
    await eventually("the account is ready", async () => {
      const account = await world.get("Account", "default");
      return condition(account, "Ready")?.status === "True";
    });
    await scenario.prepare?.(world);
    await eventually("every outcome is shown", async () => (await read()).open === 0);
    if (scenario.fromStart !== true) await arm();
    const failure = await scenario.act(world).then(
      () => "",
      (error: unknown) => String(error),
    );
    const end = failure === "" ? await waitUntilSettled() : { outcome: await read(), left: [] };
    await user.stop();
    const { outcome, left } = end;
    const found = [failure, ...left].filter((line) => line !== "").join("\n");
    const recorded = {
      writes: [...log.writes()],
      unknownOutcome: operators.unknownOutcome(),
      events: [...watches.events()],
    };
    return {
      outcome,
      ...recorded,
      reached: log.reached() || watches.missed(),
      ...user.help(),
      failure: found,
      log: operators.log(),
    };
  } finally {
    user.end();
    await operators.stop();
    await world.close();
    await Promise.all([kubernetes.close(), service.close()]);
    await rm(root, { recursive: true, force: true });
  }

  async function arm(): Promise<void> {
    const { metadata } = await world.kube.list(accountResource, { namespace: world.namespace });
    beginning = metadata.resourceVersion;
    log.arm();
    watches.arm();
  }

  async function waitUntilSettled(): Promise<{ outcome: Outcome; left: string[] }> {
    let outcome = await read();
    let left: string[] = [];
    let since = performance.now();
    const end = performance.now() + SETTLE_MS;
    while (performance.now() < end) {
      const now = await read();
      if (JSON.stringify(now) !== JSON.stringify(outcome)) since = performance.now();
      outcome = now;
      if (settled === undefined) {
        if (performance.now() - since > STILL_MS && outcome.open === 0) return { outcome, left: [] };
      } else {
        left = settled(outcome, user.help());
        if (left.length === 0) break;
      }
      await sleep(LOOK_MS);
    }
    return { outcome, left };
  }
}

const written = z.object({ metadata: z.object({ resourceVersion: z.string() }) });

/** The version of the cluster before a write, by the response to the write. */
function versionBefore(body: string): string | undefined {
  const response = written.safeParse(JSON.parse(body));
  return response.success ? String(BigInt(response.data.metadata.resourceVersion) - 1n) : undefined;
}

function accountFor({ account = {} }: Scenario, baseURL: string) {
  const spec = {
    baseURL,
    apiKeySecretRef: { name: "key", key: "apiKey" },
    rateLimit: { requestsPerSecond: 2000, burst: 2000 },
  };
  return { kind: "Account", metadata: { name: "default" }, spec: merged(spec, account) };
}
