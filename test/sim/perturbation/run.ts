import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasOpenRecord } from "../../support/open-records.ts";
import { condition } from "../../support/world.ts";
import type { OperatorProcess } from "../operator/process.ts";
import { createStage, type Stage } from "../stage/stage.ts";
import { type Outcome, readOutcome } from "./outcome.ts";
import { createPoints, type Perturbation, type Point, type Write } from "./points.ts";
import type { Scenario } from "./scenario.ts";
import { createUser, type Help } from "./user.ts";

export type Run = Help & {
  outcome: Outcome;
  writes: readonly Write[];
  /** When the operator died, a status showed a request without its outcome. */
  unknownOutcome: boolean;
  /** The events of the operator's watches. */
  events: readonly Point[];
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
const RESTART_MS = 1_000;

/**
 * Runs a scenario on a stage of its own. At a crash point, the operator dies and another one starts.
 * @param settled what is left until the run is over; without it, the run is over when nothing changes any more
 */
export async function runScenario(
  scenario: Scenario,
  perturbation: Perturbation = {},
  settled?: Settled,
): Promise<Run> {
  const root = await mkdtemp(join(tmpdir(), "mooring-perturbation-"));
  const stage = await createStage({
    ...(scenario.simulator === undefined ? {} : { simulator: scenario.simulator }),
    account: scenario.account ?? {},
    artifactRoot: root,
  });
  let operator: OperatorProcess | undefined;
  let unknownOutcome = false;
  const points = createPoints(stage, perturbation, () => {
    operator?.kill();
    stage.scheduler.after(RESTART_MS, () => void restart());
  });
  const user = createUser(stage);
  const read = () => readOutcome(stage, root, scenario.ignores);
  try {
    if (scenario.fromStart === true) points.arm();
    operator = stage.start(points.hooks);
    await stage.eventually("the account is ready", async () => {
      const account = await stage.get("Account", "default");
      return condition(account, "Ready")?.status === "True";
    });
    await scenario.prepare?.(stage);
    await stage.eventually("every outcome is shown", async () => (await read()).open === 0);
    if (scenario.fromStart !== true) points.arm();
    const failure = await scenario.act(stage).then(
      () => "",
      (error: unknown) => String(error),
    );
    const { outcome, left } =
      failure === "" ? await untilSettled(stage, read, settled && ((now) => settled(now, user.help()))) : await ended();
    await user.stop();
    return {
      outcome,
      writes: points.writes(),
      unknownOutcome,
      events: points.events(),
      reached: points.isReached(),
      ...user.help(),
      failure: [failure, ...left, ...stage.exits()].filter((line) => line !== "").join("\n"),
      log: stage.log(),
    };
  } finally {
    await stage.end();
    await rm(root, { recursive: true, force: true });
  }

  async function restart(): Promise<void> {
    const jobs = [...(await stage.list("SpeechJob")), ...(await stage.list("VideoJob"))];
    unknownOutcome = jobs.some(hasOpenRecord);
    points.restarted();
    operator = stage.start(points.hooks);
  }

  async function ended() {
    return { outcome: await read(), left: [] };
  }
}

async function untilSettled(
  stage: Stage,
  read: () => Promise<Outcome>,
  leftOf: ((outcome: Outcome) => string[]) | undefined,
): Promise<{ outcome: Outcome; left: string[] }> {
  const { now } = stage.scheduler;
  let outcome = await read();
  let left: string[] = [];
  let since = now();
  for (const end = now() + SETTLE_MS; now() < end; await stage.pass(LOOK_MS)) {
    const current = await read();
    if (JSON.stringify(current) !== JSON.stringify(outcome)) since = now();
    outcome = current;
    left = leftOf?.(outcome) ?? [];
    if (leftOf === undefined ? now() - since > STILL_MS && outcome.open === 0 : left.length === 0) break;
  }
  return { outcome, left };
}
