import type { AccountRef } from "../../../api/v1alpha1/meta.ts";
import { accountKey } from "../../../controllers/account/registry.ts";
import { readUsage } from "../../../controllers/billing/ledger.ts";
import { operationMeter } from "../../../controllers/billing/meters.ts";
import { dayName } from "../../../controllers/billing/split.ts";
import { createdOf, type Usage } from "../../../controllers/billing/usage.ts";
import { type Job, paidOperation } from "../../../controllers/jobs/types.ts";
import type { KubeClient } from "../../../kube/client.ts";
import { isForbidden } from "../../../kube/errors.ts";
import type { Resource } from "../../../kube/resource.ts";
import type { TimeZone } from "../../../provider/money/time-zone.ts";
import type { Operation } from "../../../provider/operations.ts";
import { listPatiently } from "../../account-source.ts";
import { servingNamespace } from "../../use/split-bills.ts";

/** What Mooring knows of the requests of one operation, account and day. */
export type SentRequests = {
  /** Those that the service accepted, of deleted jobs too if the usage of the operator can be read. */
  accepted: number;
  /** Those of Halted jobs. */
  unknown: number;
};

type Day = { operation: Operation; day: string; zone: TimeZone };

/** Counts the requests of jobs with the account of `job`. */
export async function sentRequests(
  kube: KubeClient,
  resource: Resource,
  job: Job,
  of: Day,
): Promise<SentRequests | undefined> {
  const { namespace } = job.metadata;
  const { account } = job.status ?? {};
  if (account === undefined) return undefined;
  const key = accountKey(account.kind, account.name, namespace);
  const ofAccount = (await jobsOf(kube, resource, account.kind, namespace)).filter((one) => {
    const bound = one.status?.account;
    return bound !== undefined && accountKey(bound.kind, bound.name, one.metadata.namespace) === key;
  });
  const { signal } = new AbortController();
  const place = await servingNamespace(kube, account, namespace);
  const months = [of.day.slice(0, 7)];
  const usage = await readUsage(kube, { namespace: place, account: key, months }, signal).catch((error: unknown) => {
    if (!isForbidden(error)) throw error;
    return [];
  });
  return countRequests(resource.kind, ofAccount, usage, of);
}

/** Objects of an Account are in its namespace. Those of a ClusterAccount are everywhere, if the user may list them there. */
async function jobsOf(
  kube: KubeClient,
  resource: Resource,
  kind: AccountRef["kind"],
  namespace: string,
): Promise<Job[]> {
  if (kind === "Account") return listPatiently<Job>(kube, resource, namespace);
  return listPatiently<Job>(kube, resource).catch((error: unknown) => {
    if (!isForbidden(error)) throw error;
    return listPatiently<Job>(kube, resource, namespace);
  });
}

/** Pure. The usage lags by minutes and jobs are deleted, so each object counts by whichever shows more. */
export function countRequests(
  kind: string,
  jobs: readonly Job[],
  usage: readonly Usage[],
  { operation, day, zone }: Day,
): SentRequests {
  const accepted = new Map<string, number>();
  const count = (object: string, requests: number) =>
    accepted.set(object, Math.max(requests, accepted.get(object) ?? 0));
  for (const { meter, day: of, namespace, object, created, requests } of usage) {
    if (meter === operationMeter(operation) && of === day) count(`${namespace}/${object}/${created}`, requests);
  }
  let unknown = 0;
  for (const job of jobs) {
    const { submission, submitTime } = job.status ?? {};
    if (submission === undefined || operationMeter(paidOperation(job)) !== operationMeter(operation)) continue;
    const time = Date.parse(submission.state === "Accepted" ? (submitTime ?? submission.time) : submission.time);
    if (dayName(zone.dayOf(Math.floor(time / 1000))) !== day) continue;
    if (submission.state === "Unknown") unknown++;
    const { namespace, name } = job.metadata;
    if (submission.state === "Accepted") count(`${namespace}/${kind}/${name}/${createdOf(job.metadata)}`, 1);
  }
  return { accepted: [...accepted.values()].reduce((sum, one) => sum + one, 0), unknown };
}
