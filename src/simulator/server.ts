import { fastify } from "fastify";
import { ZodError } from "zod";
import type { AssumptionsInput } from "./assumptions.ts";
import { addOperations } from "./core.ts";
import { handlerOf, type RouteTable, record } from "./dispatch.ts";
import { refusalBody } from "./refusal.ts";
import { controlRoutes } from "./routes/control.ts";
import { endpointDeletion } from "./routes/endpoint-deletion.ts";
import { fileRoutes } from "./routes/files.ts";
import { createService } from "./service.ts";

export type SimulatorOptions = {
  /** Default 0: any free port. */
  port?: number;
  /** Default 127.0.0.1. */
  host?: string;
  /** Behaviors that the interface leaves open. Every value has a default. */
  config?: AssumptionsInput;
  /** Default 1. */
  seed?: number;
  /** Returns milliseconds since the epoch; default: the system clock. */
  now?: () => number;
};

export type Simulator = { url: string; port: number; close(): Promise<void> };

/** Bytes. Enough for a text of one million characters, each escaped in JSON. */
const BODY_LIMIT = 16 * 1024 * 1024;

/**
 * Starts the whole remote service as an HTTP server: every operation of the interface, the URLs of results, and the
 * control paths (`/__audit`, `/__faults`, `/__state`, `/__config`).
 *
 * @throws ZodError for an invalid configuration; an Error of Node if the server cannot listen on the address
 */
export async function createSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { port = 0, host = "127.0.0.1", ...rest } = options;
  const service = createService(rest);
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 4096, ignoreTrailingSlash: true },
  });
  const table: RouteTable = {
    add: (route) => app.route({ method: route.method, url: route.path, handler: handlerOf(service, route) }),
  };
  addOperations(table, service);
  fileRoutes(app, service);
  controlRoutes(app, service);
  app.setNotFoundHandler((request, reply) => {
    const deletion = endpointDeletion(service, request);
    if (deletion !== undefined) return handlerOf(service, deletion)(request, reply);
    record({ service, operation: "unknown", request }, undefined, 404);
    return reply.code(404).send(refusalBody(404, "NOT_FOUND", `${request.method} ${request.url} is not an operation`));
  });
  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    // A body that is not JSON, another content type, or an invalid control call.
    const status = error instanceof ZodError ? 400 : (error.statusCode ?? 500);
    if (!request.url.startsWith("/__")) record({ service, operation: "unknown", request }, undefined, status);
    return reply.code(status).send(refusalBody(status, status < 500 ? "INVALID_REQUEST" : "INTERNAL", error.message));
  });
  await app.listen({ port, host, backlog: 4096 });
  const address = app.server.address();
  const bound = typeof address === "object" && address !== null ? address.port : port;
  const shown = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return {
    url: `http://${shown.includes(":") ? `[${shown}]` : shown}:${bound}`,
    port: bound,
    close: () => app.close(),
  };
}
