import { describe, expect, it } from "vitest";
import { createKubeClient, lines } from "../../../src/kube/client.ts";
import {
  isAlreadyExists,
  isConflict,
  isGone,
  isNotFound,
  isTooManyRequests,
  KubeError,
} from "../../../src/kube/errors.ts";
import { apiVersionOf, type Place, type Resource, resourcePath } from "../../../src/kube/resource.ts";
import { until } from "../../support/fake-clock.ts";
import { failure, type ScriptedApi, type Stream, scriptedApi } from "../../support/scripted-api-server.ts";

const pods: Resource = { group: "", version: "v1", plural: "pods", kind: "Pod", namespaced: true };
const things: Resource = {
  group: "example.com",
  version: "v1beta1",
  plural: "things",
  kind: "Thing",
  namespaced: true,
};
const place = { namespace: "team", name: "a" };
const body = { metadata: { name: "a" }, spec: {} };

describe("a request path", () => {
  it.each<[Resource, Place, string]>([
    [pods, {}, "/api/v1/pods"],
    [pods, { namespace: "team" }, "/api/v1/namespaces/team/pods"],
    [things, { namespace: "team", name: "a" }, "/apis/example.com/v1beta1/namespaces/team/things/a"],
    [
      things,
      { namespace: "team", name: "a", subresource: "status" },
      "/apis/example.com/v1beta1/namespaces/team/things/a/status",
    ],
    [{ ...things, namespaced: false }, { name: "a" }, "/apis/example.com/v1beta1/things/a"],
    [things, { namespace: "../x", name: "a/b?c" }, "/apis/example.com/v1beta1/namespaces/..%2Fx/things/a%2Fb%3Fc"],
  ])("of %o in %o", (resource, where, path) => {
    expect(resourcePath(resource, where)).toBe(path);
  });

  it.each([
    [pods, "v1"],
    [things, "example.com/v1beta1"],
  ])("goes with the apiVersion of %o", (resource, apiVersion) => {
    expect(apiVersionOf(resource)).toBe(apiVersion);
  });
});

describe("a call", () => {
  it.each<[string, (api: ScriptedApi) => Promise<unknown>, object]>([
    ["get", ({ client }) => client.get(things, place), { method: "GET", body: undefined }],
    [
      "list",
      ({ client }) => client.list(things, { namespace: "team" }, { query: { limit: 5, continue: undefined } }),
      { method: "GET" },
    ],
    ["create", ({ client }) => client.create(things, { namespace: "team" }, body), { method: "POST", body }],
    ["apply", ({ client }) => client.apply(things, place, body, { fieldManager: "tests" }), { method: "PATCH", body }],
    ["update", ({ client }) => client.update(things, place, body), { method: "PUT", body }],
    [
      "patch",
      ({ client }) => client.mergePatch(things, place, { spec: null }),
      { method: "PATCH", body: { spec: null } },
    ],
    [
      "delete",
      ({ client }) => client.delete(things, place, { body: { preconditions: { uid: "u" } } }),
      { method: "DELETE", body: { preconditions: { uid: "u" } } },
    ],
  ])("%s is sent as the API wants it, and told once", async (verb, call, expected) => {
    const api = await scriptedApi(() => ({ body: { ...body, items: [] } }));
    await call(api);
    expect(api.requests).toEqual([expect.objectContaining(expected)]);
    expect(api.told).toEqual([
      { verb, resource: "things", namespace: "team", status: 200, durationMs: expect.any(Number) },
    ]);
  });

  it("patches by the merge rules", async () => {
    const api = await scriptedApi(() => ({ body }));
    await api.client.mergePatch(things, place, { spec: {} });
    expect(api.requests[0]?.headers["content-type"]).toBe("application/merge-patch+json");
  });

  it("applies as a manager of fields, over others' claims", async () => {
    const api = await scriptedApi(() => ({ body }));
    await api.client.apply(things, place, body, { fieldManager: "tests" });
    expect(api.requests[0]?.headers["content-type"]).toBe("application/apply-patch+yaml");
    expect(Object.fromEntries(api.requests[0]?.query ?? [])).toEqual({ fieldManager: "tests", force: "true" });
  });

  it("leaves out what the query does not say", async () => {
    const api = await scriptedApi(() => ({ body: { items: [] } }));
    await api.client.list(things, {}, { query: { limit: 5, continue: undefined, fieldSelector: "a=b,c" } });
    expect(Object.fromEntries(api.requests[0]?.query ?? [])).toEqual({ limit: "5", fieldSelector: "a=b,c" });
  });

  it("carries the credentials of the moment, and keeps the server's own path", async () => {
    const api = await scriptedApi(() => ({ body }));
    const tls = {};
    let token = 0;
    const client = createKubeClient({
      server: `${api.url}/k8s/clusters/c-1`,
      namespace: "here",
      identity: async () => ({ headers: { authorization: `Bearer ${++token}` }, tls }),
    });
    await client.get(pods, place);
    await client.get(pods, place);
    await client.close();
    expect(api.requests.map(({ path, headers }) => [path, headers.authorization])).toEqual([
      ["/k8s/clusters/c-1/api/v1/namespaces/team/pods/a", "Bearer 1"],
      ["/k8s/clusters/c-1/api/v1/namespaces/team/pods/a", "Bearer 2"],
    ]);
    expect(client.defaultNamespace).toBe("here");
  });
});

