import { closestName } from "../api/manifest/manifest-problems.ts";
import type { KindDefinition } from "../api/schema/definition.ts";
import { KINDS } from "../api/v1alpha1/kinds.ts";
import { findObject, type KubeClient } from "../kube/client.ts";
import { isForbidden, isNotFound } from "../kube/errors.ts";
import type { Resource } from "../kube/resource.ts";
import { type KubeObject, keyOf } from "../kube/types.ts";
import type { OpenCluster } from "./account-source.ts";

/** An object as a user names it. `resource`: undefined where the name stands alone. */
export type ObjectWords = { resource: Resource | undefined; name: string };
export type FoundObject<T extends KubeObject> = { resource: Resource; object: T };

/** What the help of a command says of its argument. */
export const OBJECT_HELP = "the object: KIND/NAME, KIND NAME, or NAME alone";

/**
 * The words of a command line, as for kubectl: `KIND/NAME`, `KIND NAME` or `NAME`, with the kind in singular, plural or short form.
 * @param kinds those that the command takes
 * @throws Error of one line that lists what is allowed
 */
export function objectWords(words: readonly string[], kinds: readonly KindDefinition[] = KINDS): ObjectWords {
  const parts = words.flatMap((word) => word.split("/"));
  const [first = "", second] = parts;
  if (parts.length > 2 || parts.includes("") || first === "") {
    throw new Error(`"${words.join(" ")}" does not name an object: write KIND/NAME, KIND NAME, or NAME`);
  }
  return second === undefined ? { resource: undefined, name: first } : { resource: kindOf(first, kinds), name: second };
}

/** A kind as a user names it. @throws Error of one line */
export function kindOf(word: string, kinds: readonly KindDefinition[] = KINDS): Resource {
  const wanted = word.toLowerCase().replace(/\.mooring\.dev$/, "");
  const found = kinds.find(({ resource, singular, shortNames }) =>
    [singular, resource.plural, ...shortNames].includes(wanted),
  );
  if (found !== undefined) return found.resource;
  const allowed = kinds.map(({ singular }) => singular);
  const meant = closestName(wanted, allowed);
  const what = kinds.length === KINDS.length ? "not a kind of Mooring" : "not a kind that this command takes";
  throw new Error(
    `"${word}" is ${what}: ${meant === undefined ? `use one of ${allowed.join(", ")}` : `did you mean ${meant}?`}`,
  );
}

/** Reads the object that a user names. @throws Error of one line: it does not exist, or the name means several */
export async function readNamed<T extends KubeObject>(
  { kube, namespace }: OpenCluster,
  { resource, name }: ObjectWords,
  kinds: readonly KindDefinition[] = KINDS,
): Promise<FoundObject<T>> {
  const candidates = resource === undefined ? kinds.map((kind) => kind.resource) : [resource];
  const reads = candidates.map(async (candidate): Promise<FoundObject<T>[]> => {
    const object = await readIfThere<T>(kube, candidate, { namespace, name }, resource === undefined);
    return object === undefined ? [] : [{ resource: candidate, object }];
  });
  const found = (await Promise.all(reads)).flat();
  const [only, ...others] = found;
  if (only === undefined) throw new Error(notFoundText({ resource, name }, namespace, kinds));
  if (others.length === 0) return only;
  const names = found.map((one) => `${one.resource.kind.toLowerCase()}/${name}`).join(", ");
  throw new Error(`"${name}" names several objects: write one of ${names}`);
}

/** @param several other kinds are asked too, so one that the user may not read is passed over */
async function readIfThere<T extends KubeObject>(
  kube: KubeClient,
  resource: Resource,
  { namespace, name }: { namespace: string; name: string },
  several: boolean,
): Promise<T | undefined> {
  const place = resource.namespaced ? { namespace, name } : { name };
  try {
    return await findObject<T>(kube, resource, place);
  } catch (error) {
    if (several && (isForbidden(error) || isNotFound(error))) return undefined;
    throw error;
  }
}

function notFoundText({ resource, name }: ObjectWords, namespace: string, kinds: readonly KindDefinition[]): string {
  if (resource === undefined) {
    const all = kinds.map(({ singular }) => singular).join(", ");
    return `no object "${name}" (${all}) exists in namespace ${namespace}. To list what does: mooring status -n ${namespace}`;
  }
  const place = resource.namespaced ? ` -n ${namespace}` : "";
  const object = keyOf({ metadata: resource.namespaced ? { namespace, name } : { name } });
  return `${resource.kind} ${object} does not exist. To list those that do: mooring status ${resource.plural}${place}`;
}
