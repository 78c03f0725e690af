import type { CoreRequest } from "../../../src/simulator/core.ts";
import type { AnsweredRequest } from "../network/api-connections.ts";
import { CANARIES, RATE, spareOf } from "../scenario/manifests.ts";
import type { Judge } from "./violation.ts";

/** Judges what leaves the processes. */
export type Traffic = {
  toApi(identity: string, request: AnsweredRequest): void;
  toService(identity: string, request: CoreRequest): void;
  logged(line: string): void;
};

/** A token bucket of all processes together; requests of one event and rounding may take one token too many. */
const SLACK = 1.5;
/** First bytes may be late: the token of a call holds for a second (src/provider/http/gate.ts). */
const FIRST_BYTE_SLACK = RATE.requestsPerSecond + SLACK;
/** Requests of one process for one path in `PACE_MS`. The busiest is the lease, with one in a tenth of a second. */
const PACED = 200;
const PACE_MS = 10_000;

export function createTraffic(now: () => number, judge: Judge): Traffic {
  /** By account. */
  const buckets = new Map<string, () => number>();
  const paths = new Map<string, { from: number; count: number }>();

  function checkPace(what: string): void {
    const known = paths.get(what);
    if (known === undefined || now() - known.from >= PACE_MS) paths.set(what, { from: now(), count: 1 });
    else if (++known.count > PACED)
      judge.violated("Paced", `${what}: more than ${PACED} times in ${PACE_MS / 1_000} s`);
  }

  function checkCanaries(where: string, text: string): void {
    const found = CANARIES.find((canary) => text.includes(canary));
    if (found !== undefined) judge.violated("NoSecret", `${where} shows ${found}: ${text.slice(0, 2_000)}`);
  }

  return {
    toApi(identity, { method, path, body }) {
      checkPace(`${identity} ${method} ${path}`);
      if (method !== "GET") checkCanaries(`${identity} ${method} ${path}`, JSON.stringify(body ?? null));
    },
    toService(identity, { authorization }) {
      const account = spareOf(authorization) ?? "";
      const take = buckets.get(account) ?? tokenBucket(now);
      buckets.set(account, take);
      const tokens = take();
      if (tokens < -FIRST_BYTE_SLACK) {
        judge.violated("RateLimit", `${-tokens} first bytes over the rate limit leave ${identity}`);
      }
    },
    logged: (line) => checkCanaries("the log", line),
  };
}

/** Takes a token, and returns how many are left. Negative: so many calls are over the rate. */
function tokenBucket(now: () => number): () => number {
  let tokens: number = RATE.burst;
  let at = 0;
  return () => {
    tokens = Math.min(RATE.burst, tokens + ((now() - at) / 1_000) * RATE.requestsPerSecond) - 1;
    at = now();
    return tokens;
  };
}
