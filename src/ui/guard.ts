import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import type { Clock } from "../base/clock.ts";
import { RequestError } from "./request-error.ts";
import { createTickets, type Tickets } from "./tickets.ts";

/**
 * Who may use the page:
 * - `UrlToken`: who sends the token of the printed URL, which is as secret as the user's kubeconfig
 * - `None`: everyone who reaches the server, to read only
 * - `BearerToken`: who sends a token of the cluster with each request, as an auth proxy does
 */
export type Auth = { kind: "UrlToken"; token: string } | { kind: "None" } | { kind: "BearerToken" };

export type GuardOptions = {
  auth: Auth;
  /** Further names by which the server is reached, such as the host of an ingress. Names of the machine itself always are. */
  allowedHosts: readonly string[];
  clock: Pick<Clock, "now">;
};

const LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"];
const SAFE_METHODS = ["GET", "HEAD"];

/** Paths that hold no data: the page's own files, and the probe. */
const OPEN_PATHS = /^\/(?:[\w.-]+\.(?:js|css|svg)|healthz)?$/;
/** What a browser opens without a header: only these paths have tickets. */
const TICKET_PATHS = /^\/(?:media\/|api\/changes$)/;
const ticketSchema = z.object({ path: z.string().max(1_000) });

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
export function addGuard(app: FastifyInstance, { auth, allowedHosts, clock }: GuardOptions): void {
  const hosts = new Set([...LOCAL_HOSTS, ...allowedHosts.map((host) => host.toLowerCase())]);
  const tickets = auth.kind === "UrlToken" ? createTickets(auth.token, clock) : undefined;
  app.addHook("onRequest", async (request, reply) => {
    reply.headers(HEADERS);
    if (request.url === "/healthz") return;
    assertHost(request, hosts);
    if (!SAFE_METHODS.includes(request.method)) assertSameOrigin(request, auth);
    const path = request.url.split("?", 1)[0] ?? "";
    if (OPEN_PATHS.test(path) || auth.kind !== "UrlToken") return;
    if (!hasToken(request, auth.token) && !hasTicket(request, path, tickets)) {
      throw new RequestError(401, "Open the URL that mooring ui printed: it has the token of this page");
    }
  });
  if (tickets === undefined) return;
  app.post("/api/tickets", ({ body }) => {
    const path = `/${ticketSchema.parse(body).path}`;
    if (!TICKET_PATHS.test(path)) throw new RequestError(400, "This path has no tickets");
    return { ticket: tickets.issue(path) };
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

/** Browsers never add this header on their own, so another site or a program on another port cannot obtain or use the token. */
function hasToken({ headers }: FastifyRequest, token: string): boolean {
  const given = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
  return given !== undefined && equal(given, token);
}

function hasTicket({ url, method }: FastifyRequest, path: string, tickets: Tickets | undefined): boolean {
  const ticket = new URLSearchParams(url.split("?", 2)[1] ?? "").get("ticket");
  return SAFE_METHODS.includes(method) && ticket !== null && tickets?.opens(path, ticket) === true;
}

function equal(a: string, b: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
