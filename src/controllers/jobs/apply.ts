import type { ReconcileContext } from "../../runtime/controller.ts";
import { assertJournalStored } from "../controller-deps.ts";
import { releaseSlot, withdrawUnlessAsking } from "./admission.ts";
import { copyResults, keyOfResult } from "./copies.ts";
import type { Observed } from "./observe.ts";
import { taskRefresh } from "./refresh.ts";
import { submit } from "./submit.ts";
import type { Transition } from "./transitions.ts";
import type { Job, JobDeps } from "./types.ts";

/**
 * Does what a transition asks for: starts the paid request or the copy, which run beside the reconciles, or polls the task.
 * `job`: with the status of the transition.
 */
export async function apply<T extends Job>(
  deps: JobDeps<T>,
  job: T,
  { observed, transition }: { observed: Observed; transition: Transition },
  { signal }: ReconcileContext,
): Promise<void> {
  withdrawUnlessAsking(deps.shared.admission, job.metadata.uid, transition);
  if (transition.send !== undefined) startRequest(deps, job, observed, transition.send);
  if (transition.pollAfter !== undefined) deps.tasks.pollAfter(job, transition.pollAfter);
  if (transition.copy === true) await startCopy(deps, job, observed, signal);
}

function startRequest<T extends Job>(
  deps: JobDeps<T>,
  job: T,
  { account, store }: Observed,
  { request, intent }: NonNullable<Transition["send"]>,
): void {
  const { shared, running, adapter } = deps;
  if (account === undefined) throw new Error("a request needs an account");
  assertJournalStored(adapter.kind, "status.submission.journal", job.status?.submission?.journal, intent.journal);
  const target = store?.kind === "Usable" ? store.store : undefined;
  running.begin(
    job.metadata.uid,
    () => deps.wake(job),
    async (progress, signal) => {
      const answer = await submit(shared, {
        kind: adapter.kind,
        job,
        account,
        intent,
        request,
        openArtifact: target && ((type, maxBytes) => target.writer(keyOfResult(job, 0, type), { signal, maxBytes })),
        onSent: progress.sent,
        onFirstAudio: progress.firstAudio,
        signal,
      });
      if (answer.kind === "NotTaken") running.backOff(job.metadata.uid, answer.retryAfterMs);
      return answer;
    },
  );
}

export async function startCopy<T extends Job>(
  { shared, adapter, copies, wake }: JobDeps<T>,
  job: T,
  { account, store }: Observed,
  signal: AbortSignal,
): Promise<void> {
  if (store?.kind !== "Usable" || account === undefined) throw new Error("a copy needs a store and an account");
  await adapter.kind.setFinalizer(job, true, signal);
  copies.begin(
    job.metadata.uid,
    () => wake(job),
    (copy, ending) => {
      const refresh = taskRefresh(job, account);
      const route = { store: store.store, lookup: account.resultLookup, refresh, clock: shared.clock };
      return copyResults(job, route, copy, ending);
    },
  );
}

/** Forgets what the status shows by now: the journal entry, the response, the slot and the end of the copy. */
export function settle<T extends Job>(
  { shared, running, copies }: JobDeps<T>,
  uid: string,
  transition: Transition,
): void {
  const { settled, awaitsResponse, resetsBackoff, endsCopy } = transition;
  if (settled !== undefined) shared.journal.settle(settled.id);
  if (awaitsResponse !== true && running.find(uid)?.answer !== undefined) running.forget(uid);
  if (resetsBackoff === true) running.resetBackoff(uid);
  releaseSlot(shared.admission, uid, transition);
  if (endsCopy !== undefined) copies.forget(uid, endsCopy === "Failed");
}
