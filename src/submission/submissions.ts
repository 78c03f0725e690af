import type { Clock } from "../clock.ts";
import type { Answer } from "../controllers/jobs/submit.ts";
import { backoffDelay } from "../runtime/backoff.ts";

/** A paid request of this process, from its turn at the rate limit until its outcome stands in the status. */
export type Submission = {
  /** ms since the epoch. */
  since: number;
  sent: boolean;
  firstAudioMs?: number;
  answer?: Answer;
};

export type Progress = { sent(): void; firstAudio(ms: number): void };

/**
 * The paid requests that are under way. They run beside the reconciles, so that neither a long rate limit nor a stream of twenty
 * minutes keeps a worker from writing down what others have come to.
 */
export type Submissions = {
  find(uid: string): Submission | undefined;
  /**
   * Whether a request of this account may begin. Otherwise the job stands in line, in order of asking, and `wake` is called when it
   * is its turn.
   */
  admit(account: string, uid: string, wake: () => void): boolean;
  /** Runs it; `wake` is called when there is something to show or to write down. `run` never rejects. */
  begin(
    account: string,
    uid: string,
    wake: () => void,
    run: (progress: Progress, signal: AbortSignal) => Promise<Answer>,
  ): void;
  /** The outcome stands in the status, or there is nobody to show it to. */
  forget(uid: string): void;
  /** Nothing more is to be sent for the job: neither its rest nor its place in line is kept. */
  release(uid: string): void;
  /** The job does not want to begin now, or is gone: the next one may. */
  leave(uid: string): void;
  /** When a job that the service turned away for now may ask again, ms since the epoch. */
  restingUntil(uid: string): number | undefined;
  /** Makes a job rest: for `retryAfterMs`, or for a time that grows with each time. Returns until when. */
  rest(uid: string, retryAfterMs: number | undefined): number;
  /** Begins nothing more and waits until every outcome is written down; what is still on its way when `deadline` aborts becomes unknown. */
  drain(deadline: AbortSignal): Promise<void>;
};

/** Requests of an account that wait for its rate limit; polls wait there too and must not stand behind thousands. */
const WAITING_AT_MOST = 16;
/** Requests of an account that are under way; each holds its text and a connection. */
const UNDER_WAY_AT_MOST = 256;
const REST = { baseMs: 1_000, capMs: 5 * 60_000, jitter: 0.4 };

type Line = { waiting: Set<string>; underWay: Set<string>; inLine: Map<string, () => void>; woken: Set<string> };

export function createSubmissions({ clock, random }: { clock: Clock; random: () => number }): Submissions {
  const submissions = new Map<string, Submission>();
  const lines = new Map<string, Line>();
  const lineOf = new Map<string, Line>();
  const rests = new Map<string, { failures: number; until: number }>();
  const ending = new AbortController();
  const empty = new Set<() => void>();
  let draining = false;

  function line(account: string): Line {
    const known = lines.get(account) ?? {
      waiting: new Set(),
      underWay: new Set(),
      inLine: new Map(),
      woken: new Set(),
    };
    lines.set(account, known);
    return known;
  }

  const free = ({ waiting, underWay, woken }: Line): number =>
    draining ? 0 : Math.min(WAITING_AT_MOST - waiting.size, UNDER_WAY_AT_MOST - underWay.size) - woken.size;

  /** Calls as many as there is room for, those first that have waited longest. */
  function callNext(one: Line): void {
    for (const [uid, wake] of one.inLine) {
      if (free(one) <= 0) return;
      one.inLine.delete(uid);
      one.woken.add(uid);
      wake();
    }
  }

  function leave(uid: string): void {
    const one = lineOf.get(uid);
    if (one === undefined || submissions.has(uid)) return;
    lineOf.delete(uid);
    one.inLine.delete(uid);
    if (one.woken.delete(uid)) callNext(one);
  }

  return {
    find: (uid) => submissions.get(uid),
    admit(account, uid, wake) {
      const one = line(account);
      lineOf.set(uid, one);
      if (draining) return false;
      if (one.woken.delete(uid) || (free(one) > 0 && one.inLine.size === 0)) {
        one.inLine.delete(uid);
        one.woken.add(uid); // keeps its place until `begin`
        return true;
      }
      if (!one.inLine.has(uid)) one.inLine.set(uid, wake);
      callNext(one);
      return false;
    },
    begin(account, uid, wake, run) {
      const one = line(account);
      const submission: Submission = { since: clock.now(), sent: false };
      submissions.set(uid, submission);
      one.woken.delete(uid);
      one.inLine.delete(uid);
      one.waiting.add(uid);
      one.underWay.add(uid);
      const progress: Progress = {
        sent() {
          submission.sent = true;
          one.waiting.delete(uid);
          callNext(one);
        },
        firstAudio(ms) {
          submission.firstAudioMs = ms;
          wake();
        },
      };
      void run(progress, ending.signal).then((answer) => {
        submission.answer = answer;
        one.waiting.delete(uid);
        one.underWay.delete(uid);
        callNext(one);
        wake();
      });
    },
    forget(uid) {
      submissions.delete(uid);
      if (submissions.size === 0) for (const tell of empty) tell();
    },
    leave,
    release(uid) {
      rests.delete(uid);
      leave(uid);
    },
    restingUntil: (uid) => rests.get(uid)?.until,
    rest(uid, retryAfterMs) {
      const failures = (rests.get(uid)?.failures ?? 0) + 1;
      const until = clock.now() + Math.ceil(retryAfterMs ?? backoffDelay(failures, { ...REST, random }));
      rests.set(uid, { failures, until });
      return until;
    },
    async drain(deadline) {
      draining = true;
      if (submissions.size === 0) return;
      await new Promise<void>((resolve) => {
        empty.add(resolve);
        const end = () => {
          ending.abort(deadline.reason);
          clock.setTimeout(resolve, WRITE_DOWN_MS);
        };
        if (deadline.aborted) end();
        else deadline.addEventListener("abort", end, { once: true });
      });
    },
  };
}

/** What became unknown at the last moment still goes into the status. */
const WRITE_DOWN_MS = 2_000;
