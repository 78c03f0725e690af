import type { Route } from "../dispatch.ts";
import { membersSeenBy } from "../keys.ts";
import { refuse } from "../refusal.ts";
import type { Service } from "../service.ts";
import { isRecord } from "../validate.ts";

/**
 * Returns what serves a request that deletes an endpoint, or undefined for another request. The `deleteOperation`
 * assumption can change while the simulator runs, so that no fixed route can serve it.
 */
export function endpointDeletion(
  service: Service,
  request: { method: string; url: string },
): Pick<Route, "operation" | "handle"> | undefined {
  const { deleteOperation } = service.config();
  if (deleteOperation === null || deleteOperation.method !== request.method) return undefined;
  const { method, path, idField } = deleteOperation;
  const [before = "", after = ""] = path.split("{id}");
  const asked = request.url.split("?", 1)[0] ?? "";
  const named = idField === undefined;
  if (named ? !(asked.startsWith(before) && asked.endsWith(after)) : asked !== path) return undefined;
  const inPath = decodeURIComponent(asked.slice(before.length, asked.length - after.length));
  if (named && (inPath === "" || inPath.includes("/"))) return undefined;
  const handle: Route["handle"] = ({ query, body, key }) => {
    const carrier = method === "DELETE" ? query : body;
    const id = named ? inPath : isRecord(carrier) ? carrier[idField] : undefined;
    if (typeof id !== "string" || id === "") throw refuse.invalid(`${idField}: is required`);
    service.endpoints.get(id, membersSeenBy(key, service.config().keySees));
    service.endpoints.startDeletion(id);
    return { body: {}, effect: "EndpointDeleted", id };
  };
  return { operation: "deleteEndpoint", handle };
}
