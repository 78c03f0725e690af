import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { anyExcept, publicOnly } from "../../../src/base/address-guard.ts";
import { systemClock } from "../../../src/base/clock.ts";
import type { KubeClient } from "../../../src/kube/client.ts";
import { KubeError } from "../../../src/kube/errors.ts";
import type { ClusterSession, Found } from "../../../src/ui/cluster-session.ts";
import { createEndpointCaller, type EndpointCall } from "../../../src/ui/endpoint-call.ts";
import type { UiObject } from "../../../src/ui/ui-object.ts";
import { endpointOf } from "../../support/endpoints.ts";
import { manifest } from "../../support/manifests.ts";

type Asked = {
  method?: string | undefined;
  url?: string | undefined;
  headers: IncomingMessage["headers"];
  body: string;
};
type Answer = (response: ServerResponse) => void;
type Secrets = "Forbidden" | Record<string, string>;

/** An endpoint that answers by `answer`, in a cluster whose user may read `secrets`. */
async function setUp(answer: Answer, { secrets = {} as Secrets, url = undefined as string | undefined } = {}) {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { method, url: path, headers } = request;
    asked.push({ method, url: path, headers, body });
    answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.closeAllConnections());
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const object = endpointOf() as unknown as UiObject;
  object.status = {
    url: url ?? `http://127.0.0.1:${port}`,
    account: { kind: "Account", name: "default", baseURL: "https://api.example.com" },
  };
  const get = async () => {
    if (secrets === "Forbidden") throw new KubeError("no", { status: 403, reason: "Forbidden" });
    const data = Object.entries(secrets).map(([key, value]) => [key, Buffer.from(value).toString("base64")]);
    return { data: Object.fromEntries(data) };
  };
  const session = {
    client: { get } as Pick<KubeClient, "get"> as KubeClient,
    find: () => ({ object: manifest("account") }) as unknown as Found,
  } as Pick<ClusterSession, "client" | "find"> as ClusterSession;
  const caller = (lookup = anyExcept([])) => createEndpointCaller({ lookup, clock: systemClock });
  const call = (change: Partial<EndpointCall> = {}, lookup = anyExcept([])) => {
    const plain: EndpointCall = { method: "GET", path: "/", contentType: "application/json", body: "", withKey: false };
    return caller(lookup)(session, object, { ...plain, ...change }, new AbortController().signal);
  };
  return { call, asked };
}

const keyName = manifest("account").spec?.["apiKeySecretRef"] as { key?: string };

it("an endpoint that answers is shown with status, time, headers and body", async () => {
  const { call, asked } = await setUp((response) =>
    response.writeHead(201, { "content-type": "application/json", "set-cookie": "a=b" }).end('{"ok":true}'),
  );
  const view = await call({ method: "POST", path: "/v1/run?x=1", body: '{"prompt":"sea"}' });
  expect(view).toMatchObject({ status: 201, bytes: 11, body: '{"ok":true}', cut: false });
  expect(view.totalMs).toBeGreaterThanOrEqual(view.firstByteMs);
  expect(view.headers).toEqual([["content-type", "application/json"]]);
  expect(asked).toMatchObject([{ method: "POST", url: "/v1/run?x=1", body: '{"prompt":"sea"}' }]);
  expect(asked[0]?.headers["content-type"]).toBe("application/json");
  expect(asked[0]?.headers).not.toHaveProperty("authorization");
});

it("a body that is no text or is long is counted, and shown as far as it can be", async () => {
  const bytes = await setUp((response) => response.end(Buffer.from([0, 255, 1])));
  const binary = await bytes.call();
  expect(binary).toMatchObject({ bytes: 3, cut: false });
  expect(binary.body).toBeUndefined();
  const long = await setUp((response) => response.end("ü".repeat(300_000)));
  const view = await long.call();
  expect(view).toMatchObject({ bytes: 600_000, cut: true });
  expect(view.body?.length).toBe(131_072);
});

it("a redirect is shown and not followed", async () => {
  const { call, asked } = await setUp((response) =>
    response.writeHead(302, { location: "https://a.example.com" }).end(),
  );
  expect(await call()).toMatchObject({
    status: 302,
    headers: expect.arrayContaining([["location", "https://a.example.com"]]),
  });
  expect(asked).toHaveLength(1);
});

it("the API key is sent when it is asked for and the user may read its Secret", async () => {
  const { call, asked } = await setUp((response) => response.end("ok"), {
    secrets: { [keyName.key ?? "apiKey"]: "key-1" },
  });
  await call({ withKey: true });
  expect(asked[0]?.headers.authorization).toBe("Bearer key-1");
});

it("nothing is sent with a key that the user may not read, and none without https to another machine", async () => {
  const { call, asked } = await setUp((response) => response.end("ok"), { secrets: "Forbidden" });
  await expect(call({ withKey: true })).rejects.toThrow(/^You may not read Secret .*which has the API key$/);
  expect(asked).toEqual([]);
  const plain = await setUp((response) => response.end("ok"), {
    secrets: { [keyName.key ?? "apiKey"]: "key-1" },
    url: "http://echo.example.com",
  });
  await expect(plain.call({ withKey: true })).rejects.toThrow("over https only");
});

it.each([
  ["//other.example.com/", "path: write a path"],
  ["@other.example.com/", "path: write a path"],
  [".example.com/", "path: write a path"],
])("a path stays at the endpoint: %s", async (path, message) => {
  const { call, asked } = await setUp((response) => response.end("ok"));
  const [outcome] = await Promise.allSettled([call({ path })]);
  // What begins with two slashes is a path of the endpoint, and no other host.
  if (outcome?.status === "fulfilled") expect(asked.map(({ url }) => url)).toEqual([path]);
  else expect(String(outcome?.reason)).toContain(message);
});

it("an address that the page may not use, and one that does not respond, are said", async () => {
  const { call, asked } = await setUp((response) => response.end("ok"));
  await expect(call({}, publicOnly("the page calls endpoints at public addresses only"))).rejects.toMatchObject({
    statusCode: 403,
    message: expect.stringContaining("public addresses only"),
  });
  expect(asked).toEqual([]);
  const closed = await setUp((response) => response.end(), { url: "http://127.0.0.1:1" });
  await expect(closed.call()).rejects.toMatchObject({
    statusCode: 502,
    message: expect.stringContaining("http://127.0.0.1:1 cannot be reached"),
  });
});

it("an endpoint without a URL is not called", async () => {
  const { call } = await setUp((response) => response.end(), { url: "" });
  await expect(call()).rejects.toMatchObject({ statusCode: 409, message: expect.stringContaining("has no URL yet") });
});
