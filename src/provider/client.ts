import type { Clock } from "../base/clock.ts";
import type { Sanitizer } from "../base/sanitizer.ts";
import type { CallEvent } from "./call-options.ts";
import { createEndpointReader } from "./endpoints/endpoint-memory.ts";
import { type EndpointRecord, fromCurrent, fromEarlier } from "./endpoints/endpoint-record.ts";
import { type AccountRecords, createRecordBudget } from "./endpoints/record-budget.ts";
import { ServiceError } from "./errors.ts";
import type { Breaker } from "./http/breaker.ts";
import { createCaller } from "./http/call.ts";
import type { Gate } from "./http/gate.ts";
import type { CallOptions } from "./http/sending.ts";
import type { Transport } from "./http/transport.ts";
import { type Bill, billFrom, type KeyBudget, keyBudgetFrom } from "./money/money-records.ts";
import type { DeleteOperation, Operation, PathOverrides } from "./operations.ts";
import { type AudioChunk, type AudioSink, readSpeechBody, type SpeechResult } from "./speech/speech-body.ts";
import { readSpeechStream } from "./speech/speech-stream.ts";
import { type TaskResult, taskResultFrom } from "./tasks/task-result.ts";
import { ENDPOINT_ID, MOST_BILLS, PAGE_RECORDS, TASK_ID, TEXT } from "./wire/bounds.ts";
import { fieldsOf, identifier, toBoolean, toFields, toNumber, toText, UnusableError } from "./wire/lenient.ts";
import { endpointLimits, type ReportedLimits } from "./wire/limits.ts";

/** A page of the current generation's list. `nextCursor` is "" on the last one. */
export type EndpointPage = { data: EndpointRecord[]; nextCursor: string; hasMore: boolean };
/** A page of the earlier generation's list; `total` is undefined where the service does not show it. */
export type EarlierEndpointPage = { data: EndpointRecord[]; total: number | undefined };

export type ListEndpointsInput = {
  /** Most records on the page, >= 0. */
  limit?: number;
  cursor?: string;
  keyword?: string;
  memberIDs?: string[];
};
export type ListBillsInput = {
  cycleType: "Day" | "Week" | "Month";
  /** Unix seconds. */
  startTime: number;
  endTime: number;
  category?: string;
  productName?: string;
};

/**
 * The wire: one typed function per operation of the interface, in the service's spelling. Only src/provider uses it. The schemas of
 * src/api have checked what a body is made of, and the service checks it again. Each function waits for the rate limit, awaits `commit` and `beforeSend`, sends once, and parses the response leniently. Every failure is a `ServiceError`,
 * except an error that `commit` or `beforeSend` throws.
 */
export type ServiceClient = {
  listEndpoints(input: ListEndpointsInput, options?: CallOptions): Promise<EndpointPage>;
  getEndpoint(input: { endpointID: string }, options?: CallOptions): Promise<EndpointRecord>;
  /** The interface does not show whether `pageNum` starts at 0 or at 1. */
  listEndpointsEarlier(
    input: { pageSize: number; pageNum: number },
    options?: CallOptions,
  ): Promise<EarlierEndpointPage>;
  getEndpointEarlier(input: { id: string }, options?: CallOptions): Promise<EndpointRecord>;
  createEndpoint(input: object, options?: CallOptions): Promise<{ id: string }>;
  updateEndpoint(input: object, options?: CallOptions): Promise<void>;
  /**
   * undefined: the account sets no delete operation. A 2xx that reports no error means that the service took the request:
   * confirm by a read.
   */
  deleteEndpoint: ((input: { endpointID: string }, options?: CallOptions) => Promise<void>) | undefined;
  getEndpointLimits(input?: Record<string, never>, options?: CallOptions): Promise<ReportedLimits>;
  getTaskResult(input: { taskID: string }, options?: CallOptions): Promise<TaskResult>;
  /** Always sent with stream false. Audio in hex goes to `sink`; without one, only a URL can be read. */
  synthesizeSpeech(input: object, options?: CallOptions, sink?: AudioSink): Promise<SpeechResult>;
  /** Sent when iteration starts, with stream true. Ends normally only when the service reports the end. */
  streamSpeech(input: object, options?: CallOptions): AsyncIterable<AudioChunk>;
  submitSpeech(input: object, options?: CallOptions): Promise<{ taskID: string }>;
  submitImageToVideo(input: object, options?: CallOptions): Promise<{ taskID: string }>;
  submitVideoToVideo(input: object, options?: CallOptions): Promise<{ taskID: string }>;
  listBills(input: ListBillsInput, options?: CallOptions): Promise<Bill[]>;
  listKeyBudgets(input: { memberID: string }, options?: CallOptions): Promise<KeyBudget[]>;
};

