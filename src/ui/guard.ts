import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { RequestError } from "./request-error.ts";

/**
 * Who may use the page:
 * - `UrlToken`: who has the URL with the token, which is as secret as the user's kubeconfig
 * - `None`: everyone who reaches the server, to read only
 * - `BearerToken`: who sends a token of the cluster with each request, as an auth proxy does
 */
export type Auth = { kind: "UrlToken"; token: string } | { kind: "None" } | { kind: "BearerToken" };

export type GuardOptions = {
  auth: Auth;
  /** Further names by which the server is reached, such as the host of an ingress. Names of the machine itself always are. */
  allowedHosts: readonly string[];
};

const LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"];
const SAFE_METHODS = ["GET", "HEAD"];

/** Paths that hold no data: the page's own script and style, and the probe. */
const OPEN_PATHS = /^\/(?:app\.js|style\.css|icon\.svg|healthz)$/;

const HEADERS = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "cache-control": "no-store",
  // For everything but the page itself, which has its own.
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
};

/**
 * Refuses, before anything else happens: requests under another host name (DNS rebinding), writes from other sites, and
 * requests without the token. Sets the headers that every response has.
 */
export function addGuard(app: FastifyInstance, { auth, allowedHosts }: GuardOptions): void {
  const hosts = new Set([...LOCAL_HOSTS, ...allowedHosts.map((host) => host.toLowerCase())]);
  app.addHook("onRequest", async (request, reply) => {
    reply.headers(HEADERS);
    if (request.url === "/healthz") return;
    assertHost(request, hosts);
    if (!SAFE_METHODS.includes(request.method)) assertSameOrigin(request, auth);
    const path = request.url.split("?", 1)[0] ?? "";
    if (OPEN_PATHS.test(path) || auth.kind !== "UrlToken") return;
    if (path === "/" && takeToken(request, reply, auth.token)) return reply;
    if (!hasToken(request, auth.token)) {
      throw new RequestError(401, "Open the URL that mooring ui printed: it has the token of this page");
    }
  });
}

function assertHost({ headers }: FastifyRequest, hosts: ReadonlySet<string>): void {
  const host = (headers.host ?? "").toLowerCase().replace(/:\d+$/, "");
  if (hosts.has(host)) return;
  throw new RequestError(421, "This host name is not allowed: name it in --allowed-hosts of mooring ui");
}

/** A browser sends Origin with every write. A program that reads the URL token from a file need not. */
function assertSameOrigin({ headers }: FastifyRequest, auth: Auth): void {
  const { origin, host } = headers;
  const site = headers["sec-fetch-site"];
  if (auth.kind === "None") throw new RequestError(403, "This page is read-only");
  const sameOrigin = origin !== undefined && URL.canParse(origin) && new URL(origin).host === host;
  if (sameOrigin && (site === undefined || site === "same-origin")) return;
  throw new RequestError(403, "Writes are accepted from the page itself only");
}

/** Moves the token from the URL to a cookie, so that it stays out of the history and of copied addresses. */
function takeToken(request: FastifyRequest, reply: FastifyReply, token: string): boolean {
  const given = new URLSearchParams(request.url.split("?", 2)[1] ?? "").get("token");
  if (given === null || !equal(given, token)) return false;
  const cookie = `${cookieName(request)}=${token}; HttpOnly; SameSite=Strict; Path=/`;
  void reply.code(303).header("set-cookie", cookie).header("location", "./").send();
  return true;
}

function hasToken(request: FastifyRequest, token: string): boolean {
  const name = cookieName(request);
  const cookies = (request.headers.cookie ?? "").split(";").map((pair) => pair.trim().split("=", 2));
  return cookies.some(([key, value]) => key === name && value !== undefined && equal(value, token));
}

/** A cookie is for all ports of a host: each page has its own name. */
function cookieName({ headers }: FastifyRequest): string {
  return `mooring-ui-${/:(\d+)$/.exec(headers.host ?? "")?.[1] ?? "80"}`;
}

function equal(a: string, b: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
