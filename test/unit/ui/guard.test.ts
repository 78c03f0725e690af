import { type FastifyInstance, fastify } from "fastify";
import { describe, expect, it } from "vitest";
import { type Auth, addGuard } from "../../../src/ui/guard.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const TOKEN = "a-token-of-this-page";
const HOST = "127.0.0.1:8091";
const SIGNED_IN = { authorization: `Bearer ${TOKEN}` };

function appWith(auth: Auth, allowedHosts: string[] = [], clock = createFakeClock()): FastifyInstance {
  const app = fastify();
  addGuard(app, { auth, allowedHosts, clock });
  app.get("/", () => "page");
  app.get("/app.js", () => "script");
  app.get("/api/rows", () => "rows");
  app.get("/media/SpeechJob/team/a/0", () => "audio");
  app.get("/media/SpeechJob/team/b/0", () => "audio");
  app.get("/healthz", () => "ok");
  app.post("/api/jobs", () => "created");
  return app;
}

type Headers = Record<string, string>;
const get = (app: FastifyInstance, url: string, headers: Headers = {}) =>
  app.inject({ method: "GET", url, headers: { host: HOST, ...headers } });
const post = (app: FastifyInstance, headers: Headers) =>
  app.inject({ method: "POST", url: "/api/jobs", headers: { host: HOST, ...headers } });

describe("a page with a token in its URL", () => {
  const app = appWith({ kind: "UrlToken", token: TOKEN });

  it("gives nothing without the token but the page and its script, which hold no data", async () => {
    expect((await get(app, "/")).statusCode).toBe(200);
    expect((await get(app, "/api/rows")).statusCode).toBe(401);
    expect((await get(app, "/api/rows?token=wrong")).statusCode).toBe(401);
    expect((await get(app, `/api/rows?token=${TOKEN}`)).statusCode).toBe(401);
    expect((await get(app, "/app.js")).statusCode).toBe(200);
  });

  it("takes the token from a header, and never from a cookie, which the browser sends to every port of the host", async () => {
    expect((await get(app, "/api/rows", SIGNED_IN)).statusCode).toBe(200);
    expect((await get(app, "/api/rows", { authorization: "Bearer wrong" })).statusCode).toBe(401);
    expect((await get(app, "/api/rows", { cookie: `mooring-ui-8091=${TOKEN}` })).statusCode).toBe(401);
    expect((await get(app, "/", SIGNED_IN)).headers["set-cookie"]).toBeUndefined();
  });

  it("gives a ticket that opens one result, to read, for 12 hours", async () => {
    const clock = createFakeClock();
    const own = appWith({ kind: "UrlToken", token: TOKEN }, [], clock);
    const ticketFor = (path: string, headers: Headers) =>
      own.inject({ method: "POST", url: "/api/tickets", headers: { host: HOST, ...headers }, payload: { path } });
    const here = { ...SIGNED_IN, origin: `http://${HOST}` };
    const path = "media/SpeechJob/team/a/0";
    expect((await ticketFor(path, { origin: `http://${HOST}` })).statusCode).toBe(401);
    expect((await ticketFor("api/rows", here)).statusCode).toBe(400);
    const { ticket } = (await ticketFor(path, here)).json();
    const status = async (url: string) => (await get(own, url)).statusCode;
    expect(await status(`/${path}?ticket=${ticket}`)).toBe(200);
    expect(await status(`/${path}?ticket=${ticket}0`)).toBe(401);
    expect(await status(`/${path}?ticket=9${ticket}`)).toBe(401);
    expect(await status(`/media/SpeechJob/team/b/0?ticket=${ticket}`)).toBe(401);
    expect(await status(`/api/rows?ticket=${ticket}`)).toBe(401);
    await clock.advance(12 * 60 * 60_000);
    expect(await status(`/${path}?ticket=${ticket}`)).toBe(401);
  });

  it.each([
    { title: "another site", headers: { origin: "http://evil.example.com" } },
    { title: "another port of this machine", headers: { origin: "http://127.0.0.1:3000" } },
    { title: "no origin", headers: {} },
    { title: "an origin that is none", headers: { origin: "null" } },
    { title: "a frame of another site", headers: { origin: `http://${HOST}`, "sec-fetch-site": "cross-site" } },
  ])("refuses a write from $title", async ({ headers }) => {
    expect((await post(app, { ...SIGNED_IN, ...headers })).statusCode).toBe(403);
  });

  it("accepts a write from the page itself", async () => {
    const headers = { ...SIGNED_IN, origin: `http://${HOST}`, "sec-fetch-site": "same-origin" };
    expect((await post(app, headers)).statusCode).toBe(200);
    expect((await post(app, { origin: `http://${HOST}` })).statusCode).toBe(401);
  });

  it.each(["evil.example.com:8091", "127.0.0.1.evil.example.com"])("refuses the host %j", async (host) => {
    expect((await get(app, "/api/rows", { ...SIGNED_IN, host })).statusCode).toBe(421);
  });

  it.each(["localhost:8091", "LOCALHOST:8091", "[::1]:8091"])("answers under the local host %j", async (host) => {
    expect((await get(app, "/api/rows", { ...SIGNED_IN, host })).statusCode).toBe(200);
  });

  it("sends headers that keep the browser from showing, running or storing what it gets", async () => {
    const { headers } = await get(app, "/api/rows", SIGNED_IN);
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    });
  });
});

describe("a page without a sign-in", () => {
  const app = appWith({ kind: "None" }, ["mooring.example.com"]);

  it("reads and never writes, also from the page itself", async () => {
    expect((await get(app, "/api/rows")).statusCode).toBe(200);
    expect((await post(app, { origin: `http://${HOST}`, "sec-fetch-site": "same-origin" })).statusCode).toBe(403);
  });

  it("answers under the hosts that its administrator names, and probes under any", async () => {
    expect((await get(app, "/api/rows", { host: "mooring.example.com" })).statusCode).toBe(200);
    expect((await get(app, "/api/rows", { host: "other.example.com" })).statusCode).toBe(421);
    expect((await get(app, "/healthz", { host: "10.1.2.3:8091" })).statusCode).toBe(200);
  });
});
