import type { LookupFunction } from "node:net";
import { Agent, type Dispatcher } from "undici";
import { accountResource } from "../api/v1alpha1/kinds.ts";
import { ADDRESS_REFUSED } from "../base/address-guard.ts";
import type { Clock } from "../base/clock.ts";
import { codeOf, connectionWords } from "../base/connection-words.ts";
import { guardedConnector } from "../base/guarded-connect.ts";
import { createValueReader, StalledError } from "../controllers/references.ts";
import type { ClusterSession } from "./cluster-session.ts";
import { RequestError } from "./request-error.ts";
import type { UiObject } from "./ui-object.ts";
import type { CallView } from "./view-types.ts";

export const CALL_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

/** What a user sends to an endpoint. `path` begins with `/`. `withKey`: with the API key of the endpoint's account. */
export type EndpointCall = {
  method: (typeof CALL_METHODS)[number];
  path: string;
  contentType: string;
  body: string;
  withKey: boolean;
};

export type EndpointCaller = (
  session: ClusterSession,
  endpoint: UiObject,
  call: EndpointCall,
  signal: AbortSignal,
) => Promise<CallView>;

/** Bytes of a response that are shown. The rest is counted and dropped up to the second limit. */
const SHOWN_BYTES = 256 * 1024;
const MAX_BYTES = 64 * 1024 * 1024;
/** How long a call may take beyond the endpoint's own limit, ms: for the start of a worker. */
const START_MS = 300_000;
const DEFAULT_REQUEST_SECONDS = 60;
const SHOWN_HEADERS = ["content-type", "content-length", "location", "retry-after", "server"];
const LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Calls endpoints for a user. The address comes from the status that the user may read, and the key from the Secret of the account, which
 * the user must be allowed to read. Follows no redirects.
 * @param options.lookup judges the address of the endpoint
 */
export function createEndpointCaller({ lookup, clock }: { lookup: LookupFunction; clock: Clock }): EndpointCaller {
  return async (session, endpoint, call, signal) => {
    const url = urlOf(endpoint, call.path);
    const limitMs = (endpoint.spec.workers?.requestTimeoutSeconds ?? DEFAULT_REQUEST_SECONDS) * 1_000 + START_MS;
    const key = call.withKey ? await keyFor(session, endpoint, url, signal) : undefined;
    const agent = new Agent({
      connect: guardedConnector({ lookup }),
      headersTimeout: limitMs,
      bodyTimeout: limitMs,
      pipelining: 1,
    });
    const started = clock.monotonic();
    try {
      const response = await agent.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: call.method,
        headers: {
          accept: "*/*",
          "accept-encoding": "identity",
          "user-agent": "mooring",
          ...(call.body === "" ? {} : { "content-type": call.contentType }),
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        },
        body: call.body === "" ? null : call.body,
        signal: AbortSignal.any([signal, AbortSignal.timeout(limitMs)]),
      });
      const firstByteMs = Math.round(clock.monotonic() - started);
      const { bytes, shown } = await readBody(response);
      return {
        status: response.statusCode,
        firstByteMs,
        totalMs: Math.round(clock.monotonic() - started),
        headers: SHOWN_HEADERS.flatMap((name): [string, string][] => {
          const value = response.headers[name];
          return value === undefined ? [] : [[name, String(value)]];
        }),
        bytes,
        body: textOf(shown),
        cut: bytes > shown.length,
      };
    } catch (error) {
      throw failureOf(error, url, limitMs);
    } finally {
      await agent.destroy();
    }
  };
}

/** @throws RequestError when the endpoint has no address, or the path leads to another one */
function urlOf({ metadata, status }: UiObject, path: string): URL {
  const { url = "" } = status ?? {};
  if (url === "") {
    throw new RequestError(409, `GpuEndpoint ${metadata.name} has no URL yet: wait until it is Ready`);
  }
  const base = URL.canParse(url) ? new URL(url) : undefined;
  if (base === undefined || !/^https?:$/.test(base.protocol) || base.username !== "" || base.password !== "") {
    throw new RequestError(409, `status.url of GpuEndpoint ${metadata.name} is not an http or https URL`);
  }
  const text = `${base.origin}${base.pathname.replace(/\/$/, "")}${path}`;
  const target = URL.canParse(text) ? new URL(text) : undefined;
  if (!path.startsWith("/") || target?.origin !== base.origin) {
    throw new RequestError(400, "path: write a path of the endpoint, such as /v1/models");
  }
  return target;
}

/** @throws RequestError when the user may not read the key, or it would leave the machine without TLS */
async function keyFor(session: ClusterSession, endpoint: UiObject, url: URL, signal: AbortSignal): Promise<string> {
  if (url.protocol !== "https:" && !LOCAL_HOSTS.includes(url.hostname)) {
    throw new RequestError(403, `The API key is sent over https only, and ${url.origin} is not https`);
  }
  const ref = endpoint.status?.account;
  if (ref === undefined)
    throw new RequestError(409, "The endpoint has no account yet: send the request without the key");
  const namespace = ref.kind === accountResource.kind ? (endpoint.metadata.namespace ?? "") : "";
  const account = session.find({ kind: ref.kind, namespace, name: ref.name })?.object;
  const secret = account?.spec.apiKeySecretRef;
  if (secret === undefined)
    throw new RequestError(403, `You may not see ${ref.kind} ${ref.name}, which names the API key`);
  const place = secret.namespace ?? namespace;
  try {
    return await createValueReader(session.client, signal).secretKey(place, secret);
  } catch (error) {
    if (!(error instanceof StalledError)) throw error;
    if (error.reason !== "ReadForbidden") throw new RequestError(502, error.message);
    throw new RequestError(403, `You may not read Secret ${place}/${secret.name}, which has the API key`);
  }
}

async function readBody({ body }: Dispatcher.ResponseData): Promise<{ bytes: number; shown: Buffer }> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    if (bytes < SHOWN_BYTES) parts.push(chunk.subarray(0, SHOWN_BYTES - bytes));
    bytes += chunk.length;
    if (bytes > MAX_BYTES) break;
  }
  return { bytes, shown: Buffer.concat(parts) };
}

/** Undefined: the bytes are no text. A character that the limit cuts in two is dropped. */
function textOf(bytes: Buffer): string | undefined {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    const text = decoder.decode(bytes, { stream: true });
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

function failureOf(error: unknown, url: URL, limitMs: number): Error {
  if (error instanceof RequestError) return error;
  if (codeOf(error) === ADDRESS_REFUSED) return new RequestError(403, connectionWords(error));
  const silent = error instanceof DOMException || /^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(codeOf(error) ?? "");
  const what = silent ? `did not respond within ${limitMs / 1_000} s` : `cannot be reached: ${connectionWords(error)}`;
  return new RequestError(502, `${url.origin} ${what}`);
}
