/** A verb on a resource that the operator needs in the namespaces it serves, as the chart grants it. */
export type Right = { group: string; resource: string; subresource?: "status"; verb: string };

const GROUP = "mooring.dev";
const VERBS: Readonly<Record<string, readonly string[]>> = {
  accounts: ["list", "watch", "patch"],
  artifactstores: ["list", "watch"],
  billreports: ["list", "watch"],
  clusteraccounts: ["list", "watch", "patch"],
  gpuendpoints: ["list", "watch", "patch"],
  speechjobs: ["list", "watch", "patch", "delete"],
  videojobs: ["list", "watch", "patch", "delete"],
};

/** Every right of an operator that serves all namespaces, but for its own lease and journal. */
export const OPERATOR_RIGHTS: readonly Right[] = [
  ...Object.entries(VERBS).flatMap(([resource, verbs]) => [
    ...verbs.map((verb): Right => ({ group: GROUP, resource, verb })),
    { group: GROUP, resource, subresource: "status" as const, verb: "patch" },
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