describe("an error", () => {
  const errorOf = async (api: ScriptedApi): Promise<KubeError> => {
    const error = await api.client.get(things, place).catch((reason: unknown) => reason);
    if (!(error instanceof KubeError)) throw new Error(`not a KubeError: ${error}`);
    return error;
  };

  it.each<[string, Parameters<typeof failure>, (error: unknown) => boolean]>([
    ["not found", [404, "NotFound"], isNotFound],
    ["a lost lock", [409, "Conflict"], isConflict],
    ["a name that is taken", [409, "AlreadyExists"], isAlreadyExists],
    ["a version that is gone", [410, "Expired"], isGone],
    ["too many requests", [429, "TooManyRequests"], isTooManyRequests],
  ])("is known as %s", async (_name, answer, test) => {
    const error = await errorOf(await scriptedApi(() => failure(...answer)));
    expect(test(error)).toBe(true);
    expect(error).toMatchObject({ status: answer[0], reason: answer[1] });
    expect([isNotFound, isGone, isTooManyRequests].filter((other) => other !== test && other(error))).toEqual([]);
  });

  it("names the request and says the server's own words", async () => {
    const error = await errorOf(await scriptedApi(() => failure(422, "Invalid", 'Thing "a" is invalid: spec.port')));
    expect(error.message).toBe('get things team/a: Thing "a" is invalid: spec.port');
  });

  it.each<[string, Parameters<typeof failure>, Record<string, string>, number | undefined]>([
    ["from the header", [429, "TooManyRequests"], { "retry-after": "3" }, 3_000],
    ["from the status", [429, "TooManyRequests", "slow", { retryAfterSeconds: 2 }], {}, 2_000],
    ["at most five minutes", [429, "TooManyRequests"], { "retry-after": "999999999" }, 300_000],
    [
      "at most five minutes, from the status",
      [429, "TooManyRequests", "slow", { retryAfterSeconds: 1e12 }],
      {},
      300_000,
    ],
    ["not from a negative header", [429, "TooManyRequests"], { "retry-after": "-5" }, 0],
    ["not at all", [500, "InternalError"], {}, undefined],
    ["not from a header that is no number", [429, "TooManyRequests"], { "retry-after": "soon" }, undefined],
  ])("knows how long to wait %s", async (_name, answer, headers, expected) => {
    const error = await errorOf(await scriptedApi(() => ({ ...(failure(...answer) as object), headers })));
    expect(error.retryAfterMs).toBe(expected);
  });

  it("shows the beginning of a page that is no Status", async () => {
    const error = await errorOf(await scriptedApi(() => ({ status: 502, body: `<html>${"x".repeat(5_000)}` })));
    expect([error.status, error.reason]).toEqual([502, ""]);
    expect(error.message.length).toBeLessThan(300);
  });

  it("has status 0 when no answer came", async () => {
    const api = await scriptedApi(() => "cut");
    const error = await errorOf(api);
    expect(error).toMatchObject({ status: 0, cause: expect.any(Error) });
    expect(api.told).toMatchObject([{ status: 0 }]);
  });

  it("comes when the answer does not, in time", async () => {
    const api = await scriptedApi(() => "silence");
    await expect(api.connect({ requestTimeoutMs: 50 }).get(things, place)).rejects.toMatchObject({
      status: 0,
      message: expect.stringContaining("get things team/a: UND_ERR_HEADERS_TIMEOUT"),
    });
  });

  it("is the caller's own when the caller gives up", async () => {
    const api = await scriptedApi(() => "silence");
    const stop = new AbortController();
    const call = api.client.get(things, place, { signal: stop.signal });
    await until(() => api.requests.length === 1);
    stop.abort(new Error("given up"));
    await expect(call).rejects.toThrow("given up");
  });
});

describe("a watch", () => {
  it("does not take a connection from the requests, however many there are", async () => {
    const streams: Stream[] = [];
    const api = await scriptedApi(({ query }) =>
      query.has("watch") ? { stream: (stream) => void streams.push(stream) } : { body },
    );
    const client = api.connect({ connections: 1 });
    const watches = Array.from({ length: 5 }, () =>
      client.watch(things, {}, { inactivityMs: 60_000 })[Symbol.asyncIterator](),
    );
    const first = watches.map((watch) => watch.next());
    await until(() => streams.length === 5);
    await client.get(things, place);
    for (const stream of streams) stream.send({ type: "ADDED", object: {} });
    const seen = (await Promise.all(first)).map(({ done, value }) => ({ done, value: String(value) }));
    expect(seen).toEqual(Array(5).fill({ done: false, value: '{"type":"ADDED","object":{}}' }));
  });

  it("that is silent for too long is an error", async () => {
    const api = await scriptedApi(() => ({ stream: (stream) => stream.send({ type: "ADDED", object: {} }) }));
    const seen: string[] = [];
    const watch = async () => {
      for await (const line of api.client.watch(things, {}, { inactivityMs: 1_000 })) seen.push(String(line));
    };
    await expect(watch()).rejects.toMatchObject({ code: "UND_ERR_BODY_TIMEOUT" });
    expect(seen).toHaveLength(1);
  });
});

describe("lines", () => {
  async function* bytes(...chunks: (string | Buffer)[]): AsyncIterable<Buffer> {
    for (const chunk of chunks) yield Buffer.from(chunk);
  }
  const ship = Buffer.from("🚢");
  it.each<[string, (string | Buffer)[], string[]]>([
    ["whole", ["a\nb\n"], ["a", "b"]],
    ["in pieces", ["a", "b", "c\nd", "\n"], ["abc", "d"]],
    ["with a character in two pieces", [ship.subarray(0, 2), ship.subarray(2), "\n"], ["🚢"]],
    ["without the last newline: cut off", ["a\nhalf"], ["a"]],
    ["with empty ones between", ["a\n\n\nb\n"], ["a", "b"]],
    ["none", [], []],
  ])("come %s", async (_name, chunks, expected) => {
    const seen: string[] = [];
    for await (const line of lines(bytes(...chunks))) seen.push(String(line));
    expect(seen).toEqual(expected);
  });
});
