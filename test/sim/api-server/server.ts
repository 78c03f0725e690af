import { ApiFailure, failure, statusBody } from "./failures.ts";
import { isJson, type Json, type JsonValue, textAt } from "./json.ts";
import { createObjects, type ObjectsOptions, type Target, versionText } from "./objects.ts";
import { customKinds, type KindRules, plainKind } from "./schema.ts";
import type { Snapshot, StoredEvent } from "./storage.ts";

export type ApiCall = {
  method: string;
  path: string;
  query: URLSearchParams;
  body: JsonValue | undefined;
  /** Lists and watches are served from an earlier state. */
  lag?: Lag | undefined;
};

/** An API server that lags behind the storage, until a time of the simulation. */
export type Lag = { state: Snapshot; until: number };

export type ApiResult = { status: number; body: Json } | { watch: ServedWatch };

/** A watch: lines that are due at once, then lines as things change. */
export type ServedWatch = {
  first: Json[];
  follow(listener: (line: Json) => void): () => void;
  /** The server lags: until this time nothing follows, and then what `missed` returns, and what changes from then on. */
  lag?: { until: number; missed(): Json[] };
  /** The line that tells how far the watch has come; undefined when the client did not ask for such. */
  bookmark(): Json | undefined;
  timeoutMs: number;
};

/** The API server: one method for everything. A request takes effect when `call` is called. */
export type ApiServer = { call(request: ApiCall): ApiResult; kinds: readonly KindRules[] };

export type ApiServerOptions = ObjectsOptions & {
  /** Default true. Without it, a watch that asks for its initial events is refused. */
  streamingLists?: boolean;
};

const PLAIN_KINDS: KindRules[] = [
  plainKind({ group: "", version: "v1", plural: "configmaps", kind: "ConfigMap", namespaced: true }),
  plainKind({ group: "", version: "v1", plural: "secrets", kind: "Secret", namespaced: true }),
  plainKind({ group: "", version: "v1", plural: "namespaces", kind: "Namespace", namespaced: false }),
  plainKind({ group: "events.k8s.io", version: "v1", plural: "events", kind: "Event", namespaced: true }),
  plainKind({ group: "coordination.k8s.io", version: "v1", plural: "leases", kind: "Lease", namespaced: true }),
];

/** Parsed once: thousands of seeds run in one process. */
const CUSTOM_KINDS = customKinds();

