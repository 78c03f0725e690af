import type { JobPhase } from "../../api/v1alpha1/job.ts";
import type { JobStatus } from "./types.ts";

const IN_FLIGHT: readonly JobPhase[] = ["Submitting", "Queued", "Running"];

/** Whether the status shows a request or a task that is in flight. */
export function isInFlight(status: JobStatus | undefined): boolean {
  const { phase = "Pending", submission, taskID } = status ?? {};
  // Only what identifies the task is stored when the API server refuses the rest: the phase is that of the time before.
  const isPendingSent = phase === "Pending" && (submission?.state === "Intended" || taskID !== undefined);
  return isPendingSent || IN_FLIGHT.includes(phase);
}
