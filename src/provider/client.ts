import type { Sanitizer } from "../base/sanitizer.ts";
import { readEndpoint } from "./endpoints/endpoint-memory.ts";
import { type EndpointRecord, fromCurrent, fromEarlier } from "./endpoints/endpoint-record.ts";
import { endpointLimits } from "./endpoints/limits.ts";
import { ServiceError } from "./errors.ts";
import { type CallerOptions, createCaller } from "./http/call.ts";
import type { CallOptions } from "./http/sending.ts";
import { type Bill, billFrom, type KeyBudget, keyBudgetFrom } from "./money/money-records.ts";
import type { DeleteOperation, Operation } from "./operations.ts";
import { type AudioSink, readSpeechBody } from "./speech/speech-body.ts";
import { readSpeechStream } from "./speech/speech-stream.ts";
import { taskResultFrom } from "./tasks/task-result.ts";
import { ENDPOINT_ID, MOST_BILLS, PAGE_RECORDS, TASK_ID, TEXT } from "./wire/bounds.ts";
import { fieldsOf, identifier, toBoolean, toFields, toNumber, toText, UnusableError } from "./wire/lenient.ts";

/** `limit`: most records on the page, >= 0. */
export type ListEndpointsInput = { limit?: number; cursor?: string; keyword?: string; memberIDs?: string[] };
/** `known`: a record that is known already. It is the result again while the service shows the same bytes. Default: none. */
type ListOptions = CallOptions & { known?: ((id: string) => EndpointRecord | undefined) | undefined };
export type ListBillsInput = {
  cycleType: "Day" | "Week" | "Month";
  /** Unix seconds. */
  startTime: number;
  endTime: number;
  category?: string;
  productName?: string;
};

export type ServiceClientOptions = CallerOptions & {
  /** Account.spec.endpoints.deleteOperation. */
  deleteOperation?: DeleteOperation | undefined;
};

function deletionOf({ method, path, idField }: DeleteOperation, endpointID: string) {
  const request = { method, template: path, id: endpointID };
  if (idField === undefined) return { ...request, path: { id: endpointID } };
  const named = { [idField]: endpointID };
  return method === "DELETE" ? { ...request, query: named } : { ...request, body: named };
}

export type ServiceClient = ReturnType<typeof createServiceClient>;

/**
 * The wire: one typed function per operation of the interface, in the service's spelling. Only src/provider uses it. The schemas of src/api
 * have checked what a body is made of, and the service checks it again. Each function waits for the rate limit, awaits `commit` and
 * `beforeSend`, sends once, and parses the response leniently. Every failure is a `ServiceError`, except an error that `commit` or
 * `beforeSend` throws.
 */
export function createServiceClient(options: ServiceClientOptions) {
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
  return { ...endpointCalls(shared, options.deleteOperation), ...mediaCalls(shared), ...moneyCalls(shared) };
}

type Shared = {
  caller: ReturnType<typeof createCaller>;
  sanitize: Sanitizer;
  identified(operation: Operation, hidden: readonly string[] | undefined, answer: Promise<string>): Promise<string>;
};

