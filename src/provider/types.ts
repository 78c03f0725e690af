import type { Sanitizer } from "../base/sanitizer.ts";
import type { BreakerState, SendOptions } from "./call-options.ts";
import type { KeySession } from "./endpoints/endpoint-index.ts";
import type { EndpointRecord } from "./endpoints/endpoint-record.ts";
import type { EndpointLimits } from "./endpoints/limits.ts";
import type { ServiceError } from "./errors.ts";
import type { ReadTime } from "./money/money-reader.ts";
import type { Bill, KeyBudget } from "./money/money-records.ts";
import type { BillsOfPeriod } from "./money/period.ts";
import type { BillingSettings, Spend } from "./money/spend.ts";
import type { Operation } from "./operations.ts";
import type { SpeechRequest } from "./speech/body.ts";
import type { AudioChunk, AudioSink, SpeechResult } from "./speech/speech-body.ts";
import type { TaskResult, Useless } from "./tasks/task-result.ts";

/*
 * The remote service as the operator and the command line use it. Only src/provider knows its paths, field names, status
 * words and generations.
 *
 * Errors. Every call that fails rejects with a `ServiceError`. Its `kind` tells what is wrong, and its `delivery` what is
 * known of the effect: `NotSent` (no byte left), `Refused` (the service proves that nothing happened), `Accepted` (a 2xx that
 * cannot be used) or `Unknown`. An
 * error that `SendOptions.commit` or `SendOptions.beforeSend` throws is passed on unchanged; nothing is sent then.
 *
 * Delivery. Each call sends its request at most once: there are no retries. A call first waits for the account's rate
 * limit. A call that waits is not sent, and aborting its signal then has no effect at the service.
 *
 * Confirmation. An accepted write proves only that the service took the request. Read the endpoint to confirm a change.
 */

/** A variable of an endpoint. No error shows the value of one that is `secret`. */
export type EndpointVariable = { name: string; value: string; secret: boolean };

export type EndpointVolume =
  | { type: "network"; id: string; mountPath: string }
  | { type: "local"; sizeGB: number; mountPath: string };

/** The desired remote endpoint. An empty string means "none". */
export type EndpointSpec = {
  name: string;
  appName: string;
  products: string[];
  image: string;
  command: string;
  registryAuthID: string;
  port: number;
  workers: {
    min: number;
    max: number;
    idleTimeoutSeconds: number;
    maxConcurrency: number;
    gpus: number;
    requestTimeoutSeconds: number;
  };
  policy: { type: "queue" | "concurrency"; value: number };
  rootfsSizeGB: number;
  volumes: EndpointVolume[];
  /** Cluster of the network volumes. */
  clusterID: string;
  env: EndpointVariable[];
  healthPath: string;
};

/**
 * The account's endpoints as the list shows them. One paged list per interval observes all of them. A list that changes
 * while it is read proves nothing, so one list without an endpoint does not prove that the endpoint is gone.
 */
export type EndpointObserver = {
  get(id: string): EndpointRecord | undefined;
  /** All endpoints with this app name, first those that the service shows: a service can accept a name more than once. */
  byAppName(appName: string): EndpointRecord[];
  /** Whether the last complete list lacks the endpoint, which proves nothing. `get` returns it as it was. */
  missing(id: string): boolean;
  /**
   * Whether two complete lists in a row lack the endpoint. For an endpoint that no list has shown since the start: two
   * lists that began after the first call for it. Lists that were read with another key do not count.
   */
  gone(id: string): boolean;
  /** Resolves when one list is complete since the start. Rejects with the list's error or the signal's reason. */
  first(signal: AbortSignal): Promise<void>;
  /**
   * Resolves when the first list since the start has ended, complete or not, at the latest after 10 s; at once while no list is read.
   * Rejects with the signal's reason.
   */
  firstEnded(signal: AbortSignal): Promise<void>;
  /** Resolves when a list that began after this call is complete. All callers share one list. Rejects as `first` does. */
  next(signal: AbortSignal): Promise<void>;
  /** The endpoints that the service shows with the current key: in its last complete list, or in a read since. */
  shown(): EndpointRecord[];
  /** Stands for the current API key. What was observed in another session proves nothing about what this key can see. */
  session(): KeySession;
  /** Why the last list could not be read; undefined: it could, or it failed for another reason. */
  failure(): string | undefined;
  /** Number of endpoints that are known. */
  total(): number;
  /** Every endpoint; undefined until one list is complete. */
  list(): EndpointRecord[] | undefined;
};

