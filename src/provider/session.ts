import type { LookupFunction } from "node:net";
import type { Logger } from "pino";
import type { Clock } from "../base/clock.ts";
import type { CallEvent } from "./call-options.ts";
import { createServiceClient } from "./client.ts";
import { createEndpoints, type EndpointSettings } from "./endpoints/endpoints.ts";
import { createRecordBudget, type RecordBudget } from "./endpoints/record-budget.ts";
import { createBreaker } from "./http/breaker.ts";
import type { OpenDispatcher } from "./http/connections.ts";
import { createGate, type GateOptions } from "./http/gate.ts";
import { createTransport } from "./http/transport.ts";
import { createAccountMoney } from "./money/account-money.ts";
import type { CollectMonth, MoneySettings } from "./money/spend.ts";
import type { DeleteOperation, Operation, PathOverrides } from "./operations.ts";
import type { ResponseMemory } from "./response-memory.ts";
import { streamBody, submitBody } from "./speech/body.ts";
import { createTaskPoller } from "./tasks/poller.ts";
import type { AccountSession } from "./types.ts";
import { spelled } from "./wire/spelling.ts";

export type ConnectionSettings = {
  /** http(s), with or without a path prefix; no credentials, query or fragment. */
  baseURL: string;
  /** Read before every request: a rotated key takes effect at once. */
  apiKey: () => string;
  requestTimeoutMs: number;
  /** Refuses addresses; undefined allows all. */
  lookup: LookupFunction | undefined;
  /** Opens the connections. Default: sockets. */
  open?: OpenDispatcher | undefined;
  /** Paths that replace those of the interface. */
  paths: PathOverrides;
  /** undefined: endpoints cannot be deleted. */
  deleteOperation: DeleteOperation | undefined;
};

export type RateSettings = Pick<GateOptions, "requestsPerSecond" | "burst" | "requestsPerMinute" | "startsEmpty">;

/** Callbacks. They must not throw. */
export type SessionObservers = {
  /** An endpoint is new, changed, gone, or missing in a list for the first time. */
  onEndpoint: (id: string, appName: string) => void;
  /** A list of the endpoints is complete. */
  onEndpointsListed: () => void;
  /** A poll shows a change that a user would notice. */
  onTask: (taskID: string) => void;
  /** Bills or budgets were read. */
  onMoneyRead: () => void;
  onMoneyFailed: () => void;
  /** Takes the bills of the current month while they are read. Default: nothing does. */
  collectMonth?: CollectMonth | undefined;
  /** A call ended. */
  onCall: (event: CallEvent) => void;
  /** A call of an observer failed: the list or a poll. */
  onObserverError: (error: unknown) => void;
};

export type SessionOptions = {
  connection: ConnectionSettings;
  rate: RateSettings;
  endpoints: EndpointSettings;
  money: MoneySettings;
  observers: SessionObservers;
  /** Memory for large bodies of responses; default: of this session alone. */
  memory?: ResponseMemory | undefined;
  /** Memory for the records of endpoints; default: a budget of this session alone. */
  records?: RecordBudget | undefined;
  /** Why nothing may be sent now; undefined: it may. */
  held: (operation: Operation) => string | undefined;
  /** Throws while another process may serve the account. No call is sent then. */
  assertServing: () => void;
  clock: Clock;
  /** In [0, 1), for jitter. */
  random: () => number;
  log: Logger;
};

/**
 * Opens a session for one account. Calls work at once; the observers run after `start`.
 * @throws never; a base URL or key that cannot work fails each call with `Misconfigured`
 */
export function openSession(options: SessionOptions): AccountSession {
  const { connection, observers, clock, random, log } = options;
  const { baseURL, apiKey, requestTimeoutMs, lookup, open, paths, deleteOperation } = connection;
  const connect = lookup === undefined ? {} : { connect: { lookup } };
  const transport = createTransport({
    baseURL,
    apiKey,
    requestTimeoutMs,
    ...connect,
    open,
    clock,
    memory: options.memory,
  });
  const gate = createGate({ clock, random, ...options.rate });
  const { held, assertServing } = options;
  const breaker = createBreaker({ clock, random, held, assertServing, probe: "getEndpointLimits" });
  const { onCall, onObserverError } = observers;
  const records = (options.records ?? createRecordBudget()).open();
  const client = createServiceClient({ transport, clock, gate, breaker, paths, deleteOperation, onCall });

  const endpoints = createEndpoints({
    client,
    settings: options.endpoints,
    onChange: observers.onEndpoint,
    onListed: observers.onEndpointsListed,
    onError: onObserverError,
    records,
    clock,
    log,
  });
  const tasks = createTaskPoller({ client, clock, random, onChange: observers.onTask, onError: onObserverError });
  const money = createAccountMoney({
    client,
    settings: options.money,
    onRead: observers.onMoneyRead,
    onFailed: observers.onMoneyFailed,
    collectMonth: observers.collectMonth,
    clock,
    log,
  });

  return {
    baseURL,
    endpoints,
    tasks,
    speech: {
      synthesize: (request, options, sink) => client.synthesizeSpeech(spelled(request), options, sink),
      stream: ({ excludeAggregatedAudio, ...request }, options) =>
        client.streamSpeech(streamBody(request, excludeAggregatedAudio), options),
      submit: (request, options) => client.submitSpeech(submitBody(request), options),
    },
    video: {
      imageToVideo: (request, options) => client.submitImageToVideo(spelled(request), options),
      videoToVideo: (request, options) => client.submitVideoToVideo(spelled(request), options),
    },
    money,
    sanitizer: transport.sanitizer,
    probe: endpoints.readLimits,
    keyChanged: endpoints.keyChanged,
    requests: { waiting: gate.waiting, breakerState: breaker.state },
    start() {
      endpoints.start();
      tasks.start();
      money.start();
    },
    async close() {
      await Promise.all([endpoints.stop(), tasks.stop(), money.stop()]);
      records.close();
      await transport.close();
    },
  };
}

/** A session without observers. */
export type PassiveSessionOptions = Omit<
  SessionOptions,
  "endpoints" | "money" | "observers" | "held" | "assertServing"
> & {
  /** Default: no other process serves the account. */
  assertServing?: SessionOptions["assertServing"];
  endpoints: Omit<EndpointSettings, "wanted" | "detailsWanted" | "expected">;
  billing: MoneySettings["billing"];
};

/** Opens a session that is never started: it sends only what its caller asks for. */
export function openPassiveSession({ endpoints, billing, ...options }: PassiveSessionOptions): AccountSession {
  const never = () => false;
  const ignore = () => {};
  return openSession({
    ...options,
    endpoints: { ...endpoints, wanted: never, detailsWanted: never, expected: () => 0 },
    money: {
      billing,
      wanted: never,
      memberID: () => undefined,
      billsUrgency: () => "None",
      budgetsUrgency: () => "None",
    },
    observers: {
      onEndpoint: ignore,
      onEndpointsListed: ignore,
      onTask: ignore,
      onMoneyRead: ignore,
      onMoneyFailed: ignore,
      onCall: ignore,
      onObserverError: ignore,
    },
    held: () => undefined,
    assertServing: options.assertServing ?? (() => undefined),
  });
}
