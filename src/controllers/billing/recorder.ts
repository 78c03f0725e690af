import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { Clock } from "../../base/clock.ts";
import type { NamespacedObject } from "../../kube/types.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import type { Operation } from "../../provider/operations.ts";
import type { Store } from "../../runtime/store.ts";
import type { AccountKey } from "../account/registry.ts";
import { billDay } from "./bill-day.ts";
import type { Owner } from "./job-owner.ts";
import type { UsageLedger } from "./ledger.ts";
import { type Meter, operationMeter, productMeter } from "./meters.ts";
import { createdOf, type Usage } from "./usage.ts";

/** No object of the cluster. */
export const NOBODY: Owner = { namespace: "", object: "", created: 0 };

/** A job that the service accepted. */
export type AcceptedJob = Owner & {
  account: AccountKey;
  operation: Operation;
  /** Characters of speech or seconds of video. */
  quantity: number;
};

/** Records the usage of the account's endpoints and jobs. */
export type UsageRecorder = {
  /**
   * A complete list of the account's endpoints. The workers that it shows count until the next list, for at most an hour: after a
   * longer pause nobody knows how long they ran.
   */
  listed(account: AccountKey, records: readonly EndpointRecord[]): void;
  /** What the usage of a job of a kind counts for. */
  ownerOfJob(kind: string, job: Pick<NamespacedObject, "metadata">): Owner;
  /** The service accepted a paid request. Call it once per accepted request. */
  accepted(job: AcceptedJob): void;
  /** The service may have accepted it, and nobody knows: it counts for the share of its namespace, and not for the split of bills. */
  unknown(job: AcceptedJob): void;
  /** The account is gone: its workers are not counted any more. */
  forget(account: AccountKey): void;
};

export type UsageRecorderOptions = {
  ledger: Pick<UsageLedger, "add">;
  /** Counts what the shares of an account cost. */
  shareCosts: { add(usage: Usage): void };
  /** The object that is bound to an endpoint. */
  ownerOf(account: AccountKey, endpointID: string): Owner;
  ownerOfJob(kind: string, job: Pick<NamespacedObject, "metadata">): Owner;
  /** `billing.timeZone` of an account. */
  timeZoneOf(account: AccountKey): string;
  clock: Clock;
};

type RunningCards = { meter: Meter; cards: number };
/** `at`: monotonic ms. */
type List = { at: number; running: ReadonlyMap<string, RunningCards> };

const LONGEST_MS = 3_600_000;

export function createUsageRecorder({
  ledger,
  shareCosts,
  ownerOf,
  ownerOfJob,
  timeZoneOf,
  clock,
}: UsageRecorderOptions): UsageRecorder {
  const lists = new Map<AccountKey, List>();
  const today = (account: AccountKey) => billDay(timeZoneOf(account), clock.now());

  const usageOf = ({ operation, ...job }: AcceptedJob): Usage => {
    return { ...job, meter: operationMeter(operation), day: today(job.account), requests: 1 };
  };
  const add = (usage: Usage) => {
    ledger.add(usage);
    shareCosts.add(usage);
  };

  return {
    listed(account, records) {
      const now = clock.monotonic();
      const previous = lists.get(account);
      lists.set(account, { at: now, running: runningWorkers(records) });
      if (previous === undefined) return;
      const seconds = Math.min(now - previous.at, LONGEST_MS) / 1000;
      const day = today(account);
      for (const [id, { meter, cards }] of previous.running) {
        add({ account, ...ownerOf(account, id), meter, day, quantity: cards * seconds, requests: 0 });
      }
    },
    ownerOfJob,
    accepted: (job) => add(usageOf(job)),
    unknown: (job) => shareCosts.add(usageOf(job)),
    forget: (account) => void lists.delete(account),
  };
}

/** The endpoints with workers, by ID. A worker without a known number of GPUs counts as one card. */
function runningWorkers(records: readonly EndpointRecord[]): Map<string, RunningCards> {
  return new Map(
    records
      .filter(({ workers }) => workers.length > 0)
      .map(({ id, productID, workers, scaling }) => [
        id,
        { meter: productMeter(productID), cards: workers.length * Math.max(1, scaling.gpus ?? 1) },
      ]),
  );
}

/**
 * The GpuEndpoint that is bound to a remote endpoint. A namespaced Account knows objects of its own namespace only, so that its
 * reports name no other namespace.
 */
export function endpointOwner(
  store: Pick<Store<GpuEndpoint>, "byIndex">,
  account: AccountKey,
  endpointID: string,
): Owner {
  const [kind, accountNamespace] = account.split("/");
  const owner = store
    .byIndex("endpointID", endpointID)
    .find(
      ({ status, metadata }) =>
        status?.endpointID === endpointID && (kind === "ClusterAccount" || metadata.namespace === accountNamespace),
    );
  if (owner === undefined) return NOBODY;
  const { namespace, name } = owner.metadata;
  return { namespace, object: `GpuEndpoint/${name}`, created: createdOf(owner.metadata) };
}
