import { stringify } from "yaml";
import { KINDS } from "../src/api/v1alpha1/kinds.ts";
import { KIND_ROWS } from "../src/operator/kinds.ts";

const HEADING = "# Generated from src/operator/kinds.ts by `npm run generate`; do not edit.\n";

/** The table of kinds for the chart, which derives its RBAC from it. */
export function chartKinds(): string {
  const scalable = KINDS.filter(({ scale }) => scale !== undefined).map(({ resource }) => resource.plural);
  const kinds = Object.values(KIND_ROWS).map(({ resource: { plural, namespaced }, verbs, changedBy }) => ({
    resource: plural,
    namespaced,
    verbs: ["list", "watch", ...verbs],
    ...(changedBy === undefined ? {} : { changedBy }),
    ...(scalable.includes(plural) ? { scalable: true } : {}),
  }));
  return HEADING + stringify({ kinds });
}
