import { fastify } from "fastify";
import { ZodError } from "zod";
import { plainText } from "../base/sanitizer.ts";
import { KubeError } from "../kube/errors.ts";
import { addGuard } from "./guard.ts";
import { problemsOf } from "./manifest.ts";
import type { UiOptions } from "./options.ts";
import { RequestError } from "./request-error.ts";
import { addMediaRoute, addResultUrlRoute } from "./routes/media.ts";
import { addPageRoutes } from "./routes/page.ts";
import { addReadRoutes } from "./routes/read.ts";
import { addWriteRoutes } from "./routes/write.ts";

export type UiServer = { readonly port: number; close(): Promise<void> };

/** Bytes: the longest text of a job, with every character escaped in JSON. */
const BODY_LIMIT = 8 * 1024 * 1024;
const ERROR_LENGTH = 2_000;

/**
 * The server of the web page. It has no permission of its own: each request reads and writes with those of its session.
 * @throws Error of Node when the address cannot be listened on
 */
export async function serveUi(options: UiOptions, listen: { host: string; port: number }): Promise<UiServer> {
  const app = fastify({ bodyLimit: BODY_LIMIT, forceCloseConnections: true });
  addGuard(app, options);
  app.setErrorHandler((error: Error & { statusCode?: number }, _, reply) => {
    const { status, message } = shownError(error);
    const problems = error instanceof KubeError ? problemsOf(error) : [];
    return reply
      .code(status)
      .send({ error: plainText(message, ERROR_LENGTH), ...(problems.length > 0 ? { problems } : {}) });
  });
  app.setNotFoundHandler((_, reply) => reply.code(404).send({ error: "There is no such page" }));
  addPageRoutes(app, options.assets);
  addReadRoutes(app, options);
  addWriteRoutes(app, options);
  addMediaRoute(app, options);
  addResultUrlRoute(app, options);
  const close = async () => {
    await app.close();
    await options.sessions.close();
  };
  await app.listen(listen).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const address = app.server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : listen.port,
    close,
  };
}

/** The API server's own words, and one of ours for what only a log should hold. */
function shownError(error: Error & { statusCode?: number }): { status: number; message: string } {
  if (error instanceof RequestError) return { status: error.statusCode, message: error.message };
  if (error instanceof KubeError) return { status: error.status || 502, message: error.message };
  if (error instanceof ZodError) {
    const problems = error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
    return { status: 400, message: problems.join("; ") };
  }
  const { statusCode = 500 } = error;
  return { status: statusCode, message: statusCode < 500 ? error.message : `The page failed: ${error.message}` };
}