export function createApiServer(options: ApiServerOptions): ApiServer {
  const { storage, streamingLists = true } = options;
  const objects = createObjects(options);
  const kinds = [...PLAIN_KINDS, ...CUSTOM_KINDS];
  /** Pages of lists that are not read to their end, by their token. */
  const pages = new Map<string, { version: number; items: Json[] }>();
  let tokens = 0;
  /** What is asked by each path: there are few. */
  const found = new Map<string, Asked | undefined>();

  function list({ kind, namespace, lag }: Collection, query: URLSearchParams): Json {
    const token = query.get("continue");
    const page = token === null ? undefined : pages.get(token);
    if (token !== null && (page === undefined || page.version < storage.collection(objects.idOf(kind)).compactedTo)) {
      throw failure.expired("The provided continue parameter is too old to display a consistent list result");
    }
    if (token !== null) pages.delete(token);
    const { items, version } = page ?? { items: inNamespace({ kind, namespace, lag }), version: versionOf(lag) };
    const limit = Number(query.get("limit") ?? 0) || items.length;
    const metadata: Json = { resourceVersion: String(version) };
    if (items.length > limit) {
      metadata["continue"] = `page-${++tokens}`;
      pages.set(`page-${tokens}`, { version, items: items.slice(limit) });
    }
    const shown = items.slice(0, limit);
    return { apiVersion: versionText(kind), kind: `${kind.kind}List`, metadata, items: shown };
  }

  const versionOf = (lag: Lag | undefined) => lag?.state.version ?? storage.version();

  function inNamespace({ kind, namespace, lag }: Collection): Json[] {
    const id = objects.idOf(kind);
    const all = lag?.state.objectsOf(id) ?? storage.collection(id).objects;
    const found = [...all].filter(([key]) => namespace === undefined || key.startsWith(`${namespace}/`));
    return found.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }

  function watch(collection: Collection, query: URLSearchParams): ServedWatch {
    const { kind, namespace, lag } = collection;
    const id = objects.idOf(kind);
    const bookmarks = query.get("allowWatchBookmarks") === "true";
    const bookmarkAt = (version: number, annotations: Json = {}): Json => ({
      type: "BOOKMARK",
      object: {
        apiVersion: versionText(kind),
        kind: kind.kind,
        metadata: { resourceVersion: String(version), creationTimestamp: null, annotations },
      },
    });
    const concerns = ({ object }: StoredEvent) =>
      namespace === undefined || textAt(object["metadata"], "namespace") === namespace;
    const lineOf = ({ type, object }: StoredEvent): Json => ({ type, object });
    const follow: ServedWatch["follow"] = (listener) =>
      storage.onEvent((of, event) => {
        if (of === id && concerns(event)) listener(lineOf(event));
      });
    const timeoutMs = Number(query.get("timeoutSeconds") ?? 1_800) * 1_000;
    const rest = { follow, bookmark: () => (bookmarks ? bookmarkAt(storage.version()) : undefined), timeoutMs };
    const changesSince = (from: number): Json[] | undefined => {
      const { history, compactedTo } = storage.collection(id);
      if (from < compactedTo) return undefined;
      return history.filter((event) => event.version > from && concerns(event)).map(lineOf);
    };
    const gone = (from: number): Json => {
      const { compactedTo } = storage.collection(id);
      const expired = failure.expired(`too old resource version: ${from} (${compactedTo})`);
      return { type: "ERROR", object: statusBody(expired) };
    };
    const lagging = (from: number) =>
      lag === undefined ? {} : { lag: { until: lag.until, missed: () => changesSince(from) ?? [gone(from)] } };

    if (query.get("sendInitialEvents") === "true") {
      if (!streamingLists) throw failure.invalid("ListOptions", ["sendInitialEvents: Forbidden"]);
      const listed = inNamespace(collection).map((object): Json => ({ type: "ADDED", object }));
      const version = versionOf(lag);
      const end = bookmarkAt(version, { "k8s.io/initial-events-end": "true" });
      return { ...rest, ...lagging(version), first: [...listed, end] };
    }
    const from = Number(query.get("resourceVersion") ?? 0);
    if (from === 0) {
      const listed = inNamespace(collection).map((object): Json => ({ type: "ADDED", object }));
      return { ...rest, ...lagging(versionOf(lag)), first: listed };
    }
    if (lag !== undefined) return { ...rest, ...lagging(from), first: [] };
    const first = changesSince(from);
    return first === undefined ? { ...rest, first: [gone(from)], follow: () => () => {} } : { ...rest, first };
  }

  function answer({ method, query, body }: ApiCall, asked: Asked): ApiResult {
    const { kind, namespace, name, subresource } = asked;
    if (name === undefined) {
      if (method === "GET" && query.get("watch") === "true") return { watch: watch(asked, query) };
      if (method === "GET") return { status: 200, body: list(asked, query) };
      const given = isJson(body) ? textAt(body["metadata"], "name") : undefined;
      if (method !== "POST" || !isJson(body) || given === undefined) throw failure.badRequest("name is required");
      return { status: 201, body: objects.create({ kind, namespace, name: given, subresource }, body) };
    }
    const target: Target = { kind, namespace, name, subresource };
    switch (method) {
      case "GET":
        return { status: 200, body: objects.get(target) };
      case "PUT":
        return { status: 200, body: objects.update(target, isJson(body) ? body : {}) };
      case "PATCH":
        return { status: 200, body: objects.patch(target, body ?? {}) };
      case "DELETE": {
        const held = objects.delete(target, isJson(body) ? body : {});
        return { status: 200, body: held ?? { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" } };
      }
      default:
        throw new ApiFailure(405, "MethodNotAllowed", `${method} is not supported`);
    }
  }

  return {
    kinds,
    call(request) {
      try {
        const asked = found.get(request.path) ?? find(request.path, kinds);
        found.set(request.path, asked);
        if (asked === undefined) throw failure.notFound(request.path);
        return answer(request, { ...asked, lag: request.lag });
      } catch (error) {
        if (!(error instanceof ApiFailure)) throw error;
        return { status: error.status, body: statusBody(error) };
      }
    },
  };
}

type Collection = { kind: KindRules; namespace: string | undefined; lag?: Lag | undefined };
type Asked = Collection & { name: string | undefined; subresource: string | undefined };

/** `/api/VERSION` or `/apis/GROUP/VERSION`, then `[/namespaces/NS]/PLURAL[/NAME[/SUB]]`. */
function find(path: string, kinds: readonly KindRules[]): Asked | undefined {
  const [, root, ...parts] = path.split("/").map(decodeURIComponent);
  const group = root === "api" ? "" : (parts.shift() ?? "");
  const version = parts.shift();
  const inNamespace = parts[0] === "namespaces" && parts.length > 2;
  const namespace = inNamespace ? parts[1] : undefined;
  const [plural, name, subresource] = inNamespace ? parts.slice(2) : parts;
  const kind = kinds.find((one) => one.group === group && one.version === version && one.plural === plural);
  return kind === undefined ? undefined : { kind, namespace, name, subresource };
}
