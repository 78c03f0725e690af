import { structuralSchema } from "../api/schema/structural.ts";
import {
  accountResource,
  artifactStoreResource,
  clusterAccountResource,
  KINDS,
  mediaBatchResource,
  speechJobResource,
  videoJobResource,
} from "../api/v1alpha1/kinds.ts";
import type { ClusterSession } from "./cluster-session.ts";
import { RequestError } from "./request-error.ts";
import type { FormView } from "./view-types.ts";

/** Objects whose values are suggested, and the most suggestions of a field. */
const MAX_OBJECTS = 500;
const MAX_VALUES = 30;
const MAX_LENGTH = 100;
/** Values of these fields are an object's own. */
const PRIVATE = /^spec\.(?:env|items|(?:.*\.)?text|.*rompt)\b/;

/** The fields of a kind as its CRD describes them, and what its fields can be in a namespace. */
export function formView(session: ClusterSession, kind: string, namespace: string): FormView {
  const definition = KINDS.find(({ resource }) => resource.kind === kind);
  if (definition === undefined) throw new RequestError(404, `There is no kind ${kind}`);
  const own = (one: { metadata: { namespace?: string } }) => one.metadata.namespace === namespace;
  const names = (of: string, all = false) =>
    session
      .objects(of)
      .filter((one) => all || own(one))
      .map(({ metadata }) => metadata.name);
  /** The jobs of a namespace have the voices and images of its batches. */
  const templateValues = () => ({
    ...usedValues(session.objects(speechJobResource.kind).filter(own), "spec.template.speech"),
    ...usedValues(session.objects(videoJobResource.kind).filter(own), "spec.template.video"),
  });
  const used = usedValues(session.objects(kind).filter(own), "spec");
  return {
    kind,
    namespaced: definition.resource.namespaced,
    schema: structuralSchema(definition.spec),
    namespaces: namespacesOf(session),
    choices: {
      ...(kind === mediaBatchResource.kind ? templateValues() : {}),
      ...used,
      "spec.accountRef.name": [...names(accountResource.kind), ...names(clusterAccountResource.kind, true)],
      "spec.output.storeRef.name": names(artifactStoreResource.kind),
    },
  };
}

/** Namespaces with objects that the user may see. */
function namespacesOf(session: ClusterSession): string[] {
  const all = KINDS.flatMap(({ resource }) =>
    session.objects(resource.kind).map(({ metadata }) => metadata.namespace ?? ""),
  );
  return [...new Set(all)].filter((namespace) => namespace !== "").sort();
}

/** The texts that objects have in their fields, the most frequent first: voices, images, products, regions. */
function usedValues(objects: readonly { spec: unknown }[], place: string): Record<string, string[]> {
  const counts = new Map<string, Map<string, number>>();
  function collect(value: unknown, path: string): void {
    if (PRIVATE.test(path)) return;
    if (Array.isArray(value)) for (const item of value) collect(item, path);
    else if (typeof value === "object" && value !== null) {
      for (const [key, field] of Object.entries(value)) collect(field, `${path}.${key}`);
    } else if (typeof value === "string" && value.length <= MAX_LENGTH) {
      const values = counts.get(path) ?? new Map<string, number>();
      counts.set(path, values.set(value, (values.get(value) ?? 0) + 1));
    }
  }
  for (const { spec } of objects.slice(-MAX_OBJECTS)) collect(spec, place);
  const frequent = (values: Map<string, number>) =>
    [...values].sort(([, a], [, b]) => b - a).flatMap(([value], index) => (index < MAX_VALUES ? [value] : []));
  return Object.fromEntries([...counts].map(([path, values]) => [path, frequent(values)]));
}
