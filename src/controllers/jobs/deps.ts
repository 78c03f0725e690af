import type { StoreRegistry } from "../artifact-store/registry.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import type { WholeObjects } from "../whole-object.ts";
import type { RequestClaims } from "./request-claims.ts";
import type { RunningRequests } from "./running.ts";
import type { JobSources } from "./sources.ts";
import type { Callbacks, Copies, Job, JobAdapter, JobMetrics, TaskFollower } from "./types.ts";

/** What runs for the jobs of both kinds beside their reconciles. */
export type JobWiring = {
  running: RunningRequests;
  copies: Copies;
  callbacks: Callbacks;
  stores: StoreRegistry;
  claims: RequestClaims;
  sources: JobSources;
  /** Whether a job that has sent nothing may begin; it is reconciled when it may. Default: it may. */
  mayStart?: (job: Job) => boolean;
  /** Default: none are kept. */
  metrics?: JobMetrics;
};

/** What every step of a reconcile of one kind works with. */
export type JobDeps<T extends Job> = JobWiring & {
  shared: ControllerDeps;
  adapter: JobAdapter<T>;
  tasks: TaskFollower;
  wholes: WholeObjects<T>;
  /** Reconciles the job again. */
  wake(job: T): void;
};
