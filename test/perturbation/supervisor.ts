import { hasOpenRecord } from "../support/open-records.ts";
import { restartOperators } from "../support/restarted-operator.ts";
import type { World } from "../support/world.ts";
import type { WriteLog } from "./writes.ts";

/** Starts another operator when one was killed, and notes whether it left an unknown outcome. */
export function superviseOperators(world: World, log: WriteLog) {
  let unknown = false;
  const operators = restartOperators(world, async () => {
    log.release();
    unknown = await hasUnknownOutcome(world);
  });

  return {
    start: operators.start,
    kill: () => void operators.current()?.kill(),
    stop: operators.stop,
    unknownOutcome: () => unknown,
    log: operators.log,
  };
}

async function hasUnknownOutcome(world: World): Promise<boolean> {
  const jobs = [...(await world.list("SpeechJob")), ...(await world.list("VideoJob"))];
  return jobs.some(hasOpenRecord);
}
