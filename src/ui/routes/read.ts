import type { FastifyInstance } from "fastify";
import { objectState } from "../../describe/object-state.ts";
import { offersOf } from "../../describe/offers.ts";
import { actionsOf } from "../actions.ts";
import { streamChanges } from "../changes.ts";
import type { ClusterSession } from "../cluster-session.ts";
import { listQuerySchema, selectRows } from "../list-query.ts";
import { objectView } from "../object-view.ts";
import type { UiOptions } from "../options.ts";
import { spendingView } from "../spending-view.ts";
import type { InboxPage, InboxRow, ObjectRow, RowPage, SessionState } from "../view-types.ts";
import { requestedObject } from "./request-object.ts";

/** Everything that the page reads, and the stream that tells it when to read again. */
export function addReadRoutes(app: FastifyInstance, options: UiOptions): void {
  const { sessions, clock } = options;

  app.get("/api/rows", async ({ query, headers }): Promise<RowPage> => {
    const session = await sessions.of(headers.authorization);
    return { ...selectRows(session.rows(), listQuerySchema.parse(query)), synced: session.synced() };
  });

  app.get("/api/inbox", async ({ query, headers }): Promise<InboxPage> => {
    const session = await sessions.of(headers.authorization);
    const page = selectRows(session.rows(), { ...listQuerySchema.parse(query), view: "inbox" });
    return { ...page, rows: page.rows.map((row) => withActions(session, row)), synced: session.synced() };
  });

  app.get("/api/objects/:kind/:namespace/:name", async ({ params, headers }) => {
    const session = await sessions.of(headers.authorization);
    return objectView(session, requestedObject(session, params));
  });

  app.get("/api/spending", async ({ headers }) => spendingView(await sessions.of(headers.authorization)));

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

function withActions(session: ClusterSession, row: ObjectRow): InboxRow {
  const found = session.find(row);
  if (found === undefined) return { ...row, actions: [], commands: [] };
  const { message } = objectState(found.object);
  return {
    ...row,
    message,
    actions: actionsOf(found.resource, found.object),
    commands: offersOf(found.resource.kind, found.object),
  };
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
