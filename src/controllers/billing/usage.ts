import type { ObjectMeta } from "../../kube/types.ts";
import type { AccountKey } from "../account/registry.ts";
import type { Meter } from "./meters.ts";

/** What one object consumed of one meter on one day. */
export type Usage = {
  account: AccountKey;
  /** "": the usage belongs to no object of the cluster. */
  namespace: string;
  /** `KIND/NAME`. "": objects of the namespace that the ledger does not tell apart. */
  object: string;
  /** `createdOf` the object: an object that is made again with the same name is another one. 0 where `object` is "". */
  created: number;
  meter: Meter;
  /** `YYYY-MM-DD` in the time zone of the bills. */
  day: string;
  /** In the unit of the meter. */
  quantity: number;
  /** Paid requests. 0 for workers. */
  requests: number;
};

/** The usage of one object over several days. */
export type UsageRow = Pick<Usage, "namespace" | "object" | "created"> & { quantity: bigint; requests: bigint };

/** When an object was created, in seconds since the epoch, as exact as the API server tells. */
export function createdOf({ creationTimestamp = "" }: Pick<ObjectMeta, "creationTimestamp">): number {
  return Math.floor(Date.parse(creationTimestamp) / 1000) || 0;
}

/** Finds usage by meter and period. */
export type UsageIndex = {
  /** Rows of a meter from the first day to the last one, each object once. Empty: nothing was consumed. */
  rows(meter: Meter, firstDay: string, lastDay: string): readonly UsageRow[];
};

export function indexUsage(usage: Iterable<Usage>): UsageIndex {
  const meters = new Map<Meter, Map<string, Usage[]>>();
  for (const one of usage) {
    const days = meters.get(one.meter) ?? new Map<string, Usage[]>();
    meters.set(one.meter, days);
    const known = days.get(one.day);
    if (known === undefined) days.set(one.day, [one]);
    else known.push(one);
  }

  return {
    rows(meter, firstDay, lastDay) {
      const days = [...(meters.get(meter) ?? [])].filter(([day]) => day >= firstDay && day <= lastDay);
      return sumByObject(days.flatMap(([, ofDay]) => ofDay));
    },
  };
}

/** In the order of the names, so that a split does not depend on the order of the ledger. */
function sumByObject(usage: readonly Usage[]): UsageRow[] {
  const rows = new Map<string, Pick<Usage, "namespace" | "object" | "created" | "quantity" | "requests">>();
  for (const { namespace, object, created, quantity, requests } of usage) {
    const id = `${namespace}/${object}/${created}`;
    const row = rows.get(id) ?? { namespace, object, created, quantity: 0, requests: 0 };
    row.quantity += quantity;
    row.requests += requests;
    rows.set(id, row);
  }
  return [...rows]
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, { quantity, requests, ...names }]) => ({
      ...names,
      quantity: BigInt(Math.round(quantity)),
      requests: BigInt(requests),
    }));
}
