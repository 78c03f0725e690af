import type { Dispatcher } from "undici";
import { bytesOf, type HttpAnswer } from "../base/exchange.ts";
import { type Connections, createConnections } from "./connections.ts";
import type { Credentials } from "./credentials.ts";
import { errorFromAnswer, isNotFound, KubeError } from "./errors.ts";
import { parseObject } from "./parse-object.ts";
import { type Place, type Resource, resourcePath } from "./resource.ts";
import type { KubeObject, ObjectList } from "./types.ts";

export type KubeQuery = Record<string, string | number | boolean | undefined>;
export type RequestOptions = { signal?: AbortSignal | undefined; query?: KubeQuery };

export type KubeClient = {
  /** Namespace of the context or the pod; undefined when neither names one. */
  readonly defaultNamespace: string | undefined;
  get<T extends KubeObject>(resource: Resource, place: Place, options?: RequestOptions): Promise<T>;
  /** @throws ListTooLargeError when the list has more than `maxBytes`. Default: it may have any size */
  list<T extends KubeObject>(
    resource: Resource,
    place: Place,
    options?: RequestOptions & { maxBytes?: number },
  ): Promise<ObjectList<T>>;
  create<T extends KubeObject>(resource: Resource, place: Place, body: T, options?: RequestOptions): Promise<T>;
  /** PUT: fails with 409 unless `metadata.resourceVersion` is the newest. */
  update<T extends KubeObject>(
    resource: Resource,
    place: Place,
    body: T | StatusUpdate,
    options?: RequestOptions,
  ): Promise<T>;
  /** RFC 7396 merge patch; `metadata.resourceVersion` in it makes it an optimistic lock. */
  mergePatch<T extends KubeObject>(
    resource: Resource,
    place: Place,
    patch: object,
    options?: RequestOptions,
  ): Promise<T>;
  /** Server-side apply: makes the object or takes over the fields of `body`, from other managers too. */
  apply<T extends KubeObject>(
    resource: Resource,
    place: Place,
    body: T,
    options: RequestOptions & { fieldManager: string },
  ): Promise<T>;
  delete(resource: Resource, place: Place, options?: RequestOptions & { body?: object }): Promise<void>;
  /** Lines of a watch as they arrive, unparsed; ends when the server ends it. `inactivityMs` without a byte is an error. */
  watch(resource: Resource, place: Place, options: RequestOptions & { inactivityMs: number }): AsyncIterable<Buffer>;
  close(): Promise<void>;
};

/** What the subresource `status` takes of an object. */
export type StatusUpdate = {
  apiVersion: string;
  kind: string;
  metadata: { name: string; resourceVersion: string | undefined };
  status: object;
};

const METHODS = {
  get: "GET",
  list: "GET",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  apply: "PATCH",
  delete: "DELETE",
  watch: "GET",
} as const satisfies Record<string, Dispatcher.HttpMethod>;

type Verb = keyof typeof METHODS;
type Sent = RequestOptions & { body?: object; contentType?: string; inactivityMs?: number; maxBytes?: number };

export type KubeRequest = {
  verb: string;
  resource: string;
  /** Of the request, not of its objects; undefined for all namespaces or a cluster-scoped kind. */
  namespace: string | undefined;
  /** HTTP status, 0 when no answer came. */
  status: number;
  durationMs: number;
};

/**
 * A client over the connections of `createConnections`. Retries only a 401 with renewed credentials: the
 * caller's queue decides.
 * @param options.connect opens the connections; default: sockets to the server of the credentials
 * @param options.onRequest called once per request, for `rest_client_requests_total`
 */
