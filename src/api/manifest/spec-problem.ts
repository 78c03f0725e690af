import { isObject } from "../../base/own-value.ts";
import type { Resource } from "../../kube/resource.ts";
import { KINDS } from "../v1alpha1/kinds.ts";
import { schemaProblems } from "./manifest-problems.ts";

/** Problems that one message lists. */
const SHOWN = 3;

const known = new WeakMap<object, string | undefined>();

/**
 * Why the schema or a rule of a kind refuses a stored spec; undefined when nothing does. The API server refuses such a spec when it is
 * written. It can be stored nevertheless: an update does not check fields that it leaves unchanged, so a spec can be older than a rule,
 * and the CRDs in the cluster can be older than the operator. The result is kept for as long as `spec` is in memory.
 */
export function specProblem({ kind }: Pick<Resource, "kind">, spec: object): string | undefined {
  if (!known.has(spec)) known.set(spec, problemOf(kind, spec));
  return known.get(spec);
}

/** Reuses the result of a whole spec for its shortened copy, which the schema cannot judge. */
export function keepProblem(
  resource: Pick<Resource, "kind">,
  whole: { spec?: unknown },
  copy: { spec?: unknown },
): void {
  if (!isObject(whole.spec) || !isObject(copy.spec)) return;
  known.set(copy.spec, specProblem(resource, whole.spec));
}

function problemOf(kind: string, spec: object): string | undefined {
  const definition = KINDS.find(({ resource }) => resource.kind === kind);
  if (definition === undefined) throw new Error(`there is no kind ${kind}`);
  const problems = schemaProblems(definition.spec, spec);
  if (problems.length === 0) return undefined;
  const shown = problems.slice(0, SHOWN).map(({ path, message }) => `${path.join(".")}: ${message}`);
  const others = problems.length > SHOWN ? [`and ${problems.length - SHOWN} more`] : [];
  return [...shown, ...others].join("; ");
}
