import type { ClusterAccount } from "../../api/v1alpha1/account.ts";
import type { AccountShare } from "../../api/v1alpha1/account-shares.ts";
import { clusterAccountResource } from "../../api/v1alpha1/kinds.ts";
import { rfc3339 } from "../../base/clock.ts";
import { formatYuan } from "../../base/money.ts";
import { isSameJSON } from "../../base/same-json.ts";
import { isForbidden } from "../../kube/errors.ts";
import { controllerReference } from "../../kube/resource.ts";
import type { Pool } from "../../submission/division.ts";
import type { PoolUse } from "../../submission/pools.ts";
import { mayNotWrite, ownedConfigMap, writeConfigMap } from "../billing/report/export.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import { messageOf } from "../verdict.ts";
import type { AccountHandle, AccountKey } from "./registry.ts";

/** Workers and GPUs that the endpoints of a pool may have. */
export type PoolCapacity = { workers: number; gpus: number };

/**
 * Shows each team its own share: writes the ConfigMap of `shares[].exportTo` into each namespace of the share. Nothing reads it back, so
 * that whoever changes it changes only what the team sees, until the next change of the use.
 */
export type ShareReports = {
  write(object: ClusterAccount, handle: AccountHandle, signal: AbortSignal): Promise<void>;
  forget(account: AccountKey): void;
};

type Deps = Pick<ControllerDeps, "kube" | "clock" | "recorder" | "admission" | "log">;

export function createShareReports(
  { kube, clock, recorder, admission, log }: Deps,
  endpointsOf: (key: AccountKey) => readonly { namespace: string; endpointID: string }[],
): ShareReports {
  /** What was written last, by account and namespace. */
  const written = new Map<AccountKey, Map<string, Record<string, string>>>();

  function capacityOf({ key, endpoints }: AccountHandle, pool: Pool): PoolCapacity {
    const total = { workers: 0, gpus: 0 };
    for (const { namespace, endpointID } of endpointsOf(key)) {
      const { max = 0, gpus = 1 } = endpoints.observed.get(endpointID)?.scaling ?? {};
      if (!pool.namespaces.includes(namespace)) continue;
      total.workers += max;
      total.gpus += max * gpus;
    }
    return total;
  }

  return {
    async write(object, handle, signal) {
      const { key, sharing } = handle;
      const known = written.get(key) ?? new Map<string, Record<string, string>>();
      written.set(key, known);
      const owner = controllerReference(clusterAccountResource, object.metadata);
      for (const [namespace, pool] of sharing.pools()) {
        const share = sharing.known(namespace);
        if (share?.exportTo === undefined) continue;
        const data = shareData(object.metadata.name, share, {
          use: admission.use(key, pool),
          capacity: capacityOf(handle, pool),
        });
        if (isSameJSON(known.get(namespace), data)) continue;
        const { name } = share.exportTo.configMap;
        try {
          const all = { ...data, asOf: rfc3339(clock.now()) };
          const wanted = ownedConfigMap(owner, { namespace, name, data: all });
          if (await writeConfigMap(kube, wanted, signal)) known.set(namespace, data);
          else recorder.warning(object, "ExportConflict", "Export", conflictOf(share.name, namespace, name));
        } catch (error) {
          signal.throwIfAborted();
          const message = isForbidden(error) ? mayNotWrite(namespace, name) : messageOf(error);
          log.warn({ account: key, share: share.name, namespace, reason: message }, "a share is not shown to its team");
          if (isForbidden(error))
            recorder.warning(object, "ExportForbidden", "Export", `Share ${share.name}: ${message}`);
        }
      }
    },
    forget: (account) => void written.delete(account),
  };
}

const conflictOf = (share: string, namespace: string, name: string) =>
  `Share ${share}: ConfigMap ${namespace}/${name} exists and does not belong to the ClusterAccount: delete it, or choose another name`;

type Used = { use: PoolUse; capacity: PoolCapacity };

/** What a team sees of its share: nothing of other shares, and no other namespace of its own. */
export function shareData(account: string, share: AccountShare, { use, capacity }: Used): Record<string, string> {
  const { limits, allowed } = share;
  const of = (used: string | number, limit: string | number | undefined) =>
    limit === undefined ? `${used}` : `${used} of ${limit}`;
  const money = (used: bigint, limit: string | undefined) =>
    limit === undefined ? undefined : `${formatYuan(used)} of ${limit} yuan`;
  const shown: Record<string, string | undefined> = {
    account,
    share: share.name,
    limitsHoldFor: share.per === "Together" ? "all namespaces of the share together" : "this namespace",
    weight: `${share.weight}`,
    tasks: of(use.tasks, limits.concurrentTasks),
    requestsInLastMinute: of(use.requests, limits.requestsPerMinute),
    today: money(use.day, limits.dailyLimit),
    thisMonth: money(use.month, limits.monthlyLimit),
    workers: of(capacity.workers, limits.maxWorkers),
    gpus: of(capacity.gpus, limits.maxGPUs),
    products: limits.products?.join(", ") ?? "all",
    models: limits.models?.join(", ") ?? "all",
    maxCost: share.requireMaxCost ? "required" : "optional",
    ...Object.fromEntries(
      (["volumes", "registryAuths", "clusters", "regions", "voices"] as const).map((list) => [
        `allowed.${list}`,
        allowed[list]?.join(", ") || "none",
      ]),
    ),
  };
  return Object.fromEntries(
    Object.entries(shown).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
