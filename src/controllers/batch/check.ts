import { manifestProblems } from "../../api/manifest/manifest-problems.ts";
import type { MediaBatch } from "../../api/v1alpha1/media-batch.ts";
import type { Operation } from "../../provider/operations.ts";
import type { AccountHandle } from "../account/registry.ts";
import { speechRequest } from "../jobs/requests/speech.ts";
import { videoWork } from "../jobs/requests/video.ts";
import { InvalidJobError, type Job, type PaidRequest } from "../jobs/types.ts";
import { readerWithout, StalledError } from "../references.ts";
import { messageOf } from "../verdict.ts";
import { childOf, reservedField } from "./child.ts";
import type { CheckedItems, Item } from "./items.ts";

/** What all items ask for, by operation, in characters or seconds. */
export type Quantities = Map<Operation, number>;

/** Problems of one item that a message lists. */
const SHOWN = 2;

/** The text is somewhere else: it is read when its job is prepared, and judged then. */
const LATER = readerWithout(new StalledError("Pending", "not read yet"));

/**
 * Why the job of an item would be refused, by its kind or by what the account takes. Adds what the item asks for to `quantities`.
 * Undefined: it would not be refused.
 */
export async function itemProblem(
  batch: MediaBatch,
  item: Item,
  account: Pick<AccountHandle, "maxSpeechCharacters">,
  quantities: Quantities,
): Promise<string | undefined> {
  const reserved = reservedField(item);
  if (reserved !== undefined) return reserved;
  const child = childOf(batch, item);
  const problems = manifestProblems(child) ?? [];
  if (problems.length > 0) {
    const shown = problems.slice(0, SHOWN).map(({ path: [, ...path], message }) => {
      return path.length === 0 ? message : `${path.join(".")}: ${message}`;
    });
    return [...shown, ...(problems.length > SHOWN ? [`and ${problems.length - SHOWN} more`] : [])].join("; ");
  }
  try {
    const { operation, consumption } = await workOf(child as unknown as Job, account);
    quantities.set(operation, (quantities.get(operation) ?? 0) + consumption.quantity);
    return undefined;
  } catch (error) {
    if (error instanceof StalledError) return undefined;
    if (error instanceof InvalidJobError) return messageOf(error);
    throw error;
  }
}

/** @throws InvalidJobError; StalledError when its text is somewhere else */
async function workOf(
  job: Job,
  account: Pick<AccountHandle, "maxSpeechCharacters">,
): Promise<Pick<PaidRequest, "operation" | "consumption">> {
  return "model" in job.spec
    ? speechRequest({ ...job, spec: job.spec }, account, LATER)
    : videoWork({ ...job, spec: job.spec });
}

/** The first problems in one message. */
export function problemsText({ problems, count }: Extract<CheckedItems, { kind: "Bad" }>): string {
  const shown = problems.map(({ line, message }) => `line ${line}: ${message}`);
  const others = count > problems.length ? [`and ${count - problems.length} more`] : [];
  return [...shown, ...others].join("; ");
}
