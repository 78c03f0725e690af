import { KINDS } from "../api/v1alpha1/kinds.ts";
import type { Resource } from "../kube/resource.ts";

/** An object as a user names it: `KIND/NAME`, with the kind in singular, plural or short form. */
export type NamedObject = { resource: Resource; name: string };

/** @throws Error of one line that lists what is allowed */
export function namedObject(argument: string): NamedObject {
  const [kind = "", name = "", ...more] = argument.split("/");
  if (name === "" || more.length > 0) throw new Error(`"${argument}" does not name an object: write KIND/NAME`);
  const wanted = kind.toLowerCase().replace(/\.mooring\.dev$/, "");
  const found = KINDS.find(({ resource, singular, shortNames }) =>
    [singular, resource.plural, ...shortNames].includes(wanted),
  );
  if (found !== undefined) return { resource: found.resource, name };
  const allowed = KINDS.map(({ singular }) => singular).join(", ");
  throw new Error(`"${kind}" is not a kind of Mooring: use one of ${allowed}`);
}
