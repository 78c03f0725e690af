import { ANNOTATIONS } from "./meta.ts";

/** An object that a command names. Its names are those of Kubernetes: they need no quotes in a shell. */
export type Target = { kind: string; namespace?: string | undefined; name: string };

/** `kind`: of an object from a list, which has none. */
export function targetOf(
  object: { kind?: string | undefined; metadata: { namespace?: string | undefined; name: string } },
  kind = object.kind ?? "job",
): Target {
  const { namespace, name } = object.metadata;
  return { kind, namespace, name };
}

/** Every kubectl command that Mooring offers. A message that shows one makes it here, too. */
export const COMMANDS = {
  attachTask: (job: Target) => annotate(job, `${ANNOTATIONS.attachTask}=TASK_ID`),
  resubmit: (job: Target) => annotate(job, `${ANNOTATIONS.resubmitToken}="$(date +%s)"`),
  remove: (object: Target) => `kubectl delete ${kindFirst(object)}`,
  retain: (endpoint: Target) => annotate(endpoint, `${ANNOTATIONS.deletionPolicy}=Retain`),
  reconcile: (object: Target) => annotate(object, `${ANNOTATIONS.reconcileRequestedAt}="$(date)"`),
  listAccounts: (namespace: string) => `kubectl get accounts,clusteraccounts -n ${namespace}`,
  restoreBaseURL({ kind, namespace, name }: Target, baseURL: string) {
    const patch = JSON.stringify({ spec: { baseURL } }).replaceAll("'", String.raw`'\''`);
    const target = `${kind.toLowerCase()} ${name}${namespace === undefined ? "" : ` -n ${namespace}`}`;
    return `kubectl patch ${target} --type=merge -p '${patch}'`;
  },
  releaseClaim: (account: Target) =>
    `kubectl patch ${kindFirst(account)} --subresource=status --type=merge -p '{"status":{"claim":null}}'`,
} as const;

function annotate(object: Target, annotation: string): string {
  return `kubectl annotate ${kindFirst(object)} ${annotation} --overwrite`;
}

function kindFirst({ kind, namespace, name }: Target): string {
  return `${kind.toLowerCase()}${namespace === undefined ? "" : ` -n ${namespace}`} ${name}`;
}
