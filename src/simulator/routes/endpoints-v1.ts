import * as z from "zod";
import type { RouteTable } from "../dispatch.ts";
import { viewEarlier } from "../endpoint-views.ts";
import { membersSeenBy } from "../keys.ts";
import { refuse } from "../refusal.ts";
import { createEndpointBody, updateEndpointBody } from "../requests/endpoint.ts";
import { queryInteger } from "../requests/fields.ts";
import type { Service } from "../service.ts";
import { checked } from "../validate.ts";

const ROOT = "/gpu-instance/openapi/v1";

const listQuery = z.strictObject({ pageSize: queryInteger, pageNum: queryInteger });
const detailQuery = z.strictObject({ id: z.string() });
const limitQuery = z.strictObject({});

/** Serves the earlier generation: list by page, read one, create, update, ranges. */
export function endpointsV1Routes(routes: RouteTable, service: Service): void {
  readRoutes(routes, service);
  writeRoutes(routes, service);
}

function readRoutes(routes: RouteTable, { config, endpoints, now }: Service): void {
  routes.add({
    method: "GET",
    path: `${ROOT}/endpoints`,
    operation: "listEndpointsEarlier",
    handle: ({ query, key }) => {
      const { defaultPageSize, maxPageSize, firstPageNum, unknownFields } = config();
      const { pageSize, pageNum } = checked(listQuery, query, unknownFields);
      const size = pageSize > 0 ? Math.min(maxPageSize, pageSize) : defaultPageSize;
      const start = Math.max(0, pageNum - firstPageNum) * size;
      const listed = endpoints.listed({ generation: "earlier", seen: membersSeenBy(key, config().keySees) });
      const page = listed.slice(start, start + size);
      const { pageBehindEnd, totalCounts } = config();
      if (pageBehindEnd === "Refusal" && page.length === 0 && start > 0) throw refuse.invalid("pageNum: is too large");
      return {
        body: {
          endpoints: page.map((endpoint) => viewEarlier(endpoint, config(), now(), true)),
          total: totalCounts === "All" ? listed.length : page.length,
        },
      };
    },
  });

  routes.add({
    method: "GET",
    path: `${ROOT}/endpoint`,
    operation: "getEndpointEarlier",
    whenNull: { body: { endpoint: null } },
    handle: ({ query, key }) => {
      const { id } = checked(detailQuery, query, config().unknownFields);
      const found = endpoints.get(id, membersSeenBy(key, config().keySees), "earlier");
      return { body: { endpoint: viewEarlier(found, config(), now(), false) } };
    },
  });

  routes.add({
    method: "GET",
    path: `${ROOT}/endpoint/limit`,
    operation: "getEndpointLimits",
    handle: ({ query }) => {
      checked(limitQuery, query, config().unknownFields);
      return { body: config().limits };
    },
  });
}

function writeRoutes(routes: RouteTable, { config, endpoints, now }: Service): void {
  routes.add({
    method: "POST",
    path: `${ROOT}/endpoint/create`,
    operation: "createEndpoint",
    handle: ({ body, key }) => {
      const { endpoint } = checked(createEndpointBody, body, config().unknownFields);
      const { id } = endpoints.create(endpoint, key.memberID);
      return { body: { id }, effect: "EndpointCreated", id };
    },
  });

  routes.add({
    method: "POST",
    path: `${ROOT}/endpoint/update`,
    operation: "updateEndpoint",
    handle: ({ body, key }) => {
      const { id, ...given } = checked(updateEndpointBody, body, config().unknownFields);
      const {
        appName: _app,
        products: _products,
        rootfsSize: _size,
        ...before
      } = endpoints.get(id, membersSeenBy(key, config().keySees)).parameters;
      const { name, clusterID, envs, volumeMounts } = before;
      const kept = config().updateClearsAbsent ? {} : { name, clusterID, envs, volumeMounts };
      const ignored = Object.entries(before).filter(([parameter]) =>
        config().updateIgnores.some((one) => one === "*" || one === parameter),
      );
      const parameters = { ...kept, ...given, ...Object.fromEntries(ignored) };
      const updated = endpoints.update(id, { ...parameters, volumeMounts: parameters.volumeMounts ?? [] });
      const endpoint = viewEarlier(updated, config(), now(), false);
      const answer = { EmptyObject: {}, Nothing: undefined, Endpoint: { endpoint } }[config().updateResponse];
      return { body: answer, effect: "EndpointUpdated", id };
    },
  });
}
