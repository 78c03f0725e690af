import type { RunningRequests } from "../../submission/running.ts";
import type { StoreRegistry } from "../artifact-store/registry.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import type { Copies } from "./copies.ts";
import type { Answer } from "./submit.ts";
import type { TaskFollower } from "./tasks.ts";
import type { Job, JobAdapter } from "./types.ts";

/** What runs for the jobs of both kinds beside their reconciles. */
export type JobWiring = { running: RunningRequests<Answer>; copies: Copies; stores: StoreRegistry };

/** What every step of a reconcile of one kind works with. */
export type JobDeps<T extends Job> = JobWiring & {
  shared: ControllerDeps;
  adapter: JobAdapter<T>;
  tasks: TaskFollower;
  /** Reconciles the job again. */
  wake(job: T): void;
};