export type ServiceClientOptions = {
  transport: Transport;
  clock: Clock;
  gate: Gate;
  /** Memory for the records of endpoints. Default: a budget of this client alone. */
  records?: AccountRecords | undefined;
  /** Default: none; every call is sent. */
  breaker?: Breaker;
  /** Account.spec.paths. */
  paths?: PathOverrides;
  /** Account.spec.endpoints.deleteOperation. */
  deleteOperation?: DeleteOperation | undefined;
  /** A call ended. */
  onCall?: (event: CallEvent) => void;
};

function deletionOf({ method, path, idField }: DeleteOperation, endpointID: string) {
  const request = { method, template: path, id: endpointID };
  if (idField === undefined) return { ...request, path: { id: endpointID } };
  const named = { [idField]: endpointID };
  return method === "DELETE" ? { ...request, query: named } : { ...request, body: named };
}

export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const caller = createCaller(options);
  const sanitize = options.transport.sanitizer();

  /** An identifier becomes part of a status and of messages. One that quotes a secret can neither be shown nor shortened. */
  async function identified(
    operation: Operation,
    hidden: readonly string[] | undefined,
    answer: Promise<string>,
  ): Promise<string> {
    const id = await answer;
    if (!options.transport.sanitizer(hidden).quotesSecret(id)) return id;
    const message = "the answer cannot be used: its identifier quotes the API key or a value of the request";
    throw new ServiceError({ operation, kind: "UnreadableResponse", delivery: "Accepted", message });
  }

  const shared = { caller, sanitize, identified };
  return { ...endpointCalls(shared, options), ...mediaCalls(shared), ...moneyCalls(shared) };
}

type Shared = {
  caller: ReturnType<typeof createCaller>;
  sanitize: Sanitizer;
  identified(operation: Operation, hidden: readonly string[] | undefined, answer: Promise<string>): Promise<string>;
};

function endpointCalls({ caller: { call }, sanitize, identified }: Shared, options: ServiceClientOptions) {
  const { deleteOperation } = options;
  const memory = options.records ?? createRecordBudget().open();
  /** The list of a generation, with a memory of its own. */
  const pageOf = (list: string, recordFrom: typeof fromCurrent) => {
    const read = createEndpointReader((value) => recordFrom(value, sanitize), memory.share());
    const record = (value: unknown) => {
      const endpoint = read(value);
      if (sanitize.quotesSecret(endpoint.id)) throw new UnusableError("id", "quotes the API key");
      return endpoint;
    };
    return { list, record, most: PAGE_RECORDS };
  };
  const current = pageOf("data", fromCurrent);
  const earlier = pageOf("endpoints", fromEarlier);

  return {
    listEndpoints: ({ limit, cursor, keyword, memberIDs }, callOptions) => {
      const query = {
        limit,
        cursor: cursor || undefined,
        keyword: keyword || undefined,
        member_ids: memberIDs?.join(",") || undefined,
      };
      const answer = (rest: unknown, data: EndpointRecord[]): EndpointPage => {
        const page = toFields(rest);
        const nextCursor = toText(page["next_cursor"]);
        return { data, nextCursor, hasMore: toBoolean(page["has_more"]) ?? nextCursor !== "" };
      };
      return call("listEndpoints", { query, page: current, answer, isEmpty: hasNoData }, callOptions);
    },
    getEndpoint: ({ endpointID }, callOptions) => {
      const answer = (value: unknown) => fromCurrent(value, sanitize);
      return call("getEndpoint", { id: endpointID, path: { endpoint_id: endpointID }, answer }, callOptions);
    },
    listEndpointsEarlier: (query, callOptions) => {
      const answer = (rest: unknown, data: EndpointRecord[]): EarlierEndpointPage => {
        return { data, total: toNumber(toFields(rest)["total"]) };
      };
      return call("listEndpointsEarlier", { query, page: earlier, answer, isEmpty: hasNoData }, callOptions);
    },
    getEndpointEarlier: async (query, callOptions) => {
      const answer = (value: unknown) => {
        const { endpoint } = fieldsOf(value);
        return { endpoint: endpoint === null ? undefined : fromEarlier(endpoint, sanitize) };
      };
      const isEmpty = (found: ReturnType<typeof answer>) => found.endpoint === undefined;
      const { endpoint } = await call("getEndpointEarlier", { id: query.id, query, answer, isEmpty }, callOptions);
      if (endpoint !== undefined) return endpoint;
      const message = `the response has no endpoint for id ${query.id}`;
      throw new ServiceError({ operation: "getEndpointEarlier", kind: "NotFound", delivery: "Refused", message });
    },
    createEndpoint: async (endpoint, callOptions) => {
      const answer = (value: unknown) => identifier(fieldsOf(value), "id", ENDPOINT_ID);
      const id = call("createEndpoint", { body: { endpoint }, answer }, callOptions);
      return { id: await identified("createEndpoint", callOptions?.hidden, id) };
    },
    updateEndpoint: async (body, callOptions) => {
      // The interface does not show the response body, so any 2xx that reports no error is a success.
      await call("updateEndpoint", { body }, callOptions);
    },
    deleteEndpoint:
      deleteOperation === undefined
        ? undefined
        : async ({ endpointID }, callOptions) => {
            await call("deleteEndpoint", deletionOf(deleteOperation, endpointID), callOptions);
          },
    getEndpointLimits: async (_input, callOptions) => {
      const limits = await call("getEndpointLimits", { answer: endpointLimits }, callOptions);
      return { ...limits, cudaVersionList: limits.cudaVersionList.map((version) => sanitize(version, TEXT.word)) };
    },
  } satisfies Partial<ServiceClient>;
}

