import { once } from "node:events";
import type { FastifyReply } from "fastify";

/** Resets the connection without an answer. */
export function breakConnection(reply: FastifyReply): void {
  reply.hijack();
  reply.raw.socket?.resetAndDestroy();
}

/** A page as a gateway in front of the service shows it: says nothing of what became of the call. */
export function sendGatewayPage(reply: FastifyReply, status: 502 | 503 | 504): FastifyReply {
  const title = { 502: "Bad Gateway", 503: "Service Temporarily Unavailable", 504: "Gateway Time-out" }[status];
  return reply
    .code(status)
    .type("text/html")
    .send(
      `<html>\r\n<head><title>${status} ${title}</title></head>\r\n<body><center><h1>${status} ${title}</h1></center></body>\r\n</html>\r\n`,
    );
}

/** Half of the answer, then the end of the connection. A stream breaks after its first line. */
export async function sendCut(
  reply: FastifyReply,
  status: number,
  answer: { body: unknown } | { lines: AsyncIterable<string> },
): Promise<void> {
  reply.hijack();
  const { raw } = reply;
  if ("lines" in answer) {
    raw.writeHead(status, { "content-type": "text/event-stream" });
    for await (const line of answer.lines) {
      await written(reply, line);
      break;
    }
  } else {
    const whole = Buffer.from(JSON.stringify(answer.body));
    raw.writeHead(status, { "content-type": "application/json", "content-length": whole.length });
    await written(reply, whole.subarray(0, Math.floor(whole.length / 2)));
  }
  raw.socket?.destroy();
}

/** Lines as they come, until the reader leaves. */
export async function sendStream(reply: FastifyReply, lines: AsyncIterable<string>): Promise<void> {
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  for await (const line of lines) {
    if (raw.destroyed) return;
    if (!raw.write(line)) await Promise.race([once(raw, "drain"), once(raw, "close")]);
  }
  raw.end();
}

/** Waits until the piece has left for the socket. */
function written(reply: FastifyReply, piece: string | Buffer): Promise<void> {
  return new Promise((resolve) => reply.raw.write(piece, () => resolve()));
}
