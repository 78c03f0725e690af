import type { CoreRequest } from "../../../src/simulator/core.ts";
import type { Storage } from "../api-server/storage.ts";
import type { Response } from "../network/exchange.ts";
import { serialIn } from "../scenario/manifests.ts";
import type { Judge } from "./violation.ts";

/** Judges when a process sends again what the service refused. */
export type BackoffWatch = {
  sent(identity: string, request: CoreRequest): void;
  /** `undefined`: there is no response. */
  ended(identity: string, request: CoreRequest, response: Response | undefined): void;
};

type Refused = { times: number; at: number; notBefore: number };

/** The pause of an operation of an account in one process: when it ends at the earliest and at the latest, and the 429s in a row. */
type Pause = { earliest: number; latest: number; refusals: number };

/** Of the gate, for an operation with a 429; of a paid request, and its pause after a 429. Jitter makes a delay 0.8 to 1.2 as long. */
const SHORTEST = 0.8;
const LONGEST = 1.2;
const GATE = { baseMs: 1_000, capMs: 60_000 };
const PAID = { baseMs: 1_000, capMs: 5 * 60_000, rateLimitedMs: 2_000 };
/** The clock of the scheduler has fractions of a millisecond. */
const ROUNDING_MS = 1;

/**
 * What the service refuses for one object and operation is not sent again before the backoff of the process ends. The backoff of a paid
 * request doubles until one is accepted. A 429 pauses its operation, for as long as the service asks at least; one that arrives during a
 * pause answers a request from before it, and adds no other pause.
 */
export function createBackoffWatch(storage: Storage, now: () => number, judge: Judge): BackoffWatch {
  const refused = new Map<string, Refused>();
  const pauses = new Map<string, Pause>();
  let restoredAt = Number.NEGATIVE_INFINITY;
  storage.onRestore(() => {
    restoredAt = now();
  });

  function keyOf(identity: string, { method, path, body }: CoreRequest): string | undefined {
    const serial = method === "GET" ? undefined : serialIn(JSON.stringify(body ?? null));
    return serial === undefined ? undefined : `${identity} ${method} ${path} object ${serial}`;
  }

  /** When the operation of a request that got this response is not paused any more, at the earliest. */
  function endOfPause(
    { identity, status, ofService }: { identity: string; status: number; ofService: number },
    { method, path, authorization }: CoreRequest,
  ): number {
    const key = `${identity} ${authorization} ${method} ${path}`;
    const pause = pauses.get(key) ?? { earliest: 0, latest: Number.NEGATIVE_INFINITY, refusals: 0 };
    pauses.set(key, pause);
    if (status < 400) pause.refusals = 0;
    if (status !== 429) return pause.earliest;
    if (now() > pause.latest) {
      pause.earliest = now() + SHORTEST * GATE.baseMs;
      pause.latest = now() + LONGEST * Math.min(GATE.capMs, GATE.baseMs * 2 ** pause.refusals++);
    }
    pause.latest = Math.max(pause.latest, now() + ofService);
    return pause.earliest;
  }

  return {
    sent(identity, request) {
      const key = keyOf(identity, request);
      const known = key === undefined ? undefined : refused.get(key);
      // An object that a restored etcd did not have for a moment is a new one.
      if (known === undefined || known.at <= restoredAt) return;
      const early = known.notBefore - now();
      if (early > ROUNDING_MS) {
        judge.violated("BackedOff", `${key}: ${early} ms too early after ${known.times} refusals`);
      }
    },
    ended(identity, request, response) {
      const key = keyOf(identity, request);
      if (response === undefined || response.status >= 500) return;
      const { status } = response;
      const ofService = Number(response.headers["retry-after"] ?? 0) * 1_000;
      const pausedUntil = endOfPause({ identity, status, ofService }, request);
      if (key === undefined) return;
      if (response.status < 400) {
        refused.delete(key);
        return;
      }
      const times = (refused.get(key)?.times ?? 0) + 1;
      const isRateLimited = status === 429;
      const waits = [ofService, isRateLimited ? pausedUntil - now() : 0];
      if (isPaid(request)) {
        waits.push(
          SHORTEST * Math.min(PAID.capMs, PAID.baseMs * 2 ** (times - 1)),
          isRateLimited ? PAID.rateLimitedMs : 0,
        );
      }
      refused.set(key, { times, at: now(), notBefore: now() + Math.max(...waits) });
    },
  };
}

/** The requests of jobs. Creates of endpoints have a wait of their own, which an edit or a user can end. */
const isPaid = ({ path }: CoreRequest) => path.startsWith("/v3/");
