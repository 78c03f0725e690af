import type { Operator, World } from "../support/world.ts";
import { entriesOf } from "./outcome.ts";
import type { WriteLog } from "./writes.ts";

/** Starts another operator when one was killed, as a kubelet does. */
export function superviseOperators(world: World, log: WriteLog) {
  let operator: Operator | undefined;
  const all: Operator[] = [];
  let stopped = false;
  let unknown = false;
  let options: Parameters<World["startOperator"]>[0];

  async function start(given?: typeof options): Promise<void> {
    options = given ?? options;
    const started = await world.startOperator(options);
    operator = started;
    all.push(started);
    void started.exited.then(async () => {
      log.release();
      if (stopped) return;
      unknown = await hasUnknownOutcome(world);
      await start();
    });
  }
  return {
    start,
    kill: () => void operator?.kill(),
    stop: () => {
      stopped = true;
    },
    unknownOutcome: () => unknown,
    log: () => all.map((one) => one.log()).join("\n--- next operator\n"),
  };
}

async function hasUnknownOutcome(world: World): Promise<boolean> {
  const jobs = [...(await world.list("SpeechJob")), ...(await world.list("VideoJob"))];
  const entries = entriesOf(await world.list("ConfigMap"));
  return jobs.some(({ metadata, status }) => {
    const submission: unknown = status?.["submission"];
    const intended = typeof submission === "object" && submission !== null && "state" in submission;
    return (
      intended &&
      submission.state === "Intended" &&
      entries.some(({ uid, outcome }) => uid === metadata.uid && outcome === undefined)
    );
  });
}
