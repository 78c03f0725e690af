import { createHmac } from "node:crypto";
import type { LookupFunction } from "node:net";
import { Agent } from "undici";
import { type Clock, withDeadline } from "./clock.ts";
import { connectionWords } from "./connection-words.ts";
import { guardedConnector } from "./guarded-connect.ts";

/** One message to a receiver. `id`: the same in each attempt, by which the receiver knows a message that it has. */
export type WebhookMessage = { url: string; id: string; contentType: string; body: string; secret: string };

/** `retryAfterMs`: the receiver asks for this pause. `gone`: it wants no further attempt (410). */
export type WebhookOutcome =
  | { kind: "Delivered" }
  | { kind: "Failed"; message: string; retryAfterMs?: number; gone?: boolean };

/** Sends a message once. It never rejects. */
export type SendWebhook = (
  message: WebhookMessage,
  options: { lookup: LookupFunction; signal: AbortSignal },
) => Promise<WebhookOutcome>;

/** From the connection to the head of the response, ms. */
const ATTEMPT_MS = 15_000;
const SECRET_PREFIX = "whsec_";
/** Bytes of a secret (Standard Webhooks: "between 24 bytes and 64 bytes"). */
const SECRET_BYTES = { least: 24, most: 64 };

/**
 * The headers of Standard Webhooks. The signature is that of `id.timestamp.body`.
 * @param time ms since the epoch
 * @throws Error for a secret that is no key of Standard Webhooks; the message does not show it
 */
export function webhookHeaders({ id, body, secret }: WebhookMessage, time: number): Record<string, string> {
  const key = keyOf(secret);
  const timestamp = String(Math.floor(time / 1000));
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}

function keyOf(secret: string): Buffer {
  const text = secret.trim();
  const encoded = text.startsWith(SECRET_PREFIX) ? text.slice(SECRET_PREFIX.length) : text;
  const key = Buffer.from(encoded, "base64");
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(encoded);
  if (isBase64 && key.length >= SECRET_BYTES.least && key.length <= SECRET_BYTES.most) return key;
  throw new Error(
    `the signing secret must be ${SECRET_BYTES.least} to ${SECRET_BYTES.most} bytes in base64, with or without the prefix ${SECRET_PREFIX}`,
  );
}

/**
 * Sends over a connection of its own. Every 2xx is a delivery. A redirect is not followed: it is a failure. The body of the response is not
 * read.
 */
export function createWebhookSender(clock: Clock): SendWebhook {
  return async (message, { lookup, signal }) => {
    const agent = new Agent({ connect: guardedConnector({ lookup, timeoutMs: ATTEMPT_MS }), pipelining: 1 });
    try {
      const headers = {
        ...webhookHeaders(message, clock.now()),
        "content-type": message.contentType,
        "user-agent": "mooring",
      };
      const { origin, pathname, search } = new URL(message.url);
      const path = `${pathname}${search}`;
      const { body } = message;
      const answer = await withDeadline(clock, ATTEMPT_MS, (late) =>
        agent.request({ origin, path, method: "POST", headers, body, signal: AbortSignal.any([signal, late]) }),
      );
      answer.body.on("error", () => undefined).destroy();
      return outcomeOf(answer.statusCode, answer.headers["retry-after"]);
    } catch (error) {
      return { kind: "Failed", message: connectionWords(error) };
    } finally {
      await agent.destroy();
    }
  };
}

function outcomeOf(status: number, retryAfter: unknown): WebhookOutcome {
  if (status >= 200 && status < 300) return { kind: "Delivered" };
  const seconds = typeof retryAfter === "string" && /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : 0;
  const redirects = status >= 300 && status < 400 ? ": redirects are not followed, give the final URL" : "";
  return {
    kind: "Failed",
    message: `the receiver answers HTTP ${status}${redirects}`,
    ...(seconds === 0 ? {} : { retryAfterMs: seconds * 1000 }),
    ...(status === 410 ? { gone: true } : {}),
  };
}
