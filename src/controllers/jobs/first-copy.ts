import type { AccountHandle } from "../account/registry.ts";
import { isOfBatch } from "./batch-owner.ts";
import { type Observation, type ObservationIn, type ObserveContext, type Observed, storeOf } from "./observations.ts";
import type { Copy, Job } from "./types.ts";

/** The copy of results that the status does not show yet. */
export function observeFirstCopy({ end, task: result }: Copy): ObservationIn<"Tracking"> {
  if (end === undefined) return { kind: "Copying", note: "" };
  return { kind: end.kind === "Stored" ? "Stored" : "ResultsToStore", results: end.results, result };
}

/** The results of a job of a batch are copied first. Undefined: not known yet. */
export function copiedFirst<T extends Job>(
  context: ObserveContext<T>,
  delivered: Observation<"ResultsToStore">,
  account: AccountHandle,
): Observed | undefined {
  const store = isOfBatch(context.job) ? storeOf(context) : undefined;
  if (store?.kind === "Checking") return undefined;
  if (store?.kind !== "Usable") return { observation: delivered, account };
  const { results, result } = delivered;
  return { observation: { kind: "NotCopying", results, result }, account, store };
}
