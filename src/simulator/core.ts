import type { AuditEntry } from "./audit.ts";
import { operationOf, perform, type Route, type RouteTable } from "./dispatch.ts";
import { refusalBody } from "./refusal.ts";
import { billingRoutes } from "./routes/billing.ts";
import { endpointDeletion } from "./routes/endpoint-deletion.ts";
import { endpointsV1Routes } from "./routes/endpoints-v1.ts";
import { endpointsV2Routes } from "./routes/endpoints-v2.ts";
import { speechRoutes } from "./routes/speech.ts";
import { taskRoutes } from "./routes/tasks.ts";
import { videoRoutes } from "./routes/video.ts";
import type { Service } from "./service.ts";

/** Adds every operation of the interface. */
export function addOperations(table: RouteTable, service: Service): void {
  for (const add of [endpointsV1Routes, endpointsV2Routes, taskRoutes, speechRoutes, videoRoutes, billingRoutes]) {
    add(table, service);
  }
}

export type CoreRequest = {
  method: string;
  path: string;
  query: Record<string, string>;
  authorization: string | undefined;
  body: unknown;
};

/** A whole response. A stream of lines is joined. */
export type CoreAnswer = Pick<AuditEntry, "effect" | "id"> & { operation: string; status: number; body: unknown };

/** The operations of the service without HTTP: a request takes effect when `call` is called. */
export function createCore(service: Service): {
  call(request: CoreRequest): Promise<CoreAnswer>;
  /** The name of the operation that a request calls; `unknown`: there is none. */
  operationOf(request: CoreRequest): string;
} {
  const routes: { route: Route; pattern: string[] }[] = [];
  addOperations({ add: (route) => routes.push({ route, pattern: route.path.split("/") }) }, service);

  function find({ method, path }: CoreRequest) {
    const parts = path.split("/");
    for (const { route, pattern } of routes) {
      const params = route.method === method ? paramsOf(pattern, parts) : undefined;
      if (params !== undefined) return { route, params };
    }
    const route = endpointDeletion(service, { method, url: path });
    return route === undefined ? undefined : { route, params: {} };
  }

  return {
    operationOf(request) {
      const found = find(request);
      return found === undefined ? "unknown" : operationOf(found.route, request.body);
    },
    async call(request) {
      const found = find(request);
      if (found === undefined) {
        const message = `${request.method} ${request.path} is not an operation`;
        return { operation: "unknown", status: 404, body: refusalBody(404, "NOT_FOUND", message) };
      }
      const { query, body, authorization } = request;
      const baseURL = service.config().publicURL ?? "http://service.invalid";
      const { params } = found;
      const { status, outcome } = await perform(service, found.route, { query, params, body, authorization, baseURL });
      const answer = { operation: operationOf(found.route, body), status, effect: outcome.effect, id: outcome.id };
      return { ...withoutAbsent(answer), body: "lines" in outcome ? await joined(outcome.lines) : outcome.body };
    },
  };
}

function paramsOf(pattern: readonly string[], parts: readonly string[]): Record<string, string> | undefined {
  if (pattern.length !== parts.length) return undefined;
  const params: Record<string, string> = {};
  for (const [i, name] of pattern.entries()) {
    const part = parts[i] ?? "";
    if (name.startsWith(":")) params[name.slice(1)] = decodeURIComponent(part);
    else if (name !== part) return undefined;
  }
  return params;
}

function withoutAbsent({
  effect,
  id,
  ...answer
}: {
  operation: string;
  status: number;
  effect: AuditEntry["effect"];
  id: string | undefined;
}): Omit<CoreAnswer, "body"> {
  return { ...answer, ...(effect === undefined ? {} : { effect }), ...(id === undefined ? {} : { id }) };
}

async function joined(lines: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const line of lines) text += line;
  return text;
}
