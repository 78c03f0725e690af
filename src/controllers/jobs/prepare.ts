import { specProblem } from "../../api/v1alpha1/spec-problem.ts";
import { ArtifactError } from "../../artifacts/errors.ts";
import type { AccountHandle } from "../account/registry.ts";
import type { ResolvedStore } from "../artifact-store/registry.ts";
import { createValueReader, MissingReferenceError } from "../references.ts";
import { verdictOf } from "../verdict.ts";
import { longestKeyOf } from "./copies.ts";
import type { Observation, ObserveContext } from "./observations.ts";
import { InvalidJobError, type Job, type PaidRequest } from "./types.ts";

type StoreInUse = Extract<ResolvedStore, { kind: "Usable" }> | undefined;

/** The paid request of a job, checked against its spec, its store and what it refers to. */
export async function prepare<T extends Job>(
  { deps, job, signal }: ObserveContext<T>,
  account: AccountHandle,
  store: StoreInUse,
): Promise<{ kind: "Prepared"; request: PaidRequest } | Observation<"InvalidSpec" | "Blocked">> {
  try {
    const problem = specProblem(deps.adapter.kind.resource, job.spec);
    if (problem !== undefined) throw new InvalidJobError(problem);
    checkResultKey(job, store);
    const reader = createValueReader(deps.shared.kube, signal);
    return { kind: "Prepared", request: await deps.adapter.prepare(job, account, reader) };
  } catch (error) {
    if (error instanceof InvalidJobError) return { kind: "InvalidSpec", reason: "InvalidSpec", message: error.message };
    const verdict = error instanceof MissingReferenceError ? verdictOf(error) : undefined;
    if (verdict?.kind !== "Stalled") throw error;
    const { reason, message, againMs } = verdict;
    return { kind: "Blocked", reason, message, stalled: true, ...(againMs === undefined ? {} : { againMs }) };
  }
}

/** A result that cannot be stored is not paid for. @throws InvalidJobError */
function checkResultKey(job: Job, store: StoreInUse): void {
  if (store === undefined) return;
  try {
    store.store.checkKey(longestKeyOf(job));
  } catch (error) {
    if (!(error instanceof ArtifactError)) throw error;
    throw new InvalidJobError(`output.prefix: ${error.message}: change output.prefix or the prefix of the store`);
  }
}
