import { KIND_ROWS } from "./kinds.ts";

/** A verb on a resource that the operator needs in the namespaces it serves, as the chart grants it. */
export type Right = { group: string; resource: string; subresource?: "status"; verb: string };

/** Every right of an operator in each namespace that it serves, except for leases. */
export const OPERATOR_RIGHTS: readonly Right[] = [
  ...Object.values(KIND_ROWS).flatMap(({ resource: { group, plural }, verbs }): Right[] => [
    ...["list", "watch", ...verbs].map((verb) => ({ group, resource: plural, verb })),
    { group, resource: plural, subresource: "status", verb: "patch" },
    { group, resource: plural, subresource: "status", verb: "update" },
  ]),
  { group: "", resource: "namespaces", verb: "get" },
  { group: "", resource: "namespaces", verb: "list" },
  { group: "", resource: "services", verb: "get" },
  { group: "events.k8s.io", resource: "events", verb: "create" },
  { group: "events.k8s.io", resource: "events", verb: "patch" },
];

/** Rights that an operator has in single namespaces only, by the ClusterRole of the chart that grants them there. */
export const NAMESPACE_RIGHTS = {
  "secret-reader": rightsOn(["secrets", "configmaps"], ["get"]),
  "configmap-exporter": rightsOn(["configmaps"], ["get", "create", "patch", "delete"]),
  "secret-exporter": rightsOn(["secrets"], ["get", "create", "patch", "delete"]),
} as const satisfies Record<string, readonly Right[]>;

function rightsOn(resources: readonly string[], verbs: readonly string[]): Right[] {
  return resources.flatMap((resource) => verbs.map((verb) => ({ group: "", resource, verb })));
}

/** As `kubectl auth can-i` names it: `patch gpuendpoints.mooring.dev/status`. */
export function rightText({ group, resource, subresource, verb }: Right): string {
  return `${verb} ${resource}${group === "" ? "" : `.${group}`}${subresource === undefined ? "" : `/${subresource}`}`;
}
