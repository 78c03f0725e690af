import type { Clock } from "../../base/clock.ts";
import { createSemaphore } from "../../base/semaphore.ts";
import { createBackoffs } from "../../runtime/backoff.ts";
import type { SpendingAdmission } from "../../submission/admission.ts";
import type { AccountKey } from "../account/registry.ts";
import type { Progress, RequestOutcome } from "./types.ts";

/** A paid request of this process, from its admission until its outcome is in the status. */
export type RunningRequest = {
  /** ms since the epoch. */
  since: number;
  /** The first byte has left. */
  sent: boolean;
  firstAudioMs?: number;
  /** The request waits until its artifact is open. */
  opens?: boolean;
  answer?: RequestOutcome;
};

/**
 * The paid requests under way, by the UID of their job. They run beside the reconciles, so that neither a long rate limit
 * nor a stream of 20 minutes occupies a worker.
 */
export type RunningRequests = {
  find(uid: string): RunningRequest | undefined;
  /**
   * Runs the request of an admitted job. `wake` is called when the status has something to show or to record. `run` never
   * rejects; its signal aborts at the end of the process. It is aborted from the beginning once `drain` has been called.
   */
  begin(uid: string, wake: () => void, run: (progress: Progress, signal: AbortSignal) => Promise<RequestOutcome>): void;
  /**
   * Whether the body of a job's request fits into the memory for all bodies under way, and takes its place there. Small bodies always do.
   * False: `wake` is called when there may be room. The place is free again after the answer, or with `vacate`.
   */
  fits(uid: string, body: { account: AccountKey; characters: number }, wake: () => void): boolean;
  /** The request is not sent now. Without effect while it is under way. */
  vacate(uid: string): void;
  /** The outcome is in the status, or there is no status to show it in. */
  forget(uid: string): void;
  /** Until when a job that was turned away must wait, ms since the epoch. */
  backoffUntil(uid: string): number | undefined;
  /**
   * Makes a job wait before its next request: 1 s doubled with each call, at most 5 min, or `retryAfterMs` if that is longer. Returns
   * until when.
   */
  backOff(uid: string, retryAfterMs: number | undefined): number;
  /** The next backoff of the job starts at 1 s again. */
  resetBackoff(uid: string): void;
  /**
   * Admits no more jobs, withdraws the requests of which no byte has left, also those that begin later, and waits until every
   * outcome is in the status, at most 30 s after the last response: a request whose outcome is not written by then counts as unknown.
   * When `deadline` aborts, the requests under way are aborted: their outcome is unknown.
   */
  drain(deadline: AbortSignal): Promise<void>;
};

type RunningRequestsOptions = {
  clock: Clock;
  random: () => number;
  admission: Pick<SpendingAdmission, "began" | "opening" | "sent" | "stop">;
};

const BACKOFF = { baseMs: 1_000, capMs: 5 * 60_000, jitter: 0.4 };
/** Time to write the outcomes to the statuses at a stop, after the last request has ended. */
const LAST_WRITES_MS = 30_000;
/** The same after the stop deadline. */
const LATE_WRITES_MS = 2_000;

export function createRunningRequests({ clock, random, admission }: RunningRequestsOptions): RunningRequests {
  const requests = new Map<string, RunningRequest>();
  const backoffs = createBackoffs(clock, { ...BACKOFF, random });
  /** Requests without a response. Each has a signal of its own, whose listeners end with the request. */
  const unanswered = new Map<RunningRequest, { ending: AbortController; ended: Promise<void> }>();
  const onEmpty = new Set<() => void>();
  const bodies = createBodyMemory();
  let draining = false;

  return {
    find: (uid) => requests.get(uid),
    fits: bodies.fits,
    vacate(uid) {
      const request = requests.get(uid);
      if (request === undefined || request.answer !== undefined) bodies.vacate(uid);
    },
    begin(uid, wake, run) {
      const request: RunningRequest = { since: clock.now(), sent: false };
      const ending = new AbortController();
      requests.set(uid, request);
      // A reconcile under way can have been admitted before. Nobody waits for its request once the drain is over.
      if (draining) ending.abort(stopping());
      admission.began(uid);
      const progress: Progress = {
        opening(opens) {
          request.opens = opens;
          if (opens) admission.opening(uid);
          else admission.began(uid);
        },
        sent() {
          request.sent = true;
          admission.sent(uid);
        },
        firstAudio(ms) {
          request.firstAudioMs = ms;
          wake();
        },
      };
      const ended = run(progress, ending.signal).then((answer) => {
        request.answer = answer;
        bodies.vacate(uid);
        unanswered.delete(request);
        wake();
      });
      unanswered.set(request, { ending, ended });
    },
    forget(uid) {
      requests.delete(uid);
      if (requests.size === 0) for (const resolve of onEmpty) resolve();
    },
    backoffUntil: backoffs.until,
    backOff: backoffs.fail,
    resetBackoff: backoffs.reset,
    async drain(deadline) {
      draining = true;
      admission.stop();
      if (requests.size === 0) return;
      // A waiting request would be sent during the stop, or delay it until the deadline.
      for (const [{ sent }, { ending }] of unanswered) if (!sent) ending.abort(stopping());
      const answered = Promise.all([...unanswered.values()].map(({ ended }) => ended));
      await new Promise<void>((resolve) => {
        onEmpty.add(resolve);
        const resolveIn = (ms: number) => onEmpty.add(clock.setTimeout(resolve, ms));
        const end = () => {
          for (const { ending } of unanswered.values()) ending.abort(deadline.reason);
          resolveIn(LATE_WRITES_MS);
        };
        void answered.then(() => resolveIn(LAST_WRITES_MS));
        if (deadline.aborted) end();
        else deadline.addEventListener("abort", end, { once: true });
      });
    },
  };
}

const stopping = () => new Error("the operator is stopping");

// The bodies of the requests

/** Characters of all bodies under way. A character takes one or two bytes, in up to three copies. */
const CAPACITY = 16 * 1024 * 1024;
/** Of one account, so that a service that answers slowly does not hold up the others. */
const PER_ACCOUNT = CAPACITY / 4;
/** A smaller body takes no place. */
const SMALL = 16 * 1024;

export type Body = { account: AccountKey; characters: number };

/** The memory for the bodies of paid requests, of all accounts together. */
export function createBodyMemory() {
  const memory = createSemaphore({ capacity: CAPACITY, perGroup: PER_ACCOUNT });
  /** Releases the memory of a body, by UID. */
  const held = new Map<string, () => void>();
  /** By UID, in the order in which they asked. */
  const waiting = new Map<string, () => void>();

  return {
    /** Whether the body may be kept. False: `wake` is called, once, when another one is gone. */
    fits(uid: string, { account, characters }: Body, wake: () => void): boolean {
      waiting.delete(uid);
      held.get(uid)?.();
      held.delete(uid);
      if (characters <= SMALL) return true;
      const release = memory.tryTake(account, characters);
      if (release === undefined) waiting.set(uid, wake);
      else held.set(uid, release);
      return release !== undefined;
    },
    vacate(uid: string): void {
      held.get(uid)?.();
      if (!held.delete(uid)) return;
      const wakes = [...waiting.values()];
      waiting.clear();
      for (const wake of wakes) wake();
    },
  };
}
