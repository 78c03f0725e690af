import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../../../src/simulator/random.ts";
import { eventually, type Operator, type World } from "../../support/world.ts";

/** The operators of a run, one after the other. */
export type Operators = {
  start(): Promise<void>;
  /** Since when one works, in ms since the epoch; undefined: none does. */
  upSince(): number | undefined;
  /** Lists of endpoints that failed so far. */
  failedLists(): number;
  logs(): string[];
  /** Kills and restarts the operator `kills` times within `withinMs`. */
  killAtRandom(plan: { kills: number; withinMs: number }, random: Random): Promise<void>;
  /** `slowestMs`: how long the service works on a request before it logs it, or the operator on its response. */
  kills(slowestMs: number): Kills;
};

export type Kills = {
  /**
   * Whether a kill may have interrupted a request that the service logged at `at` (ms since the epoch), before its outcome was
   * recorded. A request that the service has not logged may have been interrupted by any kill.
   */
  interrupted(at: number | undefined): boolean;
};

/** From the request to the service's log, and from the log to the operator's record of the response. */
const DELIVERY_MS = 2_000;

export function createOperators(world: World, artifactRoot: string): Operators {
  let operator: Operator | undefined;
  const all: Operator[] = [];
  const killedAt: number[] = [];
  let workingSince: number | undefined;

  async function start(): Promise<void> {
    const started = await world.startOperator({ args: [`--artifact-root=${artifactRoot}`, "--log-level=info"] });
    operator = started;
    all.push(started);
    await eventually("the operator works", async () => started.log().includes("controllers started"));
    workingSince = Date.now();
  }

  return {
    start,
    upSince: () => workingSince,
    failedLists: () =>
      all.reduce((sum, one) => sum + one.log().split('"msg":"endpoints could not be listed"').length - 1, 0),
    logs: () => all.map(({ log }) => log()),
    async killAtRandom({ kills, withinMs }, random) {
      for (let kill = 0; kill < kills; kill++) {
        await sleep((withinMs / (kills + 1)) * (0.5 + random.next()));
        workingSince = undefined;
        killedAt.push(Date.now());
        await operator?.kill();
        await start();
      }
    },
    kills: (slowestMs) => ({
      interrupted: (at) => killedAt.some((kill) => at === undefined || Math.abs(kill - at) < slowestMs + DELIVERY_MS),
    }),
  };
}
