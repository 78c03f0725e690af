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
import { characters, integerText } from "./rules.ts";

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

export const listEndpointsEarlierQuery = z.strictObject({ pageSize: z.int().min(1), pageNum: z.int().min(0) });
export const endpointEarlierQuery = z.strictObject({ id: z.string().min(1) });

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

/** Ports of the platform's own that an endpoint must not use. */
export const RESERVED_PORTS: readonly number[] = [2222, 2223, 2224];

const port = z.strictObject({
  port: integerText.refine(
    (text) => Number(text) >= 1 && Number(text) <= 65_535 && !RESERVED_PORTS.includes(Number(text)),
    { error: "must be in 1-65535 and not 2222, 2223 or 2224, which are internal" },
  ),
});

const volumeMount = z
  .strictObject({
    type: z.enum(["local", "network"]),
    size: z.int().optional(),
    id: z.string().optional(),
    mountPath: characters(0, 255),
  })
  .refine((volume) => volume.type === "local" || volume.size === undefined, {
    path: ["size"],
    error: "is for local volumes only",
  })
  .refine((volume) => volume.type === "network" || volume.id === undefined, {
    path: ["id"],
    error: "is for network volumes only",
  })
  .refine((volume) => volume.type === "local" || (volume.id ?? "") !== "", {
    path: ["id"],
    error: "is required for a network volume",
  });

const parameters = {
  name: characters(0, 220).optional(),
  clusterID: characters(0, 255).optional(),
  workerConfig: z.strictObject({
    minNum: z.int(),
    maxNum: z.int(),
    freeTimeout: z.int(),
    maxConcurrent: z.int(),
    gpuNum: z.int(),
    requestTimeout: z.int(),
  }),
  ports: z.array(port).length(1, "must be exactly one port"),
  policy: z.strictObject({ type: z.enum(["queue", "concurrency"]), value: z.int() }),
  image: z.strictObject({
    image: characters(0, 511),
    authId: characters(0, 255).optional(),
    command: characters(0, 2047).optional(),
  }),
  envs: z.array(z.strictObject({ key: z.string(), value: z.string() })).optional(),
  healthy: z.strictObject({ path: z.string() }),
};

const clusterRule = {
  path: ["clusterID"],
  error: "is required when a network volume is mounted, and must be the cluster of that storage",
};
const clusterNamed = (body: { clusterID?: string | undefined; volumeMounts?: { type: string }[] | undefined }) =>
  (body.clusterID ?? "") !== "" || !(body.volumeMounts ?? []).some((volume) => volume.type === "network");

/** Parameters of an endpoint on create. The ranges of workerConfig and policy come from the limit operation. */
export const createEndpointParameters = z
  .strictObject({
    ...parameters,
    appName: z.string().optional(),
    products: z.array(z.strictObject({ id: z.string().min(1) })).min(1),
    rootfsSize: z.int(),
    volumeMounts: z.array(volumeMount),
  })
  .refine(clusterNamed, clusterRule);

export const createEndpointRequest = z.strictObject({ endpoint: createEndpointParameters });

/** Body of an update: all parameters in full, at the top level. */
export const updateEndpointRequest = z
  .strictObject({ id: z.string().min(1), ...parameters, volumeMounts: z.array(volumeMount).optional() })
  .refine(clusterNamed, clusterRule);