export function createKubeClient(
  credentials: Credentials,
  options: {
    connections?: number;
    requestTimeoutMs?: number;
    connect?: (requestTimeoutMs: number) => Connections;
    onRequest?: (request: KubeRequest) => void;
  } = {},
): KubeClient {
  const origin = new URL(credentials.server);
  const base = origin.pathname === "/" ? "" : origin.pathname;
  const requestTimeoutMs = options.requestTimeoutMs ?? 30_000;
  const connections =
    options.connect?.(requestTimeoutMs) ??
    createConnections(credentials, { connections: options.connections, requestTimeoutMs });

  async function send(verb: Verb, resource: Resource, place: Place, extra: Sent): Promise<HttpAnswer> {
    const what = () =>
      `${verb} ${resource.plural}${place.namespace ? ` ${place.namespace}/` : " "}${place.name ?? ""}`.trimEnd();
    const started = performance.now();
    let status = 0;
    try {
      const headers: Record<string, string> = { accept: "application/json" };
      if (extra.body !== undefined) headers["content-type"] = extra.contentType ?? "application/json";
      const answer = await connections.send({
        method: METHODS[verb],
        path: `${base}${resourcePath(resource, place)}${queryString(extra.query)}`,
        headers,
        body: extra.body === undefined ? null : JSON.stringify(extra.body),
        signal: extra.signal,
        ...(extra.inactivityMs === undefined ? {} : { watch: true, bodyTimeout: extra.inactivityMs }),
      });
      status = answer.statusCode;
      if (status < 300) return answer;
      const retryAfter = answer.headers["retry-after"];
      const text = (await bytesOf(answer.body)).toString();
      throw errorFromAnswer(what(), status, text, typeof retryAfter === "string" ? retryAfter : null);
    } catch (error) {
      if (error instanceof KubeError || extra.signal?.aborted) throw error;
      throw new KubeError(`${what()}: ${messageOf(error)}`, { status: 0, cause: error });
    } finally {
      const durationMs = performance.now() - started;
      options.onRequest?.({ verb, resource: resource.plural, namespace: place.namespace, status, durationMs });
    }
  }

  async function json<T>(verb: Verb, resource: Resource, place: Place, { maxBytes, ...extra }: Sent): Promise<T> {
    const { body } = await send(verb, resource, place, extra);
    const tooLarge = () => new ListTooLargeError(`the list has more than ${maxBytes} bytes`);
    const bytes = await bytesOf(body, maxBytes, tooLarge);
    return verb === "list" ? JSON.parse(bytes.toString()) : parseObject(bytes);
  }

  return {
    defaultNamespace: credentials.namespace,
    get: (resource, place, extra = {}) => json("get", resource, place, extra),
    list: (resource, place, extra = {}) => json("list", resource, place, extra),
    create: (resource, place, body, extra = {}) => json("create", resource, place, { ...extra, body }),
    update: (resource, place, body, extra = {}) => json("update", resource, place, { ...extra, body }),
    mergePatch: (resource, place, body, extra = {}) =>
      json("patch", resource, place, { ...extra, body, contentType: "application/merge-patch+json" }),
    apply: (resource, place, body, { fieldManager, ...extra }) =>
      json("apply", resource, place, {
        ...extra,
        query: { ...extra.query, fieldManager, force: true },
        body,
        contentType: "application/apply-patch+yaml",
      }),
    delete: async (resource, place, extra = {}) => {
      await json("delete", resource, place, extra);
    },
    async *watch(resource, place, extra) {
      const query = { ...extra.query, watch: true };
      const answer = await send("watch", resource, place, { ...extra, query });
      yield* lines(answer.body);
    },
    close: connections.close,
  };
}

/** As `get`; undefined when there is no such object. */
export async function findObject<T extends KubeObject>(
  kube: Pick<KubeClient, "get">,
  resource: Resource,
  place: Place,
  options?: RequestOptions,
): Promise<T | undefined> {
  try {
    return await kube.get<T>(resource, place, options);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

function queryString(query: KubeQuery | undefined): string {
  if (query === undefined) return "";
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {})) {
    if (value !== undefined) parameters.set(key, String(value));
  }
  return parameters.size === 0 ? "" : `?${parameters}`;
}

/** A list is larger than the caller accepts: ask for fewer objects. */
export class ListTooLargeError extends Error {
  override readonly name = "ListTooLargeError";
}

const NEWLINE = 0x0a;

/** Splits a byte stream into lines. A last line without its newline was cut off and is dropped. */
export async function* lines(body: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  /** The beginning of a line whose end has not arrived. */
  let begun: Buffer[] = [];
  for await (const chunk of body) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      const rest = chunk.subarray(from, end);
      const line = begun.length === 0 ? rest : Buffer.concat([...begun, rest]);
      begun = [];
      from = end + 1;
      if (line.length > 0) yield line;
    }
    if (from < chunk.length) begun.push(chunk.subarray(from));
  }
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error && typeof error.code === "string" ? `${error.code}: ` : "";
  return `${code}${error.message}`;
}
