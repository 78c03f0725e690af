import * as z from "zod";
import type { RouteTable } from "../dispatch.ts";
import { viewCurrent } from "../endpoint-views.ts";
import { membersSeenBy } from "../keys.ts";
import { refuse } from "../refusal.ts";
import { queryInteger, text } from "../requests/fields.ts";
import type { Service } from "../service.ts";
import { checked } from "../validate.ts";

const listQuery = z.strictObject({
  limit: queryInteger.pipe(z.number().min(0)).optional(),
  cursor: text(0, 1024).optional(),
  keyword: z.string().optional(),
  member_ids: z.string().optional(),
});
const detailPath = z.strictObject({ endpoint_id: text(1, 255) });

/** Serves the current generation: list by cursor, read one. */
export function endpointsV2Routes(routes: RouteTable, service: Service): void {
  const { config, endpoints, now } = service;

  routes.add({
    method: "GET",
    path: "/gpus/v2/endpoints",
    operation: "listEndpoints",
    handle: ({ query, key }) => {
      const { limit, cursor, keyword, member_ids } = checked(listQuery, query, config().unknownFields);
      const { defaultPageSize, maxPageSize, listOrder, cursorMeans } = config();
      const listed = endpoints.listed({
        generation: "current",
        seen: membersSeenBy(key, config().keySees),
        ...(keyword ? { keyword } : {}),
        ...(member_ids ? { members: member_ids.split(",") } : {}),
      });
      // After the last endpoint: a change between two pages neither repeats nor skips endpoints. After an offset: it does.
      const after = cursor ? readCursor(cursor) : undefined;
      const rest =
        cursorMeans === "Offset"
          ? listed.slice(after ?? 0)
          : listed.filter(
              ({ seq }) => after === undefined || (listOrder === "NewestFirst" ? seq < after : seq > after),
            );
      const page = rest.slice(0, Math.min(maxPageSize, limit || defaultPageSize));
      const last = page.at(-1);
      const more = rest.length > page.length && last !== undefined;
      return {
        body: {
          data: page.map((endpoint) => viewCurrent(endpoint, config(), now(), true)),
          next_cursor: more ? writeCursor(cursorMeans === "Offset" ? (after ?? 0) + page.length : last.seq) : "",
          has_more: more,
        },
      };
    },
  });

  routes.add({
    method: "GET",
    path: "/gpus/v2/endpoints/:endpoint_id",
    operation: "getEndpoint",
    whenNull: { body: null },
    handle: ({ params, key }) => {
      const { endpoint_id } = checked(detailPath, params, "Refuse");
      return {
        body: viewCurrent(
          endpoints.get(endpoint_id, membersSeenBy(key, config().keySees), "current"),
          config(),
          now(),
          false,
        ),
      };
    },
  });
}

function writeCursor(seq: number): string {
  return Buffer.from(`after:${seq}`).toString("base64url");
}

function readCursor(cursor: string): number {
  const seq = /^after:(\d+)$/.exec(Buffer.from(cursor, "base64url").toString("utf8"))?.[1];
  if (seq === undefined) throw refuse.invalid("cursor: must be the next_cursor of a list");
  return Number(seq);
}
