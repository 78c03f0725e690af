import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { describe, expect, it, onTestFinished } from "vitest";
import { anyAddress, leadsTo, publicOnly } from "../../../src/base/address-guard.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { createWebhookSender, webhookHeaders } from "../../../src/base/webhook.ts";
import { SECRET } from "../../support/callbacks.ts";
import { createFakeClock, until } from "../../support/fake-clock.ts";

const signal = new AbortController().signal;
const message = { id: "job-1", contentType: "application/cloudevents+json", body: '{"a":"ü"}', secret: SECRET };

type Seen = { headers: Record<string, string>; body: string };

/** A receiver that answers by `listener` after it has read the request. */
async function receiver(listener: RequestListener): Promise<{ url: string; port: number; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    seen.push({ headers, body: Buffer.concat(chunks).toString("utf8") });
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/done?x=1`, port, seen };
}

describe("a callback", () => {
  it("is one that a library of Standard Webhooks accepts, and refuses when it is changed", async () => {
    const { url, seen } = await receiver((_, response) => response.writeHead(204).end());
    const sent = await createWebhookSender(systemClock)({ ...message, url }, { lookup: anyAddress, signal });
    expect(sent).toEqual({ kind: "Delivered" });
    const [{ headers, body } = { headers: {}, body: "" }] = seen;
    expect(new Webhook(SECRET).verify(body, headers)).toEqual({ a: "ü" });
    expect(headers).toMatchObject({ "webhook-id": "job-1", "content-type": "application/cloudevents+json" });
    expect(() => new Webhook(SECRET).verify(body.replace("ü", "u"), headers)).toThrow();
    expect(() => new Webhook(SECRET).verify(body, { ...headers, "webhook-id": "job-2" })).toThrow();
  });

  it("is not sent to where a redirect leads", async () => {
    const target = await receiver((_, response) => response.end());
    const first = await receiver((_, response) => response.writeHead(307, { location: target.url }).end());
    const sent = await createWebhookSender(systemClock)({ ...message, url: first.url }, { lookup: anyAddress, signal });
    expect(sent).toMatchObject({
      kind: "Failed",
      message: expect.stringMatching(/HTTP 307: redirects are not followed/),
    });
    expect(target.seen).toEqual([]);
  });

  it("that a receiver answers with 1 GB is delivered without reading it", async () => {
    let written = 0;
    const megabyte = Buffer.alloc(1024 * 1024);
    const { url } = await receiver((_, response) => {
      response.writeHead(200, { "content-length": String(1024 * megabyte.length) });
      const write = () => {
        while (written < 1024 && !response.destroyed) {
          written++;
          if (!response.write(megabyte)) return response.once("drain", write);
        }
        return undefined;
      };
      write();
    });
    const sent = await createWebhookSender(systemClock)({ ...message, url }, { lookup: anyAddress, signal });
    expect(sent).toEqual({ kind: "Delivered" });
    expect(written).toBeLessThan(32);
  });

  it("to a receiver that never answers fails after 15 s", async () => {
    const { url, seen } = await receiver(() => {});
    const clock = createFakeClock();
    const sent = createWebhookSender(clock)({ ...message, url }, { lookup: anyAddress, signal });
    await until(() => seen.length === 1);
    await clock.advance(15_000);
    expect(await sent).toMatchObject({ kind: "Failed", message: expect.stringContaining("15000 ms") });
  });

  it("to a receiver that floods headers fails", async () => {
    const { url } = await receiver((_, response) => {
      response.writeHead(200, { "x-long": "a".repeat(1024 * 1024) }).end();
    });
    const sent = await createWebhookSender(systemClock)({ ...message, url }, { lookup: anyAddress, signal });
    expect(sent.kind).toBe("Failed");
  });

  it.each(["127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1", "[::ffff:7f00:1]", "169.254.169.254"])(
    "is not sent to %s, and does not tell what a name resolves to",
    async (host) => {
      const { port, seen } = await receiver((_, response) => response.end());
      const url = `http://${host}:${port}/done`;
      const sent = await createWebhookSender(systemClock)({ ...message, url }, { lookup: publicOnly("no"), signal });
      expect(sent).toMatchObject({ kind: "Failed", message: expect.stringMatching(/not (a )?public/) });
      expect(seen).toEqual([]);
    },
  );

  it("to a Service goes to its cluster IP, whatever its name resolves to", async () => {
    const { port, seen } = await receiver((_, response) => response.end());
    const url = `http://hook.team.svc:${port}/done`;
    const lookup = leadsTo("127.0.0.1", anyAddress);
    expect(await createWebhookSender(systemClock)({ ...message, url }, { lookup, signal })).toEqual({
      kind: "Delivered",
    });
    expect(seen[0]?.headers["host"]).toBe(`hook.team.svc:${port}`);
    const denied = leadsTo("127.0.0.1", publicOnly("no"));
    expect((await createWebhookSender(systemClock)({ ...message, url }, { lookup: denied, signal })).kind).toBe(
      "Failed",
    );
    expect(seen).toHaveLength(1);
  });

  it.each([
    { status: 410, headers: {}, outcome: { gone: true } },
    { status: 429, headers: { "retry-after": "120" }, outcome: { retryAfterMs: 120_000 } },
    { status: 503, headers: { "retry-after": "soon" }, outcome: { message: "the receiver answers HTTP 503" } },
  ])("answered with $status $headers has failed", async ({ status, headers, outcome }) => {
    const { url } = await receiver((_, response) => response.writeHead(status, headers).end());
    const sent = await createWebhookSender(systemClock)({ ...message, url }, { lookup: anyAddress, signal });
    expect(sent).toMatchObject({ kind: "Failed", ...outcome });
  });

  it("that nobody listens for shows no address", async () => {
    const url = "http://localhost:1/done";
    const sent = await createWebhookSender(systemClock)({ ...message, url }, { lookup: anyAddress, signal });
    expect(sent).toEqual({ kind: "Failed", message: "connect ECONNREFUSED" });
  });
});

describe("a signing secret", () => {
  it.each(["", "whsec_", "not base64!", "whsec_c2hvcnQ=", Buffer.alloc(65).toString("base64")])(
    "%j is refused, and not shown",
    (secret) => {
      const headers = () => webhookHeaders({ ...message, url: "", secret }, 0);
      expect(headers).toThrow("24 to 64 bytes");
      if (secret.length > 6) expect(headers).not.toThrow(secret);
    },
  );

  it("is the same with and without the prefix", () => {
    const bare = SECRET.replace("whsec_", "");
    const one = webhookHeaders({ ...message, url: "", secret: `${bare}\n` }, 5_999);
    expect(one).toEqual(webhookHeaders({ ...message, url: "", secret: SECRET }, 5_000));
  });
});
