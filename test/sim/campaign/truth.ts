import { hasOpenRecord } from "../../support/open-records.ts";
import type { AnyObject, World } from "../../support/world.ts";

export type RemoteEndpoint = {
  id: string;
  parameters: { appName: string; workerConfig: { maxNum: number } };
  servesAtMs: number;
};
export type RemoteTask = { id: string; status: string };

/** Both sides at one time: the objects first, then the service. */
export type Truth = {
  jobs: AnyObject[];
  endpoints: AnyObject[];
  remoteEndpoints: Map<string, RemoteEndpoint>;
  remoteTasks: Map<string, RemoteTask>;
  /** Names of the objects with a request whose outcome they do not show. */
  open: string[];
};

export const RUNNING = "TASK_STATUS_PROCESSING";
export const DONE = "TASK_STATUS_SUCCEED";
export const FAILED = "TASK_STATUS_FAILED";

export async function readTruth(world: Pick<World, "list" | "state">): Promise<Truth> {
  const [speech, video, endpoints] = await Promise.all([
    world.list("SpeechJob"),
    world.list("VideoJob"),
    world.list("GpuEndpoint"),
  ]);
  const state = await world.state();
  return {
    jobs: [...speech, ...video],
    endpoints,
    remoteEndpoints: new Map((state.endpoints as RemoteEndpoint[]).map((one) => [one.id, one])),
    remoteTasks: new Map((state.tasks as RemoteTask[]).map((one) => [one.id, one])),
    open: [...speech, ...video, ...endpoints].filter(hasOpenRecord).map(({ metadata }) => metadata.name),
  };
}

export function phaseOf({ status }: AnyObject): string {
  return String(status?.["phase"]);
}

export function taskOf({ status }: AnyObject): string | undefined {
  return status?.["taskID"] === undefined ? undefined : String(status["taskID"]);
}

/** The app name without the hash that Mooring appends. */
export function objectOf({ parameters }: RemoteEndpoint): string {
  return parameters.appName.replace(/-[0-9a-f]{10}$/, "");
}
