import type { Account, ClusterAccount } from "../api/v1alpha1/account.ts";
import { accountToUse } from "../controllers/account/binding.ts";
import type { AccountKey, AccountRegistry } from "../controllers/account/registry.ts";
import { createEndpointMetrics, type EndpointMetrics } from "../controllers/gpu-endpoint/metrics.ts";
import { createJobMetrics } from "../controllers/jobs/metrics.ts";
import type { Job, JobMetrics } from "../controllers/jobs/types.ts";
import { traceIdOf } from "../tracing/trace-context.ts";
import { type Informers, jobInformersOf, kindsOf } from "./informers.ts";
import { KIND_ROWS } from "./kinds.ts";
import { registerLimitMetrics } from "./limit-metrics.ts";
import { registerObjectMetrics } from "./object-metrics.ts";
import type { AssembleOptions } from "./options.ts";
import type { Ownership } from "./ownership.ts";

type KindMetricsParts = {
  accounts: AccountRegistry;
  accountObject(key: AccountKey): Account | ClusterAccount | undefined;
  ownership: Pick<Ownership, "reported">;
};

/** The metrics of what the informers hold. The process that has an object reports it, so that sums over processes count nothing twice. */
export function createKindMetrics(
  { clock, metrics: { registry, exemplars }, showsSpending = false }: AssembleOptions,
  informers: Informers,
  { accounts, accountObject, ownership }: KindMetricsParts,
): { endpointMetrics: EndpointMetrics; jobMetrics: JobMetrics } {
  const known = () =>
    [...accounts.entries()].flatMap(([account, { handle }]) => {
      const object = accountObject(account);
      return object === undefined ? [] : [{ account, object, handle }];
    });
  const usable = () =>
    known().flatMap(({ account, object, handle }) => (handle === undefined ? [] : [{ account, object, handle }]));
  registerLimitMetrics(registry, usable, showsSpending);
  const kinds = kindsOf(informers, "");
  const lists = kinds.map(({ row, informer }) => [
    row.resource.kind,
    () => ownership.reported(row, informer.store.list()),
  ]);
  registerObjectMetrics(registry, Object.fromEntries(lists), clock);
  const jobs = jobInformersOf(informers).map(
    ({ resource, store }) =>
      [resource.kind, () => ownership.reported<Job>({ resource, account: "Needs" }, store.list())] as const,
  );
  return {
    endpointMetrics: createEndpointMetrics(
      registry,
      {
        endpoints: () => ownership.reported(KIND_ROWS.endpoints, informers.endpoints.store.list()),
        accounts: () => known().map(({ account, object }) => [account, object]),
      },
      clock,
    ),
    jobMetrics: createJobMetrics(registry, {
      jobs: Object.fromEntries(jobs),
      accountOf: (job) => accounts.keyOf(accountToUse(job), job.metadata.namespace),
      clock,
      traceIDOf: exemplars ? traceIdOf : undefined,
    }),
  };
}
