import type { FastifyReply, FastifyRequest } from "fastify";
import type { Assumptions } from "./assumptions.ts";
import type { AuditEntry } from "./audit.ts";
import type { Fault } from "./faults.ts";
import { authenticate, bearerOf, hashKey, type KeyIdentity } from "./keys.ts";
import { recordShape } from "./record-shape.ts";
import { Refusal, refusalBody, refuse } from "./refusal.ts";
import { breakConnection, sendCut, sendGatewayPage, sendStream } from "./responses.ts";
import type { Service } from "./service.ts";

/** Input of a handler. */
export type Call = {
  query: Record<string, string>;
  params: Record<string, string>;
  body: unknown;
  key: KeyIdentity;
  /** Base of the URLs of results. */
  baseURL: string;
};

/** Result of a handler: a JSON body or a stream of lines, and what the call changed. */
export type CallOutcome = Pick<AuditEntry, "effect" | "id"> & ({ body: unknown } | { lines: AsyncIterable<string> });

export type Route = {
  method: "GET" | "POST";
  path: string;
  /** Name of the operation, or a function of the body if two operations share the path. */
  operation: string | ((body: unknown) => string);
  /** Runs after authentication. A call that ends in a Refusal has changed nothing. */
  handle: (call: Call) => CallOutcome | Promise<CallOutcome>;
  /** A read: the response if what it asks for does not exist and `notFound` is `Null`. */
  whenNull?: { body: unknown };
};

/** Takes the operations of the service. */
export type RouteTable = { add(route: Route): void };

/** The name of the operation that a request to the route calls. */
export function operationOf({ operation }: Pick<Route, "operation">, body: unknown): string {
  return typeof operation === "string" ? operation : operation(body);
}

export type Performed = { status: number; outcome: CallOutcome };

/** Performs an operation: authentication, then the effect. */
export async function perform(
  service: Service,
  { operation, handle, whenNull }: Pick<Route, "operation" | "handle" | "whenNull">,
  { authorization, ...call }: Omit<Call, "key"> & { authorization: string | undefined },
): Promise<Performed> {
  const { apiKeys, forbiddenOperations, acceptedStatus } = service.config();
  try {
    const key = authenticate(authorization, apiKeys);
    const name = operationOf({ operation }, call.body);
    if (forbiddenOperations.includes(name)) throw refuse.forbidden(name);
    const outcome = await handle({ ...call, key });
    const status = outcome.effect === undefined ? 200 : acceptedStatus;
    return { status, outcome: "body" in outcome ? recordShape(outcome, service.config()) : outcome };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const hasNull = whenNull !== undefined && error.isNotFound && service.config().notFound === "Null";
    return hasNull ? { status: 200, outcome: { body: whenNull.body } } : refused(error, service.config());
  }
}

/** The response to a refused call. Assumption: see `errorBody` and `notFound`. */
function refused(refusal: Refusal, { errorBody, notFound }: Assumptions): Performed {
  const { reason, message } = refusal;
  const code = refusal.isNotFound && notFound === "404" ? 404 : refusal.status;
  const body = refusalBody(code, reason, message);
  switch (errorBody) {
    case "Reasons":
      return { status: code, outcome: { body } };
    case "Wrapped":
      return { status: code, outcome: { body: { error: body } } };
    case "MessageOnly":
      return { status: code, outcome: { body: { message } } };
  }
}

/** Returns the HTTP handler of a route: faults before the effect, authentication, effect, audit, response. */
export function handlerOf(service: Service, route: Pick<Route, "operation" | "handle" | "whenNull">) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const operation = operationOf(route, request.body);
    const call = { service, operation, request, reply };
    const fault = service.faults.strike(operation, JSON.stringify([request.query, request.body]));
    if (fault?.kind === "latency" && !fault.after) await service.sleep(fault.latencyMs);
    if (fault !== undefined && (await failBefore(call, fault))) return reply;
    const { status, outcome } = await perform(service, route, {
      query: asStrings(request.query),
      params: asStrings(request.params),
      body: request.body,
      authorization: request.headers.authorization,
      baseURL: service.config().publicURL?.replace(/\/+$/, "") ?? `http://${request.host}`,
    });
    return respond(call, fault, status, outcome);
  };
}

