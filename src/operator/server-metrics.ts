import { Counter, type Registry } from "prom-client";
import { isClusterAccount } from "../api/v1alpha1/account.ts";
import type { AnyAccount, FreeReason } from "../controllers/account/other-servers.ts";
import { type ProcessEnds, senderOf } from "../controllers/account/process-ends.ts";
import { type AccountKey, keyOfAccount } from "../controllers/account/registry.ts";
import { addGauge } from "../runtime/gauge.ts";

type ServerMetrics = {
  /** Every account of the cluster. */
  accounts: () => Iterable<AnyAccount>;
  /** How many of them this process serves. */
  count: () => number;
  ends: Pick<ProcessEnds, "hasSenderEnded">;
  /** Whether an object that this installation watches belongs to the account. */
  isNeeded: (key: AccountKey) => boolean;
};

const REASONS: readonly FreeReason[] = ["New", "Released", "Ended", "Removed"];

/** Which process serves what. Returns what counts an account that this process has taken. */
export function registerServerMetrics(registry: Registry, { accounts, count, ends, isNeeded }: ServerMetrics) {
  addGauge(registry, {
    name: "mooring_accounts_served",
    help: "Accounts that this process serves",
    read: () => [[{}, count()]],
  });
  addGauge(registry, {
    name: "mooring_accounts_unserved",
    help: "Accounts that objects need, that had a server and have none now, as this process sees it: nothing is sent for them",
    read: () => [[{}, [...accounts()].filter(isUnserved).length]],
  });
  const taken = new Counter({
    name: "mooring_accounts_taken_total",
    help: "Accounts that this process has begun to serve, by why they were free: New, Released by their server, Ended (their server was killed or froze), or Removed (somebody removed status.server)",
    labelNames: ["reason"] as const,
    registers: [registry],
  });
  for (const reason of REASONS) taken.inc({ reason }, 0);

  /** A ClusterAccount without objects has no server. */
  function isUnserved(account: AnyAccount): boolean {
    const { server, observedGeneration } = account.status ?? {};
    const hasNone =
      server === undefined
        ? observedGeneration !== undefined
        : server.released !== undefined || ends.hasSenderEnded(senderOf(server));
    return hasNone && (!isClusterAccount(account) || isNeeded(keyOfAccount(account)));
  }

  return (reason: FreeReason) => taken.inc({ reason });
}
