import { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import * as z from "zod";
import type { ByteRange } from "../../artifacts/types.ts";
import type { Media } from "../media.ts";
import { DOWNLOAD_TYPE } from "../media-type.ts";
import type { UiOptions } from "../options.ts";
import { RequestError } from "../request-error.ts";
import type { ResultUrl } from "../view-types.ts";
import { objectOf, objectPathSchema } from "./request-object.ts";

const mediaPathSchema = objectPathSchema.extend({ index: z.coerce.number().int().min(0).max(63) });

/** Results of jobs, with ranges so that a player can seek. The browser contacts no other host. */
export function addMediaRoute(app: FastifyInstance, { sessions, openMedia }: UiOptions): void {
  app.get("/media/:kind/:namespace/:name/:index", async ({ params, headers, raw }, reply) => {
    const session = await sessions.of(headers.authorization);
    const wanted = mediaPathSchema.parse(params);
    const range = parseRange(headers.range);
    const ending = new AbortController();
    raw.once("close", () => ending.abort());
    const media = await openMedia(session, { ...wanted, range }, ending.signal);
    const stream = Readable.from(media.chunks, { objectMode: false });
    stream.once("close", () => void media.close());
    for (const [name, value] of Object.entries(headersOf(media))) reply.header(name, value);
    return reply.code(range !== undefined && media.totalBytes !== undefined ? 206 : 200).send(stream);

    function headersOf({ contentType, totalBytes, start, end = 0 }: Media): Record<string, string> {
      const type = { "content-type": contentType, ...downloadOf(contentType, wanted.name) };
      if (totalBytes === undefined) return type;
      const sized = { ...type, "accept-ranges": "bytes", "content-length": String(end - start) };
      return range === undefined ? sized : { ...sized, "content-range": `bytes ${start}-${end - 1}/${totalBytes}` };
    }
  });
}

/** The URL that the service gave for a result, with its signature. The user may read it in the status of the job as well. */
export function addResultUrlRoute(app: FastifyInstance, { sessions }: UiOptions): void {
  app.get("/api/result-urls/:kind/:namespace/:name/:index", async ({ params, headers }): Promise<ResultUrl> => {
    const { index, ...key } = mediaPathSchema.parse(params);
    const { object } = objectOf(await sessions.of(headers.authorization), key);
    const url = object.status?.results?.[index]?.url;
    if (url === undefined) throw new RequestError(404, "The result has no URL");
    return { url };
  });
}

function downloadOf(contentType: string, name: string): Record<string, string> {
  return contentType === DOWNLOAD_TYPE ? { "content-disposition": `attachment; filename="${name}.bin"` } : {};
}

/** One range from a first byte, as players ask. Another form is answered with the whole result, as HTTP allows. */
function parseRange(header: string | undefined): ByteRange | undefined {
  const [, first, last] = /^bytes=(\d{1,15})-(\d{1,15})?$/.exec(header ?? "") ?? [];
  if (first === undefined) return undefined;
  return { start: Number(first), end: last === undefined ? undefined : Number(last) + 1 };
}
