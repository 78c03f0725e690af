import { type Account, type ClusterAccount, isClusterAccount } from "../../../api/v1alpha1/account.ts";
import { accountResource, clusterAccountResource } from "../../../api/v1alpha1/kinds.ts";
import { FINALIZER } from "../../../api/v1alpha1/meta.ts";
import { type Clock, rfc3339 } from "../../../base/clock.ts";
import { messageOf } from "../../../controllers/verdict.ts";
import type { KubeClient } from "../../../kube/client.ts";
import { keyOf } from "../../../kube/types.ts";
import { isExcluding, isHeld, LEASE_SELECTOR, type Lease, leaseResource } from "../../../runtime/lease.ts";
import type { Finding } from "./checks.ts";

/** A process renews its lease every few seconds. The clocks of two machines differ a little. */
const ALIVE_MS = 2 * 60_000;

type AnyAccount = Account | ClusterAccount;
type Process = { name: string; namespace: string; renewedAt: number; excludes: boolean };

/** Which processes of operators run, by their leases, and which accounts each serves. Without the right to read them, nobody knows. */
export async function checkOperator(kube: Pick<KubeClient, "list">, clock: Clock): Promise<Finding[]> {
  try {
    const query = { labelSelector: LEASE_SELECTOR };
    const [leases, accounts, clusterAccounts] = await Promise.all([
      kube.list<Lease>(leaseResource, {}, { query }),
      kube.list<Account>(accountResource, {}),
      kube.list<ClusterAccount>(clusterAccountResource, {}),
    ]);
    const isAlive = ({ renewedAt }: Process) => clock.now() - renewedAt < ALIVE_MS;
    const processes = leases.items.map(processOf);
    const alive = leases.items.filter(isHeld).map(processOf).filter(isAlive);
    if (alive.length === 0) return [nobody(processes)];
    return [...runs(alive, [...accounts.items, ...clusterAccounts.items])];
  } catch (error) {
    return [{ level: "warn", message: `whether an operator runs is unknown: ${messageOf(error)}` }];
  }
}

function processOf(lease: Lease): Process {
  const { name, namespace = "default" } = lease.metadata;
  return { name, namespace, renewedAt: Date.parse(lease.spec.renewTime ?? "") || 0, excludes: isExcluding(lease) };
}

function nobody(processes: readonly Process[]): Finding {
  const [last] = [...processes].sort((a, b) => b.renewedAt - a.renewedAt);
  if (last === undefined) {
    const message = "no operator has been seen: nothing is reconciled before one runs (docs/how-to/install.md)";
    return { level: "warn", message };
  }
  const since = rfc3339(last.renewedAt);
  const command = `kubectl get pods -n ${last.namespace}`;
  return { level: "bad", message: `no operator runs since ${since}: nothing is reconciled. Look at: ${command}` };
}

/** What each process serves, and the accounts that none of them serves. */
function* runs(alive: readonly Process[], accounts: readonly AnyAccount[]): Generator<Finding> {
  for (const process of alive) {
    const { namespace, name } = process;
    if (process.excludes) {
      const message = `mooring cleanup runs in namespace ${namespace}: no operator there takes an account before it ends`;
      yield { level: "warn", message };
      continue;
    }
    const count = accounts.filter((account) => isServer(process, account)).length;
    const what = `${count} ${count === 1 ? "account" : "accounts"}`;
    yield { level: "ok", message: `operator process ${name} in namespace ${namespace} serves ${what}` };
  }
  for (const account of accounts) {
    const { server } = account.status ?? {};
    // Nobody serves a ClusterAccount that no object needs. What needs one gives it the finalizer.
    if (isClusterAccount(account) && account.metadata.finalizers?.includes(FINALIZER) !== true) continue;
    if (server === undefined || alive.some((process) => isServer(process, account))) continue;
    const { namespace, lease, released } = server;
    const why = released === undefined ? "does not run" : `released it at ${released}`;
    const message = `${textOf(account)} is not served: process ${lease} in namespace ${namespace} ${why}. Another one takes it over within 20 s. If not, look at: kubectl logs -n ${namespace} -l app.kubernetes.io/name=mooring`;
    yield { level: "bad", message };
  }
}

function isServer({ namespace, name }: Process, { status }: AnyAccount): boolean {
  const { server } = status ?? {};
  return server?.namespace === namespace && server.lease === name && server.released === undefined;
}

function textOf(account: AnyAccount): string {
  const kind = isClusterAccount(account) ? "ClusterAccount" : "Account";
  return `${kind} ${keyOf(account)}`;
}
