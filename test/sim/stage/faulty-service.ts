import type { CoreAnswer, CoreRequest, createCore } from "../../../src/simulator/core.ts";
import type { Fault } from "../../../src/simulator/faults.ts";
import { bearerOf, hashKey } from "../../../src/simulator/keys.ts";
import { refusalBody } from "../../../src/simulator/refusal.ts";
import type { Service } from "../../../src/simulator/service.ts";
import { jsonResponse, type ServiceAnswer } from "../network/service-dispatcher.ts";

type Core = ReturnType<typeof createCore>;

/** Calls the service with the faults of `service.faults`, and logs each call, as the simulator does over HTTP. */
export function faultyCalls(service: Service, core: Core): (request: CoreRequest) => Promise<ServiceAnswer> {
  return async (request) => {
    const operation = core.operationOf(request);
    const fault = service.faults.strike(operation, JSON.stringify([request.query, request.body]));
    if (fault?.kind === "latency" && !fault.after) await service.sleep(fault.latencyMs);
    const refused = fault && instead(fault, "before");
    const answer: CoreAnswer =
      refused === undefined ? await core.call(request) : { operation, status: statusOf(refused) ?? 0, body: null };
    const response = refused ?? (fault && instead(fault, "after"));
    record(service, request, { answer, fault, status: response === undefined ? answer.status : statusOf(response) });
    if (fault?.kind === "latency" && fault.after) await service.sleep(fault.latencyMs);
    return { ...answer, ...(response === undefined ? {} : { instead: response }) };
  };
}

type Instead = NonNullable<ServiceAnswer["instead"]>;

/** What a process gets instead of the response. `before`: of a fault that prevents the effect. */
function instead(fault: Fault, moment: "before" | "after"): Instead | undefined {
  const isAfter = "after" in fault ? fault.after : fault.kind === "resetAfter" || fault.kind === "truncate";
  if (isAfter !== (moment === "after")) return undefined;
  switch (fault.kind) {
    case "latency":
      return undefined;
    case "resetBefore":
    case "resetAfter":
      return "reset";
    case "truncate":
      return "cut";
    case "rateLimit": {
      const response = jsonResponse(429, refusalBody(429, "RATE_LIMIT_EXCEEDED", "too many requests"));
      const { retryAfter } = fault;
      if (retryAfter !== undefined) response.headers["retry-after"] = String(retryAfter);
      return response;
    }
    case "gatewayPage":
      return {
        status: fault.status,
        headers: { "content-type": "text/html" },
        text: `<html><body>${fault.status}</body></html>`,
      };
    case "status": {
      const { status, body, headers } = fault;
      const injected = refusalBody(status, "INJECTED", "injected by a fault of the simulator");
      const response = jsonResponse(status, body ?? (status < 300 ? {} : injected));
      return { ...response, headers: { ...response.headers, ...headers } };
    }
  }
}

/** null: the connection broke. */
const statusOf = (response: Instead): number | null =>
  response === "reset" ? null : response === "cut" ? 200 : response.status;

function record(
  service: Service,
  { method, path, query, body, authorization }: CoreRequest,
  { answer, fault, status }: { answer: CoreAnswer; fault: Fault | undefined; status: number | null },
): void {
  const { operation, effect, id } = answer;
  const key = bearerOf(authorization);
  service.audit.add({
    time: new Date(service.now()).toISOString(),
    ...{ operation, method, path, query, body: body ?? null, status },
    keyHash: key === "" ? "" : hashKey(key),
    ...(effect === undefined ? {} : { effect }),
    ...(id === undefined ? {} : { id }),
    ...(fault === undefined ? {} : { fault: fault.kind }),
  });
}
