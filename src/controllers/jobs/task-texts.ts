import type { TaskResult } from "../../provider/tasks/task-result.ts";
import type { TaskObservation } from "../../provider/types.ts";
import { createSanitizer } from "../../text/sanitizer.ts";
import { MissingReferenceError } from "../references.ts";

/** Longest texts of a task in the status, in characters (job.ts). */
const LIMITS = { reason: 8192, word: 256 };
/** Words that the service uses for a status or a type. They quote nothing. */
const CONSTANT = /^[A-Z][A-Z0-9_]*$|^$/;

/**
 * What a poll shows, without values of Secrets that the service quotes. `secrets` is read only for a text that can quote one.
 * When the values cannot be read any more, the text is left out.
 */
export async function withoutSecrets(
  polled: TaskObservation | undefined,
  secrets: () => Promise<readonly string[]>,
): Promise<TaskObservation | undefined> {
  if (polled === undefined || quotesNothing(polled.result)) return polled;
  try {
    const hidden = await secrets();
    return hidden.length === 0 ? polled : withTexts(polled, createSanitizer({ hidden }));
  } catch (error) {
    if (!(error instanceof MissingReferenceError)) throw error;
    return withTexts(polled, (text) => (CONSTANT.test(text) ? text : "(hidden)"));
  }
}

function quotesNothing({ task }: TaskResult): boolean {
  return task.reason === "" && CONSTANT.test(task.status) && CONSTANT.test(task.taskType);
}

function withTexts({ result, at }: TaskObservation, shown: (text: string, limit: number) => string): TaskObservation {
  const { task } = result;
  const texts = {
    reason: shown(task.reason, LIMITS.reason),
    status: shown(task.status, LIMITS.word),
    taskType: shown(task.taskType, LIMITS.word),
  };
  return { at, result: { ...result, task: { ...task, ...texts } } };
}
