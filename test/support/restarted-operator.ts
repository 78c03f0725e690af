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
  const logs: string[] = [];
  let wanted = true;
  let operator: Operator;

  async function start(): Promise<void> {
    const started = await world.startOperator({ args });
    operator = started;
    void started.exited.then(async (code) => {
      logs.push(started.log(), `exit status ${code}`);
      if (wanted) await start();
    });
  }

  onTestFinished(() => {
    wanted = false;
  });
  onTestFailed(() => console.log([...logs, operator.log()].join("\n")));
  await start();
  return async () => {
    wanted = false;
    await operator.stop();
  };
}
