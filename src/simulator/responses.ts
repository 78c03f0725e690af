import { pipeline } from "node:stream/promises";
import type { FastifyReply } from "fastify";

/** Resets the connection without a response. */
export function breakConnection(reply: FastifyReply): void {
  reply.hijack();
  reply.raw.socket?.resetAndDestroy();
}

/** Sends the HTML page of a gateway in front of the service. It does not tell whether the call took effect. */
export function sendGatewayPage(reply: FastifyReply, status: 502 | 503 | 504): FastifyReply {
  const title = { 502: "Bad Gateway", 503: "Service Temporarily Unavailable", 504: "Gateway Time-out" }[status];
  return reply
    .code(status)
    .type("text/html")
    .send(
      `<html>\r\n<head><title>${status} ${title}</title></head>\r\n<body><center><h1>${status} ${title}</h1></center></body>\r\n</html>\r\n`,
    );
}

/** Sends half of the response and closes the connection. A stream ends after its first line. */
export async function sendCut(
  reply: FastifyReply,
  status: number,
  response: { body: unknown } | { lines: AsyncIterable<string> },
): Promise<void> {
  reply.hijack();
  const { raw } = reply;
  if ("lines" in response) {
    raw.writeHead(status, { "content-type": "text/event-stream" });
    for await (const line of response.lines) {
      await writeAll(reply, line);
      break;
    }
  } else {
    const whole = Buffer.from(JSON.stringify(response.body));
    raw.writeHead(status, { "content-type": "application/json", "content-length": whole.length });
    await writeAll(reply, whole.subarray(0, Math.floor(whole.length / 2)));
  }
  raw.socket?.destroy();
}

/** How Node names that the client disconnected, while lines are sent and before. */
const READER_GONE: readonly unknown[] = ["ERR_STREAM_PREMATURE_CLOSE", "ERR_STREAM_UNABLE_TO_PIPE"];

/** Sends lines as they are produced, until the client disconnects. */
export async function sendStream(reply: FastifyReply, lines: AsyncIterable<string>): Promise<void> {
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  try {
    await pipeline(lines, raw);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && READER_GONE.includes(error.code))) throw error;
  }
}

/** Resolves when the socket has taken the piece. */
function writeAll(reply: FastifyReply, piece: string | Buffer): Promise<void> {
  return new Promise((resolve) => reply.raw.write(piece, () => resolve()));
}
