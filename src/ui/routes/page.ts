import type { FastifyInstance } from "fastify";
import { type Assets, indexPage } from "../assets.ts";

/** The page itself. Its files hold no data. */
export function addPageRoutes(app: FastifyInstance, { script, style, icon }: Assets): void {
  app.get("/", (_, reply) => {
    const { html, policy } = indexPage();
    return reply.header("content-security-policy", policy).type("text/html; charset=utf-8").send(html);
  });
  app.get("/app.js", (_, reply) => reply.type("text/javascript; charset=utf-8").send(script));
  app.get("/style.css", (_, reply) => reply.type("text/css; charset=utf-8").send(style));
  app.get("/icon.svg", (_, reply) => reply.type("image/svg+xml").send(icon));
  app.get("/healthz", (_, reply) => reply.type("text/plain").send("ok"));
}
