import { type ConditionUpdate, getCondition, isTrue, setConditions } from "../../api/v1alpha1/conditions.ts";
import { rfc3339 } from "../../clock.ts";
import { allStored } from "./conditions.ts";
import type { JobStatus } from "./types.ts";

/** The share of a URL's life after which a warning comes. */
const WARN_AT = 0.75;

export type Expiry =
  | { kind: "None" }
  /** Nothing to be said before `atMs` (ms since the epoch). */
  | { kind: "Later"; atMs: number }
  | { kind: "Warn" | "Expired"; status: JobStatus; message: string; nextMs: number | undefined };

/** What is to be said of the URLs of a finished job: once when a quarter of their life is left, once when they ran out. Pure. */
export function expiryOf(status: JobStatus, now: number): Expiry {
  const { resultsExpireAt, completionTime, conditions } = status;
  if (resultsExpireAt === undefined || allStored(status.results) || !isTrue(conditions, "ResultsAvailable")) {
    return { kind: "None" };
  }
  const end = Date.parse(resultsExpireAt);
  if (now >= end) {
    const message = `The URLs ran out at ${resultsExpireAt} and no copy was kept`;
    return { kind: "Expired", status: changed(status, "Expired", message, now), message, nextMs: undefined };
  }
  const start = completionTime === undefined ? end : Date.parse(completionTime);
  const warnAt = Math.min(end, start + (end - start) * WARN_AT);
  if (getCondition(conditions, "ResultsAvailable")?.reason === "Expiring") return { kind: "Later", atMs: end };
  if (now < warnAt) return { kind: "Later", atMs: warnAt };
  const message = `The URLs run out at ${resultsExpireAt}, and no copy is kept: fetch the results before`;
  return { kind: "Warn", status: changed(status, "Expiring", message, now), message, nextMs: end };
}

function changed(status: JobStatus, reason: "Expiring" | "Expired", message: string, now: number): JobStatus {
  const update: ConditionUpdate = {
    type: "ResultsAvailable",
    status: reason === "Expired" ? "False" : "True",
    reason,
    message,
    observedGeneration: status.observedGeneration,
  };
  return { ...status, conditions: setConditions(status.conditions, [update], rfc3339(now)) };
}
