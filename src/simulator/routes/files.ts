import { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import { bytesOf, parseRange } from "../files.ts";
import type { Service } from "../service.ts";

/** Serves the URLs of results until they expire. They need no API key, like signed URLs. */
export function fileRoutes(app: FastifyInstance, service: Service): void {
  app.get<{ Params: { id: string } }>("/__files/:id/:name", (request, reply) => {
    const file = service.files.find(request.params.id);
    if (file === undefined) return reply.code(404).type("text/plain").send("no such file\n");
    if (service.now() >= file.expiresAtMs) {
      return reply.code(service.config().expiredUrlStatus).type("text/plain").send("the URL has expired\n");
    }
    const size = file.head.length + file.padding;
    const range = parseRange(request.headers.range, size);
    const { start, end } = range ?? { start: 0, end: size };
    reply
      .type(file.contentType)
      .header("accept-ranges", "bytes")
      .header("etag", `"${file.id}"`)
      .header("content-length", end - start);
    if (range !== undefined) reply.code(206).header("content-range", `bytes ${start}-${end - 1}/${size}`);
    return reply.send(Readable.from(bytesOf(file, start, end), { objectMode: false }));
  });
}
