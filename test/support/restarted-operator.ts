import type { TestContext } from "vitest";
import type { Operator, World } from "./world.ts";

/**
 * An operator that starts again when it ends, as in a Deployment: on a busy machine it may lose its lease. A test that fails prints its
 * logs. Returns how to stop it.
 */
export async function startRestarted(
  { onTestFailed, onTestFinished }: Pick<TestContext, "onTestFailed" | "onTestFinished">,
  world: World,
  args: string[],
): Promise<() => Promise<void>> {
  const all: Operator[] = [];
  let stopped = false;
  let restarting: Promise<void> | undefined;

  async function start(): Promise<void> {
    const started = await world.startOperator({ args });
    all.push(started);
    void started.exited.then(() => {
      if (!stopped) restarting = start();
    });
  }

  /** Waits for one that starts right now. */
  async function noMore(): Promise<void> {
    stopped = true;
    await restarting;
  }

  onTestFinished(noMore);
  onTestFailed(() => console.log(all.map((one) => one.log()).join("\n--- next operator\n")));
  await start();
  return async () => {
    await noMore();
    await all.at(-1)?.stop();
  };
}
