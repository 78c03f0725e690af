import type { EndpointRecord } from "./endpoint-record.ts";

/** What each generation calls an endpoint that serves (interface: States and transitions). */
const SERVING: readonly string[] = ["running", "serving"];
/** What each generation calls a worker that serves. */
const READY: readonly string[] = ["ready", "running"];

/** Whether the service reports that the endpoint serves, and no error. */
export function isServing({ status }: EndpointRecord): boolean {
  return status.error === "" && SERVING.includes(status.status);
}

/** Number of workers that the service reports as ready. */
export function readyWorkers({ workers }: EndpointRecord): number {
  return workers.filter(({ status }) => READY.includes(status.status)).length;
}
