import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { MediaBatch } from "../../api/v1alpha1/media-batch.ts";
import type { Resource } from "../../kube/resource.ts";
import { keyOf } from "../../kube/types.ts";
import type { Indexer, Store } from "../../runtime/store.ts";
import type { EndedTask } from "../../submission/reservations.ts";
import type { Work } from "../../submission/work.ts";
import { ownerOfJob } from "../billing/job-owner.ts";
import { usageShown } from "../billing/object-cost.ts";
import type { Usage } from "../billing/usage.ts";
import { isInFlight } from "../jobs/in-flight.ts";
import { type EndedSince, endedTaskOf, hasReleasedSlot } from "../jobs/tasks.ts";
import { type Job, workOf } from "../jobs/types.ts";
import { type AccountUser, accountsOf, accountToUse, boundKey } from "./binding.ts";
import type { AccountKey, AccountRegistry } from "./registry.ts";

type Kinds = {
  endpoints: { resource: Resource; store: Store<GpuEndpoint> };
  jobs: readonly { resource: Resource; store: Store<Job> }[];
  batches: Pick<Store<MediaBatch>, "get">;
};

/** The objects of an account, by the index `byAccount`. */
export type Dependants = {
  /** How many of the endpoints that this account follows are bound. */
  managedEndpoints(key: AccountKey): number;
  /** Whether this account follows an endpoint. Asked for each endpoint after a start, and each second. */
  hasEndpoints(key: AccountKey): boolean;
  /** Whether one of them has volumes. Asked each second. */
  hasVolumes(key: AccountKey): boolean;
  /** Identifiers of the remote endpoints that they are bound to. */
  boundEndpoints(key: AccountKey): string[];
  /** The same with the namespace of each, without those that are only observed. */
  endpointPlaces(key: AccountKey): { namespace: string; endpointID: string }[];
  /**
   * Jobs whose status shows a recorded request without an outcome, a request on its way, or a task that runs. A job that gave its slot back
   * does not count.
   */
  inFlight(key: AccountKey): (Work & { isUnderWay?: boolean })[];
  /** What the jobs that show a request used, on the day of their last request. `dayOf`: the day of a time, ms since the epoch. */
  usage(key: AccountKey, dayOf: (time: number) => string): Usage[];
  /** Tasks and requests of jobs that have ended and whose charge may not show yet. */
  ended(key: AccountKey, since: EndedSince): EndedTask[];
  /**
   * What still needs the account: endpoints, until they are gone, and jobs that have not finished. The first `limit` (default 3) by
   * `KIND NAMESPACE/NAME`, and how many there are in all.
   */
  users(key: AccountKey, limit?: number): { names: string[]; total: number };
  /** Whether anything still needs the account: ends with the first user. */
  hasUsers(key: AccountKey): boolean;
};

/** Index of the store of every kind that has an `accountRef`. */
export const byAccount: Indexer<AccountUser> = accountsOf;

/** Index `volumes` of the store of endpoints: as `byAccount`, for those with volumes. */
export const byAccountWithVolumes: Indexer<GpuEndpoint> = (endpoint) =>
  (endpoint.spec.volumes?.length ?? 0) > 0 ? byAccount(endpoint) : [];

export function createDependants(kinds: Kinds, accounts: () => Pick<AccountRegistry, "keyOf">): Dependants {
  /** What an object is bound to, or else means now. */
  function belongs(object: GpuEndpoint | Job, key: AccountKey): boolean {
    return (boundKey(object) ?? accounts().keyOf(accountToUse(object), object.metadata.namespace)) === key;
  }
  const needsAccount = (job: Job, key: AccountKey) =>
    job.status?.phase !== "Succeeded" && job.status?.phase !== "Failed" && belongs(job, key);
  const jobsOf = (key: AccountKey) =>
    kinds.jobs.flatMap(({ resource: { kind }, store }) =>
      store
        .byIndex("account", key)
        .filter((job) => belongs(job, key))
        .map((job) => [kind, job] as const),
    );
  const endpointsOf = (key: AccountKey) =>
    kinds.endpoints.store.byIndex("account", key).filter((endpoint) => belongs(endpoint, key));

  return {
    managedEndpoints: (key) => endpointsOf(key).filter(({ status }) => status?.endpointID !== undefined).length,
    hasEndpoints: (key) => kinds.endpoints.store.someInIndex("account", key, (endpoint) => belongs(endpoint, key)),
    hasVolumes: (key) => kinds.endpoints.store.someInIndex("volumes", key, (endpoint) => belongs(endpoint, key)),
    boundEndpoints: (key) => endpointsOf(key).flatMap(({ status }) => status?.endpointID ?? []),
    endpointPlaces: (key) =>
      endpointsOf(key).flatMap(({ metadata: { namespace }, spec, status }) =>
        status?.endpointID === undefined || spec.managementPolicy === "Observe"
          ? []
          : [{ namespace, endpointID: status.endpointID }],
      ),
    inFlight: (key) =>
      kinds.jobs.flatMap(({ store }) =>
        store
          .byIndex("account", key)
          .filter(({ status }) => isInFlight(status) && !hasReleasedSlot(status))
          .filter((job) => belongs(job, key))
          .map((job) => ({ ...workOf(job), isUnderWay: job.status?.submission?.state === "Intended" })),
      ),
    usage: (key, dayOf) =>
      jobsOf(key).flatMap(([kind, job]) => {
        return usageShown(job, { account: key, owner: ownerOfJob(kinds.batches, kind, job), dayOf });
      }),
    ended: (key, since) =>
      kinds.jobs.flatMap(({ store }) =>
        store
          .byIndex("account", key)
          .filter((job) => belongs(job, key))
          .flatMap((job) => endedTaskOf(job, since) ?? []),
      ),
    users(key, limit = 3) {
      let names: string[] = [];
      let total = 0;
      const add = ({ kind }: Resource, user: GpuEndpoint | Job): void => {
        total++;
        const name = `${kind} ${keyOf(user)}`;
        const last = names.at(-1);
        // An account can have thousands of users: sort only the names that are shown.
        if (names.length < limit || (last !== undefined && name < last)) {
          names = [...names, name].sort().slice(0, limit);
        }
      };

      for (const endpoint of endpointsOf(key)) add(kinds.endpoints.resource, endpoint);
      for (const { resource, store } of kinds.jobs) {
        for (const job of store.byIndex("account", key)) {
          if (needsAccount(job, key)) add(resource, job);
        }
      }
      return { names, total };
    },
    hasUsers: (key) =>
      kinds.endpoints.store.someInIndex("account", key, (endpoint) => belongs(endpoint, key)) ||
      kinds.jobs.some(({ store }) => store.someInIndex("account", key, (job) => needsAccount(job, key))),
  };
}
