import type { FastifyInstance } from "fastify";
import { streamChanges } from "../changes.ts";
import type { ClusterSession } from "../cluster-session.ts";
import { formView } from "../form-view.ts";
import { listQuerySchema, selectRows } from "../list-query.ts";
import { manifestOf, versionOf } from "../manifest.ts";
import { moneyView } from "../money-view.ts";
import { objectView } from "../object-view.ts";
import type { UiOptions } from "../options.ts";
import { overviewOf } from "../overview.ts";
import type { EditView, RowPage, SessionState } from "../view-types.ts";
import { objectPathSchema, requestedObject } from "./request-object.ts";

const formPathSchema = objectPathSchema.pick({ kind: true, namespace: true });

/** Everything that the page reads, and the stream that tells it when to read again. */
export function addReadRoutes(app: FastifyInstance, options: UiOptions): void {
  const { sessions, clock } = options;

  app.get("/api/rows", async ({ query, headers }): Promise<RowPage> => {
    const session = await sessions.of(headers.authorization);
    return { ...selectRows(session.entries(), listQuerySchema.parse(query)), synced: session.synced() };
  });

  app.get("/api/overview", async ({ headers }) => overviewOf(await sessions.of(headers.authorization)));

  app.get("/api/objects/:kind/:namespace/:name", async ({ params, headers }) => {
    const session = await sessions.of(headers.authorization);
    return objectView(session, requestedObject(session, params));
  });

  app.get("/api/manifests/:kind/:namespace/:name", async ({ params, headers }): Promise<EditView> => {
    const { resource, object } = requestedObject(await sessions.of(headers.authorization), params);
    const { kind } = resource;
    return { manifest: manifestOf(kind, object), uid: object.metadata.uid, version: versionOf(kind, object) };
  });

  app.get("/api/forms/:kind/:namespace", async ({ params, headers }) => {
    const { kind, namespace } = formPathSchema.parse(params);
    return formView(await sessions.of(headers.authorization), kind, namespace);
  });

  app.get("/api/money", async ({ headers }) => moneyView(await sessions.of(headers.authorization)));

  app.get("/api/state", async ({ headers }) => stateOf(options, await sessions.of(headers.authorization)));

  app.get("/api/changes", async ({ headers }, reply) => {
    const session = await sessions.of(headers.authorization);
    reply.hijack();
    for (const [name, value] of Object.entries(reply.getHeaders())) reply.raw.setHeader(name, value ?? "");
    // The second header is for proxies that collect what they pass on.
    reply.raw.writeHead(200, { "content-type": "text/event-stream", "x-accel-buffering": "no" });
    streamChanges(reply.raw, { session, state: () => stateOf(options, session), clock });
  });
}

function stateOf({ version, readOnly, namespaces }: UiOptions, session: ClusterSession): SessionState {
  return {
    version,
    readOnly,
    namespaces: [...namespaces],
    kinds: session.kinds(),
    synced: session.synced(),
    disconnectedSince: session.disconnectedSince(),
  };
}
