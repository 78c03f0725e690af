import { expect, inject } from "vitest";
import { createConnections } from "../../src/kube/connections.ts";
import { loadCredentials } from "../../src/kube/credentials.ts";

/** A manifest, or what the API server makes of it. */
export type ApiObject = {
  apiVersion?: string;
  kind?: string;
  metadata: { name?: string; generateName?: string; namespace?: string; resourceVersion?: string };
  spec?: unknown;
  status?: unknown;
};

/** An entry of a discovery document. */
type Kind = { name: string; kind: string; namespaced: boolean };

/** What the API server answers. Exactly one of `object` and `refusal` is there. */
export type Reply = {
  status: number;
  object: (ApiObject & { resources?: Kind[] }) | undefined;
  /** One line for each cause, as kubectl words it. */
  refusal: string[] | undefined;
  /** `Warning` headers. */
  warnings: string[];
};

type Method = "GET" | "POST" | "PUT" | "PATCH";
type Sent = { body?: object; contentType?: string; query?: Record<string, string> };
type Status = { message?: string; details?: { causes?: { field?: string; message?: string }[] } };

export type ApplyOptions = {
  dryRun?: boolean;
  /** Server-side apply; otherwise the object is created, or replaced if it exists. */
  serverSide?: boolean;
};

export type ApiRequests = {
  /** Applies a manifest as kubectl does, strictly: an unknown field is refused. Never throws because of a refusal. */
  apply(object: ApiObject, options?: ApplyOptions): Promise<Reply>;
  close(): Promise<void>;
};

/**
 * Requests to the API server of the tests, which take milliseconds; a kubectl process takes a second.
 * @param namespace of objects that name none
 */
export async function apiRequests(namespace: string): Promise<ApiRequests> {
  const credentials = await loadCredentials({ kubeconfig: inject("kubeconfig") });
  const connections = createConnections(credentials, { requestTimeoutMs: 60_000 });
  const kinds = new Map<string, Promise<Kind[]>>();

  async function send(method: Method, path: string, { body, contentType, query }: Sent = {}): Promise<Reply> {
    const answer = await connections.send({
      method,
      path: `${path}?${new URLSearchParams(query)}`,
      headers: { accept: "application/json", "content-type": contentType ?? "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const content = JSON.parse(await answer.body.text());
    const isAccepted = answer.statusCode < 300;
    return {
      status: answer.statusCode,
      object: isAccepted ? content : undefined,
      refusal: isAccepted ? undefined : linesOf(content),
      warnings: [answer.headers["warning"] ?? []].flat(),
    };
  }

  async function kindsOf(root: string): Promise<Kind[]> {
    const { object } = await send("GET", root);
    return object?.resources ?? [];
  }

  /** The path of the objects of this kind, in the object's namespace or ours. */
  async function collectionOf({ apiVersion = "", kind, metadata }: ApiObject): Promise<string> {
    const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const known = kinds.get(root) ?? kindsOf(root);
    kinds.set(root, known);
    const found = (await known).find((one) => one.kind === kind && !one.name.includes("/"));
    const { name, namespaced } = found ?? expect.fail(`the API server has no ${kind} in ${apiVersion}`);
    return namespaced ? `${root}/namespaces/${metadata.namespace ?? namespace}/${name}` : `${root}/${name}`;
  }

  return {
    async apply(object, { dryRun = false, serverSide = false } = {}) {
      const query = { fieldValidation: "Strict", fieldManager: "mooring-tests", ...(dryRun ? { dryRun: "All" } : {}) };
      const collection = await collectionOf(object);
      const path = `${collection}/${object.metadata.name}`;
      if (serverSide) {
        const contentType = "application/apply-patch+yaml";
        return send("PATCH", path, { body: object, contentType, query: { ...query, force: "true" } });
      }
      const created = await send("POST", collection, { body: object, query });
      if (created.status !== 409) return created;
      const { object: present } = await send("GET", path);
      const metadata = { ...object.metadata, resourceVersion: present?.metadata.resourceVersion };
      return send("PUT", path, { body: { ...object, metadata }, query });
    },
    close: connections.close,
  };
}

function linesOf({ message = "", details }: Status): string[] {
  const causes = details?.causes ?? [];
  return causes.length === 0 ? [message] : causes.map((cause) => `${cause.field}: ${cause.message}`);
}
