import { onTestFinished } from "vitest";
import { createStage, type Stage, type StageOptions } from "./stage.ts";

/** A stage of one test, with an operator. */
export async function startedStage(options: StageOptions = {}): Promise<Stage> {
  const stage = await createStage(options);
  onTestFinished(stage.end);
  stage.start();
  return stage;
}