/** GPU endpoints, in the generation of the interface that the account selects. */
export type Endpoints = {
  readonly observed: EndpointObserver;
  /**
   * Reads one endpoint and updates `observed`. undefined: the service does not know the id; `observed` shows the endpoint
   * again when a later list does. Rejects when the response shows
   * another endpoint, which says nothing about this one.
   */
  read(id: string, signal: AbortSignal): Promise<EndpointRecord | undefined>;
  /**
   * Adds `details`, and the sizes of local volumes, which one generation does not show. `Now` reads them. `Remembered`
   * takes them from a slow list of their own; when that list fails, the record comes back as it is.
   */
  complete(record: EndpointRecord, when: "Now" | "Remembered", signal: AbortSignal): Promise<EndpointRecord>;
  /** Searches the service's list for exactly this app name. Returns all endpoints that have it. */
  find(appName: string, signal: AbortSignal): Promise<EndpointRecord[]>;
  /** Reads the whole list now, apart from `observed`. `keyword` "" lists all. */
  list(keyword: string, signal: AbortSignal): Promise<EndpointRecord[]>;
  /** As `complete` with `Now`, by one pass over the list instead of one read per endpoint. */
  completeAll(records: EndpointRecord[], signal: AbortSignal): Promise<EndpointRecord[]>;
  /**
   * Not idempotent: a second call creates a second endpoint. Send it with a record (submission/submit-once.ts). When the delivery is
   * `Accepted` or `Unknown`, search for the app name.
   */
  create(spec: EndpointSpec, options: SendOptions): Promise<{ id: string }>;
  /**
   * Idempotent: replaces every parameter except appName, products and rootfsSizeGB, which only `create` sends. After the
   * call, `observed` ignores what was asked for before it.
   */
  update(id: string, spec: EndpointSpec, options: SendOptions): Promise<void>;
  /**
   * Idempotent. undefined: the account has no delete operation, because the interface document shows none. A resolved
   * call proves only that the service took the request: read the endpoint to confirm.
   */
  delete: ((id: string, options: SendOptions) => Promise<void>) | undefined;
  /** The parameter limits that `AccountSession.probe` read last. */
  limits(): EndpointLimits | undefined;
};

/** What the last successful poll of a task showed, and when (ms since the epoch). */
export type TaskObservation = { result: TaskResult; at: number };

/**
 * Polls of a task that keep failing, or keep showing nothing useful. `since`: the first of them, ms since the epoch.
 * `error`: how the last one ended.
 */
export type PollFailure = { since: number } & ({ error: ServiceError } | { useless: Useless });

/** Asynchronous tasks: one poller for the account, paced by each task's progress and the rate limit. */
export type Tasks = {
  /**
   * Polls the task until `forget`. `submittedAt` (ms since the epoch) paces the first polls. Groups take turns: many tasks
   * of one group do not delay the polls of another. Idempotent.
   */
  follow(taskID: string, submittedAt: number, group: string): void;
  forget(taskID: string): void;
  /** Polls a followed task now. */
  pollNow(taskID: string): void;
  latest(taskID: string): TaskObservation | undefined;
  /**
   * Set when the polls of a followed task have failed or shown no results for a minute, or the same unknown status for an hour, until
   * one shows something else.
   */
  failing(taskID: string): PollFailure | undefined;
  /** Reads a task now, whether it is followed or not. URLs are valid from then on. */
  read(taskID: string, signal: AbortSignal): Promise<TaskObservation>;
  /** Number of tasks that are followed. */
  inFlight(): number;
  /** Ends polling for good. */
  stop(): Promise<void>;
};

/** Speech synthesis. Every call is paid and not idempotent: send it with a record (submission/submit-once.ts). */
export type Speech = {
  /** `sink` takes the bytes; undefined: a response with bytes is unreadable. Its error is passed on unchanged. */
  synthesize(
    request: SpeechRequest & { outputFormat: "url" | "hex" },
    options: SendOptions,
    sink: AudioSink | undefined,
  ): Promise<SpeechResult>;
  /** Sent when iteration starts. Iteration ends normally only when the service reports the end of the synthesis. */
  stream(request: SpeechRequest & { excludeAggregatedAudio: boolean }, options: SendOptions): AsyncIterable<AudioChunk>;
  /** Long text; the result comes from the task. */
  submit(request: SpeechRequest, options: SendOptions): Promise<{ taskID: string }>;
};

/** Video generation, with the parameters of the interface in camelCase. Every call is paid and not idempotent: send it with a record (submission/submit-once.ts). */
export type Video = {
  imageToVideo(request: object, options: SendOptions): Promise<{ taskID: string }>;
  videoToVideo(request: object, options: SendOptions): Promise<{ taskID: string }>;
};

/** Bills and budgets of the account. Amounts are exact, in 1/10000 yuan. */
export type AccountMoney = {
  /** All bills of a period, each once. A closed range is read once, however many callers ask. */
  bills(request: BillsOfPeriod): AsyncIterable<Bill[]>;
  /** undefined until the bills are read once. */
  spend(): Spend | undefined;
  /** Key budgets of the account's member; undefined until they are read once, and without a member. */
  budgets(): readonly KeyBudget[] | undefined;
  /** When the last read that succeeded began; undefined: none did. */
  lastRead(): { bills: ReadTime | undefined; budgets: ReadTime | undefined };
  /** Why the last read failed; undefined: it did not. */
  failures(): { bills: string | undefined; budgets: string | undefined };
  settings(): BillingSettings;
};

/** Everything that runs for one account: one connection pool, one rate limit, one observer, one task poller. */
export type AccountSession = {
  readonly baseURL: string;
  readonly endpoints: Endpoints;
  readonly tasks: Tasks;
  readonly speech: Speech;
  readonly video: Video;
  readonly money: AccountMoney;
  /** For texts that the service returned as exact values: keeps out the account's API keys and the values in `hidden`. */
  sanitizer(hidden?: readonly string[]): Sanitizer;
  /** Reads the parameter limits: a free call that shows whether the service answers and accepts the key. */
  probe(signal: AbortSignal): Promise<EndpointLimits>;
  /** The API key changed: what another key showed does not prove anything any more. */
  keyChanged(): void;
  /** For metrics. */
  readonly requests: { waiting(): number; breakerState(operation: Operation): BreakerState };
  /** Starts the observers. Calls work without it. */
  start(): void;
  /** Ends the observers and the connections; calls in progress fail. */
  close(): Promise<void>;
};
