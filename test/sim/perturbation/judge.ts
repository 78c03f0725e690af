import { differences, type Outcome } from "./outcome.ts";
import type { Run } from "./run.ts";

/** A job that a user released shows another attempt and its token. */
const OF_RELEASED_JOBS = /\.(attempts|lastHandledResubmitToken|submission\.\w+): |^\.remote\.tasks/;

/** What is left until the outcome equals that of the undisturbed run. */
export function unsettled(reference: Outcome, outcome: Outcome, released: number): string[] {
  const isCompared = (line: string) => released === 0 || !OF_RELEASED_JOBS.test(line);
  return [
    ...(outcome.open === 0 ? [] : [`${outcome.open} objects show no outcome of a request`]),
    ...differences(reference.lines.filter(isCompared), outcome.lines.filter(isCompared)),
  ];
}

/** What a disturbed run did wrong. Empty: nothing. */
export function complaints(reference: Run, run: Run): string[] {
  const { outcome, released, paidTwice, failure } = run;
  const found = failure === "" ? [] : [failure];
  const paid = reference.outcome.paid + paidTwice;
  if (outcome.paid !== paid) found.push(`${outcome.paid} paid requests took effect instead of ${paid}`);
  if (outcome.created !== reference.outcome.created) {
    found.push(`${outcome.created} endpoints were created instead of ${reference.outcome.created}`);
  }
  if (released > 0 && !run.unknownOutcome) {
    found.push("a job was halted, although its outcome was known when the operator died");
  }
  if (run.letGo > 0) found.push("a deletion was blocked, although the endpoint was deleted");
  return found;
}
