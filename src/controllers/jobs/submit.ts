import type { ArtifactStoreHandle, ArtifactWriter } from "../../artifacts/types.ts";
import { keyOf } from "../../kube/types.ts";
import { compact } from "../../runtime/store.ts";
import type { RecordedObject } from "../../submission/store-record.ts";
import { submitOnce } from "../../submission/submit-once.ts";
import { type AccountHandle, boundTo } from "../account/registry.ts";
import type { ControllerDeps, Kind } from "../controller-deps.ts";
import { assertMaySubmit } from "../wanted.ts";
import { keyOfResult } from "./copy-results.ts";
import type { JobDeps } from "./deps.ts";
import type { Observed } from "./observations.ts";
import { outcomeOf } from "./outcome.ts";
import { type Step, showRecord } from "./steps.ts";
import type { Transition } from "./transitions.ts";
import type { Accepted, Job, JobStatus, PaidRequest, Progress, RequestOutcome, SendContext } from "./types.ts";

export type SubmitOptions<T extends Job> = {
  kind: Kind<T>;
  job: T;
  account: AccountHandle;
  attempt: number;
  request: PaidRequest;
  write: WriteRecord<T>;
  openArtifact: SendContext["openArtifact"];
  progress: Pick<Progress, "sent" | "firstAudio">;
  signal: AbortSignal;
};

/** Writes the step that shows the record of a request to the status of a job. `job`: the stored object. */
export type WriteRecord<T extends Job> = (job: T, step: Step, signal: AbortSignal) => Promise<T>;

type Start<T extends Job> = NonNullable<Transition["send"]> & Pick<SubmitOptions<T>, "write">;

/** Starts the paid request of a transition, which runs beside the reconciles. */
export function startRequest<T extends Job>(
  deps: JobDeps<T>,
  job: T,
  { account, store }: Observed,
  { request, attempt, write }: Start<T>,
): void {
  const { shared, running, adapter } = deps;
  if (account === undefined) throw new Error("a request needs an account");
  const target = store?.kind === "Usable" ? store.store : undefined;
  running.begin(
    job.metadata.uid,
    () => deps.wake(job),
    async (progress, signal) => {
      const answer = await submit(shared, {
        kind: adapter.kind,
        job,
        account,
        attempt,
        request,
        write,
        openArtifact:
          target && ((type, maxBytes) => opened(target, keyOfResult(job, 0, type), { signal, maxBytes, progress })),
        progress,
        signal,
      });
      if (answer.kind === "NotTaken") running.backOff(job.metadata.uid, answer.retryAfterMs);
      return answer;
    },
  );
}

/** The writers of all accounts share a pool of memory. A request that waits for it does not wait for its account's rate limit. */
async function opened(
  store: Pick<ArtifactStoreHandle, "writer">,
  key: string,
  { progress, ...options }: Parameters<ArtifactStoreHandle["writer"]>[1] & { progress: Progress },
): Promise<ArtifactWriter> {
  progress.opening(true);
  try {
    return await store.writer(key, options);
  } finally {
    progress.opening(false);
  }
}

/** Sends one paid request at most once (submitOnce). */
export async function submit<T extends Job>(
  shared: ControllerDeps,
  options: SubmitOptions<T>,
): Promise<RequestOutcome> {
  const { kind, job, request, account, attempt } = options;
  const result = await submitOnce<T, Accepted>(shared, {
    uid: job.metadata.uid,
    attempt,
    operation: request.operation,
    specHash: account.digest(request.body),
    account: boundTo(account),
    keyVersion: account.keyVersion,
    object: recordedJob(options),
    assertWanted: () => assertMaySubmit(shared, { kind, object: job, account }),
    send: (sendOptions) =>
      request.send({
        session: account,
        options: { ...sendOptions, group: job.metadata.namespace },
        clock: shared.clock,
        openArtifact: options.openArtifact,
        progress: options.progress,
      }),
    onSent: options.progress.sent,
    signal: options.signal,
  });
  return outcomeOf(shared, { kind: kind.resource.kind, account }, result);
}

/** The status has the record, unless it shows another request by now. */
function recordedJob<T extends Job>({ kind, job, request, write }: SubmitOptions<T>): RecordedObject<T> {
  const { resource, store } = kind;
  return {
    resource,
    latest: () => store.get(keyOf(job)),
    write: (object, record, signal) => write(object, showRecord(record, request), signal),
    shown: ({ status }) => status?.submission,
    mayWrite: ({ metadata, status }) =>
      metadata.uid === job.metadata.uid && !isFinished(status) && isSameSubmission(status, job.status),
    onRead: (object) => void store.observeWrite(compact(object)),
  };
}

const isFinished = (status: JobStatus | undefined) => status?.phase === "Succeeded" || status?.phase === "Failed";

/** Whether no other request was recorded since. */
function isSameSubmission(
  { submission: one }: Partial<JobStatus> = {},
  { submission: other }: Partial<JobStatus> = {},
) {
  return one?.id === other?.id && one?.state === other?.state;
}
