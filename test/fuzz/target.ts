import { pino } from "pino";
import type { Dispatcher } from "undici";
import { openSession } from "../../src/provider/session.ts";
import type { AccountSession } from "../../src/provider/types.ts";
import { createCore } from "../../src/simulator/core.ts";
import { createService } from "../../src/simulator/service.ts";
import { createExchange, type Response, requestOf } from "../sim/network/exchange.ts";
import { hastyClock } from "../support/fake-clock.ts";
import { InProcessDispatcher } from "../support/in-process-dispatcher.ts";
import { type Disturbance, disturbed } from "./answers.ts";
import { type Call, type Known, SPEC } from "./calls.ts";

export const API_KEY = "canary-key-0123456789";
export const GENERATIONS = ["Current", "Earlier"] as const;
export type Generation = (typeof GENERATIONS)[number];

const DELETE_OPERATION = { method: "POST", path: "/gpus/delete", idField: "id" } as const;
const DAY_MS = 86_400_000;

/** How a call ended, and what the service sent. */
export type Execution = {
  call: Call;
  end: { value: unknown } | { error: unknown };
  responses: (Response & { cut: boolean })[];
};

/** A service whose responses arrive disturbed, and the provider layer that calls it. */
export type Target = {
  execute(call: Call, generation: Generation, disturbance: Disturbance): Promise<Execution>;
};

export async function createTarget(): Promise<Target> {
  let now = Date.UTC(2026, 2, 1);
  const service = createService({
    seed: 1,
    now: () => now,
    sleep: async () => {},
    config: { apiKeys: [API_KEY], deleteOperation: DELETE_OPERATION, duplicateAppName: "Accept" },
  });
  const core = createCore(service);

  function open(generation: Generation, disturbance: Disturbance | undefined, onMoney = () => {}) {
    const responses: Execution["responses"] = [];
    const dispatcher = new CallbackDispatcher(async (options, handler) => {
      const exchange = createExchange(handler, () => true);
      if (!exchange.start()) return;
      const request = requestOf(options);
      const answer = await core.call(request);
      const { authorization = "" } = request;
      const response =
        disturbance === undefined
          ? { status: answer.status, headers: {}, text: JSON.stringify(answer.body), cut: false }
          : disturbed(answer, disturbance, authorization);
      responses.push(response);
      exchange.answer(response, response.cut);
    });
    return { session: sessionOver(dispatcher, generation, onMoney), responses };
  }

  const { session } = open("Current", undefined);
  const { taskID } = await session.video.imageToVideo({ prompt: "a", imageURL: "https://a.example/i.png" }, {});
  now += DAY_MS;
  let endpointID = "";

  /** A deletion takes effect at times. */
  async function presentEndpoint(): Promise<string> {
    if (service.endpoints.all().some(({ id }) => id === endpointID)) return endpointID;
    ({ id: endpointID } = await session.endpoints.create(SPEC, {}));
    return endpointID;
  }

  return {
    async execute(call, generation, disturbance) {
      let onMoney = () => {};
      const moneyRead = new Promise<void>((resolve) => {
        onMoney = resolve;
      });
      const known: Known = { endpointID: await presentEndpoint(), taskID, moneyRead };
      const { session: disturbedSession, responses } = open(generation, disturbance, () => onMoney());
      try {
        return { call, end: { value: await call.run(disturbedSession, known) }, responses };
      } catch (error) {
        return { call, end: { error }, responses };
      } finally {
        await disturbedSession.close();
      }
    },
  };
}

function sessionOver(dispatcher: Dispatcher, generation: Generation, onMoney: () => void): AccountSession {
  const ignore = () => {};
  return openSession({
    connection: {
      baseURL: "http://service.invalid",
      apiKey: () => API_KEY,
      requestTimeoutMs: 6_000_000,
      lookup: undefined,
      open: () => dispatcher,
      paths: {},
      deleteOperation: DELETE_OPERATION,
    },
    rate: { requestsPerSecond: 1e6, burst: 1e6 },
    endpoints: {
      generation,
      pageSize: 100,
      intervalMs: 3_600_000,
      wanted: () => false,
      detailsWanted: () => false,
      expected: () => 0,
    },
    money: {
      billing: () => ({ intervalMs: 3_600_000, timeZone: "UTC", settleMs: DAY_MS }),
      wanted: () => true,
      memberID: () => "member-1",
      billsUrgency: () => "None",
      budgetsUrgency: () => "None",
    },
    observers: {
      onEndpoint: ignore,
      onEndpointsListed: ignore,
      onTask: ignore,
      onMoneyRead: onMoney,
      onMoneyFailed: onMoney,
      onCall: ignore,
      onObserverError: ignore,
    },
    held: () => undefined,
    assertServing: ignore,
    clock: hastyClock,
    random: () => 0.5,
    log: pino({ level: "silent" }),
  });
}

class CallbackDispatcher extends InProcessDispatcher {
  readonly #run: (options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => Promise<void>;

  constructor(run: (options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => Promise<void>) {
    super();
    this.#run = run;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    void this.#run(options, handler);
    return true;
  }
}
