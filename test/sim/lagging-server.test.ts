import { expect, it } from "vitest";
import { gpuEndpointResource } from "../../src/api/v1alpha1/kinds.ts";
import { resourcePath } from "../../src/kube/resource.ts";
import { manifest } from "../support/manifests.ts";
import { isJson, objectAt, parseJson } from "./api-server/json.ts";
import { type ApiResult, createApiServer, type Lag } from "./api-server/server.ts";
import { createStorage } from "./api-server/storage.ts";

const PLACE = { namespace: "team-a", name: "a" };

/** A server with an object, a state to lag at, and a change since. */
function lagging() {
  const storage = createStorage();
  const server = createApiServer({ storage, now: () => 0, uid: () => "uid-1" });
  const call = (method: string, path: string, { query = {}, body, lag }: Options = {}): ApiResult =>
    server.call({
      method,
      path,
      query: new URLSearchParams(query),
      body: parseJson(JSON.stringify(body ?? null)),
      lag,
    });
  const collection = resourcePath(gpuEndpointResource, { namespace: PLACE.namespace });
  const object = resourcePath(gpuEndpointResource, PLACE);
  call("POST", collection, { body: manifest("endpoint", {}, PLACE.name) });
  const lag: Lag = { state: storage.snapshot(), until: 5_000 };
  call("PATCH", object, { body: { spec: { command: "changed" } } });
  return { storage, call, collection, object, lag };
}

type Options = { query?: Record<string, string>; body?: object; lag?: Lag };

const commandOf = (object: unknown) => {
  const json = parseJson(JSON.stringify(object ?? null));
  return isJson(json) ? objectAt(json, "spec")["command"] : undefined;
};

it("a list shows the earlier state with its version, and a read of one object the current state", () => {
  const { call, collection, object, lag } = lagging();
  const list = call("GET", collection, { lag });
  expect(list).toMatchObject({ status: 200, body: { metadata: { resourceVersion: String(lag.state.version) } } });
  const items = "body" in list ? list.body["items"] : [];
  expect(Array.isArray(items) ? items.map(commandOf) : items).toEqual([undefined]);
  const read = call("GET", object, { lag });
  expect("body" in read && commandOf(read.body)).toBe("changed");
});

it.each([
  { what: "a streamed list", query: { sendInitialEvents: "true" }, first: ["ADDED", "BOOKMARK"] },
  { what: "a watch", query: {}, first: [] },
])("$what is silent for the time of the lag, and then shows what was missed", ({ query, first }) => {
  const { call, collection, lag } = lagging();
  const result = call("GET", collection, {
    query: { watch: "true", resourceVersion: String(lag.state.version), ...query },
    lag,
  });
  if (!("watch" in result)) throw new Error("is no watch");
  const { watch } = result;
  expect(watch.first.map(({ type }) => type)).toEqual(first);
  expect(watch.lag?.until).toBe(5_000);
  expect(watch.lag?.missed().map(({ type, object }) => [type, commandOf(object)])).toEqual([["MODIFIED", "changed"]]);
});

it("a lag that ends after a compaction ends the watch", () => {
  const { storage, call, collection, lag } = lagging();
  const result = call("GET", collection, { query: { watch: "true", sendInitialEvents: "true" }, lag });
  storage.compact();
  expect("watch" in result && result.watch.lag?.missed()).toMatchObject([{ type: "ERROR", object: { code: 410 } }]);
});
