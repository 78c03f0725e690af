import * as z from "zod";
import { KINDS } from "../../api/v1alpha1/kinds.ts";
import type { ClusterSession, Found, ObjectName } from "../cluster-session.ts";
import { RequestError } from "../request-error.ts";

/** A cluster-scoped object has the namespace `-` in paths. */
export const CLUSTER_SCOPED = "-";

export const objectPathSchema = z.object({
  kind: z.enum(KINDS.map(({ resource }) => resource.kind)),
  namespace: z
    .string()
    .max(63)
    .transform((namespace) => (namespace === CLUSTER_SCOPED ? "" : namespace)),
  name: z.string().max(253),
});

/** The object that the path names. @throws RequestError when the user does not see such an object */
export function requestedObject(session: ClusterSession, params: unknown): Found {
  return objectOf(session, objectPathSchema.parse(params));
}

/** @throws RequestError when the user does not see such an object */
export function objectOf(session: ClusterSession, key: ObjectName): Found {
  const found = session.find(key);
  if (found !== undefined) return found;
  const where = key.namespace === "" ? "" : ` in namespace ${key.namespace}`;
  throw new RequestError(404, `${key.kind} ${key.name} does not exist${where}, or you may not see it`);
}
