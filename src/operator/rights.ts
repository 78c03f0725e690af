import { KIND_ROWS } from "./kinds.ts";

/** A verb on a resource that the operator needs in the namespaces it serves, as the chart grants it. */
export type Right = { group: string; resource: string; subresource?: "status"; verb: string };

/** Every right of an operator that serves all namespaces, except for its own lease and journal. */
export const OPERATOR_RIGHTS: readonly Right[] = [
  ...Object.values(KIND_ROWS).flatMap(({ resource: { group, plural }, verbs }): Right[] => [
    ...["list", "watch", ...verbs].map((verb) => ({ group, resource: plural, verb })),
    { group, resource: plural, subresource: "status", verb: "patch" },
  ]),
  ...["get", "create", "patch", "delete"].map((verb): Right => ({ group: "", resource: "configmaps", verb })),
  { group: "", resource: "secrets", verb: "get" },
  { group: "", resource: "namespaces", verb: "get" },
  { group: "events.k8s.io", resource: "events", verb: "create" },
  { group: "events.k8s.io", resource: "events", verb: "patch" },
];

/** As `kubectl auth can-i` names it: `patch gpuendpoints.mooring.dev/status`. */
export function rightText({ group, resource, subresource, verb }: Right): string {
  return `${verb} ${resource}${group === "" ? "" : `.${group}`}${subresource === undefined ? "" : `/${subresource}`}`;
}
