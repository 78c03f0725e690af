import type { Reason } from "../../api/v1alpha1/reasons.ts";

/** Why the service refused something for good, as the status shows it. */
export type Refusal = { reason: Reason; message: string };

/**
 * What the service refused a moment ago. A reconcile that nothing but our own status write asked for must not send the same
 * request again. A wish is a hash of what the spec asks for; another wish was not refused.
 */
export type Refusals = {
  find(uid: string, wish: string, now: number): { refusal: Refusal; againMs: number } | undefined;
  /** Not to be sent again before `until`, milliseconds since the epoch. */
  note(uid: string, wish: string, refusal: Refusal, until: number): void;
  forget(uid: string): void;
};

export function createRefusals(): Refusals {
  const known = new Map<string, { wish: string; refusal: Refusal; until: number }>();
  return {
    find(uid, wish, now) {
      const one = known.get(uid);
      if (one === undefined || one.wish !== wish || now >= one.until) return undefined;
      return { refusal: one.refusal, againMs: one.until - now };
    },
    note: (uid, wish, refusal, until) => void known.set(uid, { wish, refusal, until }),
    forget: (uid) => void known.delete(uid),
  };
}
