import { ANNOTATIONS } from "./meta.ts";

/** An object that a command names. Its names are those of Kubernetes: they need no quotes in a shell. */
export type CommandTarget = { kind: string; namespace?: string | undefined; name: string };

/** `kind`: of an object from a list, which has none. */
export function targetOf(
  object: { kind?: string | undefined; metadata: { namespace?: string | undefined; name: string } },
  kind = object.kind ?? "job",
): CommandTarget {
  const { namespace, name } = object.metadata;
  return { kind, namespace, name };
}

/** Every command that Mooring offers. A message that shows one makes it here, too. */
export const COMMANDS = {
  /** Shows what is known of a halted job, with the bills, and carries out a decision. */
  resolve: ({ kind, namespace, name }: CommandTarget) =>
    `mooring resolve ${kind.toLowerCase()}/${name}${namespace === undefined ? "" : ` -n ${namespace}`}`,
  attachTask: (job: CommandTarget) => annotate(job, `${ANNOTATIONS.attachTask}=TASK_ID`),
  resubmit: (job: CommandTarget) => annotate(job, `${ANNOTATIONS.resubmitToken}="$(date +%s)"`),
  remove: (object: CommandTarget) => `kubectl delete ${kindFirst(object)}`,
  retain: (endpoint: CommandTarget) => annotate(endpoint, `${ANNOTATIONS.deletionPolicy}=Retain`),
  reconcile: (object: CommandTarget) => annotate(object, `${ANNOTATIONS.reconcileRequestedAt}="$(date)"`),
  installKinds: () => "mooring crds | kubectl apply --server-side -f -",
  listAccounts: (namespace: string) => `kubectl get accounts,clusteraccounts -n ${namespace}`,
  /** `args`: `KEY=VALUE` sets a label, `KEY-` removes it. */
  labelNamespace: (namespace: string, args: readonly string[]) =>
    `kubectl label namespace ${namespace} ${args.join(" ")} --overwrite`,
  /** Creates a Secret or ConfigMap with these keys. */
  createData(data: CommandTarget, keys: readonly string[]) {
    const what = data.kind === "Secret" ? "secret generic" : "configmap";
    const values = keys.map((key) => ` --from-literal=${key}=VALUE`).join("");
    return `kubectl create ${what} ${data.name} -n ${data.namespace}${values}`;
  },
  addKey: (data: CommandTarget, key: string) =>
    `kubectl patch ${kindFirst(data)} --type=merge -p '{"${data.kind === "Secret" ? "stringData" : "data"}":{"${key}":"VALUE"}}'`,
  restoreBaseURL({ kind, namespace, name }: CommandTarget, baseURL: string) {
    const patch = JSON.stringify({ spec: { baseURL } }).replaceAll("'", String.raw`'\''`);
    const target = `${kind.toLowerCase()} ${name}${namespace === undefined ? "" : ` -n ${namespace}`}`;
    return `kubectl patch ${target} --type=merge -p '${patch}'`;
  },
  releaseAccount: (account: CommandTarget) =>
    `kubectl patch ${kindFirst(account)} --subresource=status --type=merge -p '{"status":{"server":null}}'`,
} as const;

function annotate(object: CommandTarget, annotation: string): string {
  return `kubectl annotate ${kindFirst(object)} ${annotation} --overwrite`;
}

function kindFirst({ kind, namespace, name }: CommandTarget): string {
  return `${kind.toLowerCase()}${namespace === undefined ? "" : ` -n ${namespace}`} ${name}`;
}