const hasNoData = ({ data }: { data: unknown[] }) => data.length === 0;

function mediaCalls({ caller: { call, receive, stream }, sanitize, identified }: Shared) {
  async function submit(operation: Operation, body: object, callOptions: CallOptions | undefined) {
    const answer = (value: unknown) => identifier(fieldsOf(value), "task_id", TASK_ID);
    return { taskID: await identified(operation, callOptions?.hidden, call(operation, { body, answer }, callOptions)) };
  }

  return {
    getTaskResult: ({ taskID }, callOptions) => {
      const answer = (value: unknown) => taskResultFrom(value, sanitize);
      return call("getTaskResult", { id: taskID, query: { task_id: taskID }, answer }, callOptions);
    },
    synthesizeSpeech: (input, callOptions, sink) => {
      const request = { body: { ...input, stream: false } };
      return receive("synthesizeSpeech", request, callOptions, (answer) => readSpeechBody(answer, sink));
    },
    streamSpeech: (input, callOptions) =>
      stream("streamSpeech", { body: { ...input, stream: true } }, callOptions, readSpeechStream),
    submitSpeech: (body, callOptions) => submit("submitSpeech", body, callOptions),
    submitImageToVideo: (body, callOptions) => submit("submitImageToVideo", body, callOptions),
    submitVideoToVideo: (body, callOptions) => submit("submitVideoToVideo", body, callOptions),
  } satisfies Partial<ServiceClient>;
}

function moneyCalls({ caller: { call }, sanitize }: Shared) {
  const isEmpty = (records: unknown[]) => records.length === 0;
  return {
    listBills: (query, callOptions) => {
      const page = { list: "bills", record: (value: unknown) => billFrom(value, sanitize), most: MOST_BILLS };
      return call("listBills", { query, page, answer: (_: unknown, bills: Bill[]) => bills, isEmpty }, callOptions);
    },
    listKeyBudgets: ({ memberID }, callOptions) => {
      const record = (value: unknown) => keyBudgetFrom(value, sanitize);
      const page = { list: "key_budgets", record, most: PAGE_RECORDS };
      const query = { member_id: memberID };
      const answer = (_: unknown, budgets: KeyBudget[]) => budgets;
      return call("listKeyBudgets", { id: memberID, query, page, answer, isEmpty }, callOptions);
    },
  } satisfies Partial<ServiceClient>;
}
