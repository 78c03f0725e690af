import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, inject } from "vitest";
import { bytesOf } from "../../src/base/exchange.ts";
import { createConnections } from "../../src/kube/connections.ts";
import { loadCredentials } from "../../src/kube/credentials.ts";
import { type Ended, run } from "./run.ts";

/** A manifest, or what the API server makes of it. */
type ApiObject = {
  apiVersion?: string;
  kind?: string;
  metadata: { name?: string; generateName?: string; namespace?: string; resourceVersion?: string };
  spec?: unknown;
  status?: unknown;
};

/** An entry of a discovery document. */
type Kind = { name: string; kind: string; namespaced: boolean };

/** What the API server answers. Exactly one of `object` and `refusal` is there. */
type Reply = {
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

type ApplyOptions = {
  dryRun?: boolean;
  /** Server-side apply; otherwise the object is created, or replaced if it exists. */
  serverSide?: boolean;
};

type ApiRequests = {
  /** Applies a manifest as kubectl does, strictly: an unknown field is refused. Never throws because of a refusal. */
  apply(object: ApiObject, options?: ApplyOptions): Promise<Reply>;
  close(): Promise<void>;
};

/**
 * Requests to the API server of the tests, which take milliseconds; a kubectl process takes a second.
 * @param namespace of objects that name none
 */
async function apiRequests(namespace: string): Promise<ApiRequests> {
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
    const content = JSON.parse(String(await bytesOf(answer.body)));
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

/** What the API server adds of its own to a value of the wrong type, length or enumeration: CEL was not reached. */
const NOTICE = "some validation rules were not checked because the object was invalid";

/** kubectl and API requests in a namespace of its own, which exists for the tests of one file. Call it at the top of the file. */
export function kubectlInNamespace(prefix: string) {
  const namespace = `${prefix}-${randomBytes(4).toString("hex")}`;
  let api: ApiRequests | undefined;

  const kubectl = (args: readonly string[], input = ""): Promise<Ended> =>
    run(inject("kubectl"), ["--kubeconfig", inject("kubeconfig"), "--namespace", namespace, ...args], { input });

  const apply = (object: ApiObject, options?: ApplyOptions): Promise<Reply> =>
    api?.apply(object, options) ?? expect.fail("call this in a test: the namespace exists before the first");

  /** What is stored, or with `dryRun` would be. */
  async function accepted(object: ApiObject, options?: ApplyOptions): Promise<ApiObject> {
    const { object: stored, refusal, warnings } = await apply(object, options);
    expect({ refusal, warnings }).toEqual({ refusal: undefined, warnings: [] });
    return stored ?? expect.fail("the API server answered without an object");
  }

  /** The one line of a refusal. */
  async function refused(object: ApiObject, options?: ApplyOptions): Promise<string> {
    const { refusal } = await apply(object, options);
    const lines = refusal ?? expect.fail(`${object.kind} was accepted`);
    const own = lines.filter((line) => !line.includes(NOTICE));
    expect(own, lines.join("\n")).toHaveLength(1);
    // Kubernetes 1.30 has other words for the same limit.
    return own.join().replace("Too long: may not be longer than", "Too long: may not be more than");
  }

  beforeAll(async () => {
    api = await apiRequests(namespace);
    expect((await kubectl(["create", "namespace", namespace])).stderr).toBe("");
  });
  afterAll(async () => {
    await kubectl(["delete", "namespace", namespace, "--wait=false"]);
    await api?.close();
  });
  return { namespace, kubectl, accepted, refused };
}
