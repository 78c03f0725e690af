import * as z from "zod";
import { ENDPOINT_ID, MOST } from "./bounds.ts";
import {
  identifier,
  isRecord,
  lenientBoolean,
  lenientList,
  lenientNumber,
  lenientObject,
  lenientText,
  lenientValues,
  pageList,
  toNumber,
} from "./lenient.ts";

/** Endpoints, earlier generation (interface: paths under /gpu-instance/openapi/v1). */

const stateV1 = z.looseObject({ state: lenientText, error: lenientText, message: lenientText });

/** `{port: "8080"}` in the list, `{port: 8080}` in the detail, and a bare number for good measure. */
const portV1 = z.unknown().transform((value) => toNumber(isRecord(value) ? value["port"] : value));

export const endpointV1 = z.looseObject({
  id: identifier(ENDPOINT_ID),
  name: lenientText,
  appName: lenientText,
  state: lenientObject(stateV1),
  url: lenientText,
  workerConfig: lenientObject(
    z.looseObject({
      minNum: lenientNumber,
      maxNum: lenientNumber,
      freeTimeout: lenientNumber,
      maxConcurrent: lenientNumber,
      gpuNum: lenientNumber,
      requestTimeout: lenientNumber,
      cudaVersion: lenientText,
    }),
  ),
  policy: lenientObject(z.looseObject({ type: lenientText, value: lenientNumber })),
  image: lenientObject(z.looseObject({ image: lenientText, authId: lenientText, command: lenientText })),
  rootfsSize: lenientNumber,
  volumeMounts: lenientList(
    z.looseObject({ type: lenientText, id: lenientText, size: lenientNumber, mountPath: lenientText }),
    MOST.volumes,
  ),
  envs: lenientList(z.looseObject({ key: lenientText, value: lenientText }), MOST.variables),
  ports: lenientValues(portV1, MOST.ports),
  workers: lenientList(
    z.looseObject({
      id: lenientText,
      state: lenientObject(stateV1),
      log: lenientText,
      metrics: lenientText,
      healthy: lenientBoolean,
    }),
    MOST.workers,
  ),
  products: lenientList(z.looseObject({ id: lenientText }), MOST.products),
  healthy: lenientObject(
    z.looseObject({
      path: lenientText,
      initialDelay: lenientNumber,
      period: lenientNumber,
      timeout: lenientNumber,
      successThreshold: lenientNumber,
      failureThreshold: lenientNumber,
    }),
  ),
  clusterID: lenientText,
  log: lenientText,
});
export type EndpointV1 = z.output<typeof endpointV1>;

/** A page of the list. `record` reads one endpoint of it. */
export const endpointPageOfV1 = <S extends z.ZodType>(record: S) =>
  z.looseObject({ endpoints: pageList(record), total: lenientNumber });
export const endpointDetailV1 = z.looseObject({ endpoint: endpointV1.nullable() });
export const createdEndpointV1 = z.looseObject({ id: identifier(ENDPOINT_ID) });

/** The parameter limits that are integers, in the service's spelling (interface: Endpoint parameter limits). */
export const LIMIT_FIELDS = [
  "minRootfsSize",
  "maxRootfsSize",
  "freeRootfsSize",
  "minLocalVolumeSize",
  "maxLocalVolumeSize",
  "freeLocalVolumeSize",
  "minWorkerNum",
  "maxWorkerNum",
  "minFreeTimeout",
  "maxFreeTimeout",
  "minConcurrencyNum",
  "maxConcurrencyNum",
  "minQueueWaitTime",
  "maxQueueWaitTime",
  "minRequestNum",
  "maxRequestNum",
  "minGPUNum",
  "maxGPUNum",
  "minRequestTimeout",
  "maxRequestTimeout",
] as const;
export type LimitField = (typeof LIMIT_FIELDS)[number];
