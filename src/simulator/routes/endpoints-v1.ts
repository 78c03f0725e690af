import type { FastifyInstance } from "fastify";
import {
  createEndpointRequest,
  endpointEarlierQuery,
  listEndpointsEarlierQuery,
  updateEndpointRequest,
} from "../../provider/wire/endpoints-v1.ts";
import { serve } from "../dispatch.ts";
import { viewEarlier } from "../endpoint-views.ts";
import { membersSeenBy } from "../keys.ts";
import type { Service } from "../service.ts";
import { checked, integers } from "../validate.ts";

const ROOT = "/gpu-instance/openapi/v1";

/** Endpoints, earlier generation: list by page, read one, create, update, ranges. */
export function endpointsV1Routes(app: FastifyInstance, service: Service): void {
  const { config, endpoints, now } = service;

  serve(app, service, {
    method: "GET",
    path: `${ROOT}/endpoints`,
    operation: "listEndpointsEarlier",
    handle: ({ query, key }) => {
      const { pageSize, pageNum } = checked(
        listEndpointsEarlierQuery,
        integers(query, ["pageSize", "pageNum"]),
        config().unknownFields,
      );
      const { maxPageSize, firstPageNum } = config();
      const size = Math.min(maxPageSize, pageSize);
      const start = Math.max(0, pageNum - firstPageNum) * size;
      const listed = endpoints.listed({ seen: membersSeenBy(key, config().keySees) });
      const page = listed.slice(start, start + size);
      return {
        body: {
          endpoints: page.map((endpoint) => viewEarlier(endpoint, config(), now(), true)),
          total: listed.length,
        },
      };
    },
  });

  serve(app, service, {
    method: "GET",
    path: `${ROOT}/endpoint`,
    operation: "getEndpointEarlier",
    handle: ({ query, key }) => {
      const { id } = checked(endpointEarlierQuery, query, config().unknownFields);
      const found = endpoints.get(id, membersSeenBy(key, config().keySees));
      return { body: { endpoint: viewEarlier(found, config(), now(), false) } };
    },
  });

  serve(app, service, {
    method: "POST",
    path: `${ROOT}/endpoint/create`,
    operation: "createEndpoint",
    handle: ({ body, key }) => {
      const { endpoint } = checked(createEndpointRequest, body, config().unknownFields);
      const { id } = endpoints.create(endpoint, key.memberID);
      return { body: { id }, effect: "EndpointCreated", id };
    },
  });

  serve(app, service, {
    method: "POST",
    path: `${ROOT}/endpoint/update`,
    operation: "updateEndpoint",
    handle: ({ body, key }) => {
      const { id, ...given } = checked(updateEndpointRequest, body, config().unknownFields);
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
      endpoints.update(id, { ...parameters, volumeMounts: parameters.volumeMounts ?? [] });
      return { body: {}, effect: "EndpointUpdated", id };
    },
  });

  serve(app, service, {
    method: "GET",
    path: `${ROOT}/endpoint/limit`,
    operation: "getEndpointLimits",
    handle: () => ({ body: config().limits }),
  });
}
