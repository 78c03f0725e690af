import { type Command, Option } from "commander";
import type { Account, ClusterAccount } from "../../api/v1alpha1/account.ts";
import type { SplitBy } from "../../api/v1alpha1/bill-report.ts";
import { accountResource, clusterAccountResource } from "../../api/v1alpha1/kinds.ts";
import type { AccountRef } from "../../api/v1alpha1/meta.ts";
import { rfc3339 } from "../../base/clock.ts";
import { formatYuan } from "../../base/money.ts";
import { accountKey } from "../../controllers/account/registry.ts";
import { readUsage } from "../../controllers/billing/ledger.ts";
import { openSplit, readNamespaceCreated, type SplitRequest } from "../../controllers/billing/open-split.ts";
import { type SplitView, splitView } from "../../controllers/billing/report/split-view.ts";
import type { Share, Split } from "../../controllers/billing/split.ts";
import type { Month } from "../../controllers/billing/usage-month.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";
import type { OpenCluster } from "../account-source.ts";
import { tableOf } from "../table.ts";

export type SplitFlags = { by?: "namespace" | "object"; operatorNamespace?: string };

export function addSplitOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--by <what>",
        "split the bills by what the namespaces or objects used; you need to read namespaces and the operator's ConfigMaps mooring-usage-*",
      )
        .choices(["namespace", "object"])
        .conflicts("baseUrl"),
    )
    .option(
      "--operator-namespace <name>",
      "namespace of the operator's usage, for --by; default: that of the operator that serves the account",
    );
}

export const splitByOf = ({ by }: SplitFlags): SplitBy | undefined =>
  by === undefined ? undefined : by === "namespace" ? "Namespace" : "Object";

/** The split of a period by what the operator has written down. @throws Error of one line without the permission to read it */
export async function openClusterSplit(
  { kube, namespace }: OpenCluster,
  ref: AccountRef | undefined,
  { operatorNamespace }: SplitFlags,
  request: Omit<SplitRequest, "account">,
): Promise<Split> {
  if (ref === undefined) throw new Error("--by needs an account of the cluster: use --account or --cluster-account");
  const account = accountKey(ref.kind, ref.name, namespace);
  const { signal } = new AbortController();
  const place = operatorNamespace ?? (await servingNamespace(kube, ref, namespace));
  const read = async (key: string, months: readonly Month[]) => {
    const usage = await readUsage(kube, { namespace: place, account: key, months }, signal);
    if (usage.length === 0) process.stderr.write(nothingRead(place, key));
    return usage;
  };
  const sources = { ledger: { read }, namespaceCreated: readNamespaceCreated(kube) };
  try {
    return await openSplit({ ...request, account }, sources, signal);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    throw new Error(
      `you may not read the ConfigMaps mooring-usage-* in namespace ${place} or the namespaces that they name: use a kubeconfig whose user may, name the operator's namespace with --operator-namespace, or create a BillReport with splitBy`,
      { cause: error },
    );
  }
}

/** The namespace of the operator that serves the account, as the account shows it. */
export async function servingNamespace(
  kube: KubeClient,
  { kind, name }: AccountRef,
  namespace: string,
): Promise<string> {
  const [resource, place] =
    kind === "Account" ? [accountResource, { namespace, name }] : [clusterAccountResource, { name }];
  const { status } = await kube.get<Account | ClusterAccount>(resource, place);
  return status?.server?.namespace ?? "mooring-system";
}

function nothingRead(place: string, account: string): string {
  return `warning: the ConfigMaps mooring-usage-* in namespace ${place} have no usage of ${account} in this period, so all is unattributed: the operator writes usage every ten minutes; if it runs in another namespace, name it with --operator-namespace\n`;
}

/** The user may read the usage of all namespaces, so all lines are shown. */
export function allLines(split: Split, by: SplitBy): SplitView {
  return splitView(split.result(), by, { visibility: "All", namespace: "" });
}

/** The lines as a table with at most `rows` rows, the unattributed rest and the total. */
export function splitTable({ by, lines, unattributed = 0n }: SplitView, rows: number): string {
  const isObject = by === "Object";
  const total = lines.reduce((sum, { amount }) => sum + amount, unattributed);
  const shown = lines.slice(0, rows);
  const hidden = lines.slice(rows);
  const line = ({ namespace, object = "", created = 0, amount }: Partial<Share>) => [
    namespace ?? "",
    ...(isObject ? [object, object === "" ? "" : rfc3339(created * 1000)] : []),
    formatYuan(amount ?? 0n),
  ];
  const others = hidden.reduce((sum, { amount }) => sum + amount, 0n);
  return tableOf(
    ["NAMESPACE", ...(isObject ? ["OBJECT", "CREATED"] : []), "AMOUNT"],
    [
      ...shown.map(line),
      ...(hidden.length === 0
        ? []
        : [line({ namespace: `(${hidden.length} more; --rows ${lines.length} shows them)`, amount: others })]),
      line({ namespace: "(unattributed)", amount: unattributed }),
      line({ namespace: "(total)", amount: total }),
    ],
    ["AMOUNT"],
  );
}
