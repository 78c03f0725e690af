import type { TestContext } from "vitest";
import type { Operator, World } from "./world.ts";

type Options = Parameters<World["startOperator"]>[0];

export type RestartedOperators = {
  start(options?: Options): Promise<void>;
  /** The one that runs. */
  current(): Operator | undefined;
  /** No other operator starts. Waits for one that starts right now. */
  stop(): Promise<void>;
  /** Of all. */
  log(): string;
};

/** Starts another operator when one ends, as a kubelet does. `ended` is done before the next one starts. */
export function restartOperators(world: World, ended: () => Promise<void> = async () => {}): RestartedOperators {
  const logs: string[] = [];
  let operator: Operator | undefined;
  let stopped = false;
  let restarting: Promise<void> | undefined;

  async function start(options?: Options): Promise<void> {
    const started = await world.startOperator(options);
    operator = started;
    void started.exited.then((code) => {
      operator = undefined;
      logs.push(started.log(), `--- exit status ${code}`);
      if (!stopped) restarting = restart(options);
    });
  }

  async function restart(options: Options): Promise<void> {
    await ended();
    if (!stopped) await start(options);
  }

  return {
    start,
    current: () => operator,
    async stop() {
      stopped = true;
      await restarting;
    },
    log: () => [...logs, operator?.log() ?? ""].join("\n"),
  };
}

/**
 * An operator that starts again when it ends, as in a Deployment: on a busy machine it may lose its lease. A test that fails prints its
 * logs. Returns how to stop it.
 */
export async function startRestarted(
  { onTestFailed, onTestFinished }: Pick<TestContext, "onTestFailed" | "onTestFinished">,
  world: World,
  args: string[],
): Promise<() => Promise<void>> {
  const operators = restartOperators(world);
  onTestFinished(operators.stop);
  onTestFailed(() => console.log(operators.log()));
  await operators.start({ args });
  return async () => {
    await operators.stop();
    await operators.current()?.stop();
  };
}
