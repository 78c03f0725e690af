import type { Clock } from "../clock.ts";
import { createBackoffs } from "../runtime/backoff.ts";
import type { SpendingAdmission } from "./admission.ts";

/** A paid request of this process, from its admission until its outcome is in the status. */
export type RunningRequest<A> = {
  /** ms since the epoch. */
  since: number;
  /** The first byte has left. */
  sent: boolean;
  firstAudioMs?: number;
  answer?: A;
};

export type Progress = { sent(): void; firstAudio(ms: number): void };

/**
 * The paid requests under way, by the UID of their job. They run beside the reconciles, so that neither a long rate limit
 * nor a stream of 20 minutes keeps a worker from other jobs.
 */
export type RunningRequests<A> = {
  find(uid: string): RunningRequest<A> | undefined;
  /**
   * Runs the request of an admitted job. `wake` is called when the status has something to show or to record. `run` never
   * rejects; its signal aborts at the end of the process.
   */
  begin(uid: string, wake: () => void, run: (progress: Progress, signal: AbortSignal) => Promise<A>): void;
  /** The outcome is in the status, or there is no status to show it in. */
  forget(uid: string): void;
  /** Until when a job that was turned away must wait, ms since the epoch. */
  backoffUntil(uid: string): number | undefined;
  /**
   * Makes a job wait before its next request: for `retryAfterMs`, or 1 s doubled with each call, at most 5 min. Returns
   * until when.
   */
  backOff(uid: string, retryAfterMs: number | undefined): number;
  /** The next backoff of the job starts at 1 s again. */
  resetBackoff(uid: string): void;
  /**
   * Admits no more jobs, withdraws the requests of which no byte has left, and waits until every outcome is in the status.
   * When `deadline` aborts, the requests under way are aborted: their outcome is unknown.
   */
  drain(deadline: AbortSignal): Promise<void>;
};

export type RunningRequestsOptions = {
  clock: Clock;
  random: () => number;
  admission: Pick<SpendingAdmission, "began" | "sent" | "answered" | "stop">;
};

const BACKOFF = { baseMs: 1_000, capMs: 5 * 60_000, jitter: 0.4 };
/** Time to write the outcomes of aborted requests to the statuses. */
const LAST_WRITES_MS = 2_000;

export function createRunningRequests<A>({ clock, random, admission }: RunningRequestsOptions): RunningRequests<A> {
  const requests = new Map<string, RunningRequest<A>>();
  const backoffs = createBackoffs(clock, { ...BACKOFF, random });
  /** Requests without an answer. Each has a signal of its own: what listens to it goes with the request. */
  const unanswered = new Map<RunningRequest<A>, AbortController>();
  const onEmpty = new Set<() => void>();

  return {
    find: (uid) => requests.get(uid),
    begin(uid, wake, run) {
      const request: RunningRequest<A> = { since: clock.now(), sent: false };
      const ending = new AbortController();
      requests.set(uid, request);
      unanswered.set(request, ending);
      admission.began(uid);
      const progress: Progress = {
        sent() {
          request.sent = true;
          admission.sent(uid);
        },
        firstAudio(ms) {
          request.firstAudioMs = ms;
          wake();
        },
      };
      void run(progress, ending.signal).then((answer) => {
        request.answer = answer;
        unanswered.delete(request);
        admission.answered(uid);
        wake();
      });
    },
    forget(uid) {
      requests.delete(uid);
      if (requests.size === 0) for (const resolve of onEmpty) resolve();
    },
    backoffUntil: backoffs.until,
    backOff: backoffs.fail,
    resetBackoff: backoffs.reset,
    async drain(deadline) {
      admission.stop();
      if (requests.size === 0) return;
      // A request that waits for its turn would be sent during the stop, or hold it up until the deadline.
      for (const [{ sent }, ending] of unanswered) if (!sent) ending.abort(new Error("the operator is stopping"));
      await new Promise<void>((resolve) => {
        onEmpty.add(resolve);
        const end = () => {
          for (const ending of unanswered.values()) ending.abort(deadline.reason);
          clock.setTimeout(resolve, LAST_WRITES_MS);
        };
        if (deadline.aborted) end();
        else deadline.addEventListener("abort", end, { once: true });
      });
    },
  };
}