type InFlight = { service: Service; operation: string; request: FastifyRequest; reply: FastifyReply };

/** Applies a fault that prevents the effect. Returns true if it ended the call. */
async function failBefore(call: InFlight, fault: Fault): Promise<boolean> {
  const { reply } = call;
  switch (fault.kind) {
    case "resetBefore":
      record(call, fault, null);
      breakConnection(reply);
      return true;
    case "rateLimit":
      record(call, fault, 429);
      if (fault.retryAfter !== undefined) reply.header("retry-after", String(fault.retryAfter));
      await reply.code(429).send(refusalBody(429, "RATE_LIMIT_EXCEEDED", "too many requests"));
      return true;
    case "gatewayPage":
      if (fault.after) return false;
      record(call, fault, fault.status);
      await sendGatewayPage(reply, fault.status);
      return true;
    case "status":
      if (fault.after) return false;
      record(call, fault, fault.status);
      await sendStatus(reply, fault);
      return true;
    default:
      return false;
  }
}

/** Records the call and sends its response, or the response of a fault. The effect has happened. */
async function respond(
  call: InFlight,
  fault: Fault | undefined,
  status: number,
  outcome: CallOutcome,
): Promise<FastifyReply> {
  const { reply } = call;
  switch (fault?.kind) {
    case "resetAfter":
      record(call, fault, null, outcome);
      breakConnection(reply);
      return reply;
    case "truncate":
      record(call, fault, status, outcome);
      await sendCut(reply, status, outcome);
      return reply;
    case "gatewayPage":
      record(call, fault, fault.status, outcome);
      return sendGatewayPage(reply, fault.status);
    case "status":
      record(call, fault, fault.status, outcome);
      return sendStatus(reply, fault);
    default:
      record(call, fault, status, outcome);
  }
  if (fault?.kind === "latency" && fault.after) await call.service.sleep(fault.latencyMs);
  if ("lines" in outcome) {
    await sendStream(reply, outcome.lines);
    return reply;
  }
  return reply.code(status).send(outcome.body);
}

function sendStatus(reply: FastifyReply, fault: Extract<Fault, { kind: "status" }>): FastifyReply {
  reply.code(fault.status).headers(fault.headers);
  if (typeof fault.body === "string") return reply.send(fault.body);
  return reply.send(
    fault.body ??
      (fault.status < 300 ? {} : refusalBody(fault.status, "INJECTED", "injected by a fault of the simulator")),
  );
}

/** Adds a call to the audit log. */
export function record(
  call: { service: Service; operation: string; request: FastifyRequest },
  fault: Fault | undefined,
  status: number | null,
  outcome: Pick<AuditEntry, "effect" | "id"> = {},
): void {
  const { service, operation, request } = call;
  const key = bearerOf(request.headers.authorization);
  service.audit.add({
    time: new Date(service.now()).toISOString(),
    operation,
    method: request.method,
    path: request.url.split("?", 1)[0] ?? "",
    query: asStrings(request.query),
    body: request.body ?? null,
    keyHash: key === "" ? "" : hashKey(key),
    status,
    ...(outcome.effect === undefined ? {} : { effect: outcome.effect }),
    ...(outcome.id === undefined ? {} : { id: outcome.id }),
    ...(fault === undefined ? {} : { fault: fault.kind }),
  });
}

/** Returns query or path parameters as strings. The last value of a repeated parameter counts. */
function asStrings(values: unknown): Record<string, string> {
  if (typeof values !== "object" || values === null) return {};
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, String(Array.isArray(value) ? value.at(-1) : value)]),
  );
}
