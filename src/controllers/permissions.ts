import type { Resource } from "../kube/resource.ts";

/** A value of the chart that grants the operator permissions in the namespaces that it lists. */
export type GrantingValue =
  | "rbac.secretNamespaces"
  | "rbac.exportNamespaces.configMaps"
  | "rbac.exportNamespaces.secrets";

/** How to grant the operator verbs on a resource in a namespace, for the message of a condition. */
export function howToGrant(resource: Resource, namespace: string, verbs: string, value: GrantingValue): string {
  return `add ${namespace} to ${value} in the values of the operator's chart, or grant the operator ${verbs} on ${resource.plural} in namespace ${namespace}`;
}