function endpointCalls(
  { caller: { call }, sanitize, identified }: Shared,
  deleteOperation: ServiceClientOptions["deleteOperation"],
) {
  /** The list of a generation. */
  const pageOf = (list: string, recordFrom: typeof fromCurrent, known: ListOptions["known"]) => {
    const record = (value: unknown) => {
      const endpoint = readEndpoint(value, (fresh) => recordFrom(fresh, sanitize), known);
      if (sanitize.quotesSecret(endpoint.id)) throw new UnusableError("id", "quotes the API key");
      return endpoint;
    };
    return { list, record, most: PAGE_RECORDS };
  };

  return {
    /** A page of the current generation's list. `nextCursor` is "" on the last one. */
    listEndpoints({ limit, cursor, keyword, memberIDs }: ListEndpointsInput, callOptions?: ListOptions) {
      const query = {
        limit,
        cursor: cursor || undefined,
        keyword: keyword || undefined,
        member_ids: memberIDs?.join(",") || undefined,
      };
      const answer = (rest: unknown, data: EndpointRecord[]) => {
        const page = toFields(rest);
        const nextCursor = toText(page["next_cursor"]);
        return { data, nextCursor, hasMore: toBoolean(page["has_more"]) ?? nextCursor !== "" };
      };
      return call(
        "listEndpoints",
        { query, page: pageOf("data", fromCurrent, callOptions?.known), answer, isEmpty: hasNoData },
        callOptions,
      );
    },
    getEndpoint({ endpointID }: { endpointID: string }, callOptions?: CallOptions) {
      const answer = (value: unknown) => fromCurrent(value, sanitize);
      return call("getEndpoint", { id: endpointID, path: { endpoint_id: endpointID }, answer }, callOptions);
    },
    /**
     * A page of the earlier generation's list. `total`: undefined where the service does not show it. The interface does not show whether
     * `pageNum` starts at 0 or at 1.
     */
    listEndpointsEarlier(query: { pageSize: number; pageNum: number }, callOptions?: ListOptions) {
      const page = pageOf("endpoints", fromEarlier, callOptions?.known);
      const answer = (rest: unknown, data: EndpointRecord[]) => ({ data, total: toNumber(toFields(rest)["total"]) });
      return call("listEndpointsEarlier", { query, page, answer, isEmpty: hasNoData }, callOptions);
    },
    async getEndpointEarlier(query: { id: string }, callOptions?: CallOptions) {
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
    async createEndpoint(endpoint: object, callOptions?: CallOptions) {
      const answer = (value: unknown) => identifier(fieldsOf(value), "id", ENDPOINT_ID);
      const id = call("createEndpoint", { body: { endpoint }, answer }, callOptions);
      return { id: await identified("createEndpoint", callOptions?.hidden, id) };
    },
    async updateEndpoint(body: object, callOptions?: CallOptions): Promise<void> {
      // The interface does not show the response body, so any 2xx that reports no error is a success.
      await call("updateEndpoint", { body }, callOptions);
    },
    /** undefined: the account sets no delete operation. A 2xx that reports no error means that the service took the request: confirm by a read. */
    deleteEndpoint:
      deleteOperation === undefined
        ? undefined
        : async ({ endpointID }: { endpointID: string }, callOptions?: CallOptions): Promise<void> => {
            await call("deleteEndpoint", deletionOf(deleteOperation, endpointID), callOptions);
          },
    async getEndpointLimits(_input?: Record<string, never>, callOptions?: CallOptions) {
      const limits = await call("getEndpointLimits", { answer: endpointLimits }, callOptions);
      return { ...limits, cudaVersionList: limits.cudaVersionList.map((version) => sanitize(version, TEXT.word)) };
    },
  };
}

const hasNoData = ({ data }: { data: unknown[] }) => data.length === 0;

function mediaCalls({ caller: { call, receive, stream }, sanitize, identified }: Shared) {
  async function submit(operation: Operation, body: object, callOptions: CallOptions | undefined) {
    const answer = (value: unknown) => identifier(fieldsOf(value), "task_id", TASK_ID);
    return { taskID: await identified(operation, callOptions?.hidden, call(operation, { body, answer }, callOptions)) };
  }

  return {
    getTaskResult({ taskID }: { taskID: string }, callOptions?: CallOptions) {
      const answer = (value: unknown) => taskResultFrom(value, sanitize);
      return call("getTaskResult", { id: taskID, query: { task_id: taskID }, answer }, callOptions);
    },
    /** Always sent with stream false. Audio in hex goes to `sink`; without one, only a URL can be read. */
    synthesizeSpeech(input: object, callOptions?: CallOptions, sink?: AudioSink) {
      const request = { body: { ...input, stream: false } };
      return receive("synthesizeSpeech", request, callOptions, (answer) => readSpeechBody(answer, sink));
    },
    /** Sent when iteration starts, with stream true. Ends normally only when the service reports the end. */
    streamSpeech: (input: object, callOptions?: CallOptions) =>
      stream("streamSpeech", { body: { ...input, stream: true } }, callOptions, readSpeechStream),
    submitSpeech: (body: object, callOptions?: CallOptions) => submit("submitSpeech", body, callOptions),
    submitImageToVideo: (body: object, callOptions?: CallOptions) => submit("submitImageToVideo", body, callOptions),
    submitVideoToVideo: (body: object, callOptions?: CallOptions) => submit("submitVideoToVideo", body, callOptions),
  };
}

function moneyCalls({ caller: { call }, sanitize }: Shared) {
  const isEmpty = (records: unknown[]) => records.length === 0;
  return {
    listBills(query: ListBillsInput, callOptions?: CallOptions) {
      const page = { list: "bills", record: (value: unknown) => billFrom(value, sanitize), most: MOST_BILLS };
      return call("listBills", { query, page, answer: (_: unknown, bills: Bill[]) => bills, isEmpty }, callOptions);
    },
    listKeyBudgets({ memberID }: { memberID: string }, callOptions?: CallOptions) {
      const record = (value: unknown) => keyBudgetFrom(value, sanitize);
      const page = { list: "key_budgets", record, most: PAGE_RECORDS };
      const query = { member_id: memberID };
      const answer = (_: unknown, budgets: KeyBudget[]) => budgets;
      return call("listKeyBudgets", { id: memberID, query, page, answer, isEmpty }, callOptions);
    },
  };
}
