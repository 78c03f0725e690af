import type { FastifyInstance } from "fastify";
import { type Assets, indexPage } from "../assets.ts";

/** A file with a hash of its content in its name never changes. */
const HASHED = /-[A-Z0-9]{8}\.js$/;

/** The page itself. Its files hold no data. */
export function addPageRoutes(app: FastifyInstance, assets: Assets): void {
  app.get("/", (_, reply) => {
    const { html, policy } = indexPage();
    return reply.header("content-security-policy", policy).type("text/html; charset=utf-8").send(html);
  });
  for (const [name, { type, body }] of assets) {
    app.get(`/${name}`, (_, reply) => {
      if (HASHED.test(name)) reply.header("cache-control", "public, max-age=31536000, immutable");
      return reply.type(type).send(body);
    });
  }
  app.get("/healthz", (_, reply) => reply.type("text/plain").send("ok"));
}
