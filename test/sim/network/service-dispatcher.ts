import type { Dispatcher } from "undici";
import type { CoreAnswer, CoreRequest } from "../../../src/simulator/core.ts";
import type { Random } from "../../../src/simulator/random.ts";
import { InProcessDispatcher } from "../../support/in-process-dispatcher.ts";
import type { ProcessTime } from "../engine/process-clock.ts";
import { hashText, type Scheduler } from "../engine/scheduler.ts";
import { createExchange, type Exchange, type Response, requestOf } from "./exchange.ts";
import { countFault, drawFault, drawLatency, type FaultCounts, type RequestFault, type Weather } from "./weather.ts";

/** `instead`: what arrives instead of the response; `reset`: the connection breaks, `cut`: the response breaks off. */
export type ServiceAnswer = CoreAnswer & { instead?: Response | "reset" | "cut" };

export type ServiceNetwork = {
  scheduler: Scheduler;
  /** The request takes effect. */
  call: (request: CoreRequest) => Promise<ServiceAnswer>;
  weather: () => Weather;
  random: Random;
  counts: FaultCounts;
  /** The first byte of a request is about to leave the process, or the request has left it. The process may end here. */
  onSend: (request: CoreRequest, moment: "Before" | "After") => void;
  /** The process has the whole response to a request that it sent, or gets none (undefined). */
  onEnd?: (request: CoreRequest, response: Response | undefined) => void;
};

/** Longest delay of a request: within the time that a create may take to show (LOOKUP_MS in plan.ts). */
const LATEST_MS = 20_000;

/** Connections of one process to the remote service, one for each request. */
export class ServiceDispatcher extends InProcessDispatcher {
  readonly #network: ServiceNetwork;
  readonly #time: ProcessTime;

  constructor(network: ServiceNetwork, time: ProcessTime) {
    super();
    this.#network = network;
    this.#time = time;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const { weather, random, scheduler, counts, onEnd } = this.#network;
    const request = requestOf(options);
    const exchange = createExchange(handler, this.#time.alive, (response) => onEnd?.(request, response));
    const fault = drawFault(weather(), random, options.method);
    if (fault !== undefined) countFault(counts, `service ${fault}`);
    scheduler.after(drawLatency(weather(), random), () =>
      this.#time.deliver(() => {
        if (fault === "refused") exchange.fail("connect ECONNREFUSED");
        else if (exchange.start()) this.#send(request, fault, exchange);
      }),
    );
    return true;
  }

  #send(request: CoreRequest, fault: RequestFault | undefined, exchange: Exchange): void {
    const { onSend } = this.#network;
    if (this.#time.alive()) onSend(request, "Before");
    if (!this.#time.alive()) return;
    this.#transmit(request, fault, exchange);
    onSend(request, "After");
  }

  /** A response without effect. */
  #early(request: CoreRequest, fault: RequestFault | undefined): Response | undefined {
    if (fault === "errorBefore") return serverError(request);
    if (fault === "throttled") return throttled(this.#network.counts.get("service throttled") ?? 0);
    return fault === "gatewayBefore" ? GATEWAY_PAGE : undefined;
  }

  #transmit(request: CoreRequest, fault: RequestFault | undefined, exchange: Exchange): void {
    const { scheduler, random, weather } = this.#network;
    const latency = () => drawLatency(weather(), random);
    const later = (run: () => void) => scheduler.after(latency(), () => this.#time.deliver(run));
    if (fault === "requestSwallowed") return;
    if (fault === "requestLost") {
      later(() => exchange.fail("other side closed"));
      return;
    }
    const early = this.#early(request, fault);
    if (early !== undefined) {
      later(() => exchange.answer(early));
      return;
    }
    const late = fault === "late" ? random.between(1_000, LATEST_MS) : 0;
    scheduler.after(late + latency(), () => {
      void this.#network.call(request).then((answer) => {
        const content = hashText(JSON.stringify([request.path, request.query, request.body ?? null])).toString(16);
        scheduler.trace(
          `service ${answer.operation} ${content} ${answer.status} ${answer.effect ?? ""} ${fault ?? ""}`,
        );
        if (fault === "responseSwallowed") return;
        later(() => respond(exchange, answer, { request, fault }));
      });
    });
  }
}

function respond(
  exchange: Exchange,
  answer: ServiceAnswer,
  { request, fault }: { request: CoreRequest; fault: RequestFault | undefined },
): void {
  const { instead } = answer;
  if (typeof instead === "object") exchange.answer(instead);
  else if (fault === "responseLost" || instead === "reset") exchange.fail("other side closed");
  else if (fault === "errorAfter") exchange.answer(serverError(request));
  else if (fault === "gatewayAfter") exchange.answer(GATEWAY_PAGE);
  else exchange.answer(jsonResponse(answer.status, answer.body), fault === "truncated" || instead === "cut");
}

/** An error that quotes the request with its secrets, as careless services do. */
const serverError = ({ authorization, body }: CoreRequest): Response =>
  jsonResponse(500, {
    code: 500,
    reason: "INTERNAL",
    message: `${authorization} sent ${JSON.stringify(body)}`,
    metadata: {},
  });

const GATEWAY_PAGE: Response = {
  status: 502,
  headers: { "content-type": "text/html" },
  text: "<html><body>502 Bad Gateway</body></html>",
};

/** Every third 429 says how long to wait. */
function throttled(count: number): Response {
  const response = jsonResponse(429, { code: 429, reason: "RATE_LIMIT_EXCEEDED", message: "too many requests" });
  return count % 3 === 0 ? { ...response, headers: { ...response.headers, "retry-after": "7" } } : response;
}

/** A text is a stream of lines. */
export function jsonResponse(status: number, body: unknown): Response {
  const text = typeof body === "string" ? body : (JSON.stringify(body) ?? "");
  const type = typeof body === "string" ? "text/event-stream" : "application/json";
  return { status, headers: { "content-type": type }, text };
}
