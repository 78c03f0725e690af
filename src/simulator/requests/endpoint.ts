import * as z from "zod";
import { inRange, text } from "./fields.ts";

/**
 * Bodies of create and update (interface: Endpoint management, earlier generation).
 * `endpoint-rules.ts` checks the ranges of the limit operation.
 */

const INTERNAL_PORTS = [2222, 2223, 2224];

/** Interface: a port is a string, 1-65535, and not internal. */
const port = z
  .string()
  .regex(/^\d+$/, "must be an integer as a string")
  .refine((value) => inRange(Number(value), 1, 65_535) && !INTERNAL_PORTS.includes(Number(value)), {
    error: "must be 1 to 65535; 2222, 2223 and 2224 are internal",
  });

const volumeMount = z
  .strictObject({
    type: z.enum(["local", "network"]),
    size: z.int().optional(),
    id: z.string().optional(),
    mountPath: text(0, 255),
  })
  .superRefine(({ type, size, id }, context) => {
    const refuse = (path: string, message: string) => context.addIssue({ code: "custom", path: [path], message });
    if (type === "network" && size !== undefined) refuse("size", "must be omitted for a network volume");
    if (type === "local" && id !== undefined) refuse("id", "must be omitted for a local volume");
    // Assumption: the interface marks `id` as optional only because a local volume omits it.
    if (type === "network" && id === undefined) refuse("id", "is required for a network volume");
  });

/** Fields that create and update share. */
const shared = {
  name: text(0, 220).optional(),
  clusterID: text(0, 255).optional(),
  workerConfig: z.strictObject({
    minNum: z.int(),
    maxNum: z.int(),
    freeTimeout: z.int(),
    maxConcurrent: z.int(),
    gpuNum: z.int(),
    requestTimeout: z.int(),
  }),
  ports: z.array(z.strictObject({ port })).length(1, "must contain exactly one port"),
  policy: z.strictObject({ type: z.enum(["queue", "concurrency"]), value: z.int() }),
  image: z.strictObject({
    image: text(0, 511),
    authId: text(0, 255).optional(),
    command: text(0, 2047).optional(),
  }),
  envs: z.array(z.strictObject({ key: z.string(), value: z.string() })).optional(),
  healthy: z.strictObject({ path: z.string() }),
};

/** Interface: clusterID is required when cloud storage is mounted. */
const hasClusterOfStorage = (body: { clusterID?: string | undefined; volumeMounts?: { type: string }[] | undefined }) =>
  (body.clusterID ?? "") !== "" || !body.volumeMounts?.some(({ type }) => type === "network");
const clusterRule = { path: ["clusterID"], error: "is required when a network volume is mounted" };

const createParameters = z
  .strictObject({
    ...shared,
    appName: z.string().optional(),
    // Assumption: an empty list does not satisfy "required".
    products: z.array(z.strictObject({ id: z.string() })).min(1, "must contain a product"),
    rootfsSize: z.int(),
    volumeMounts: z.array(volumeMount),
  })
  .refine(hasClusterOfStorage, clusterRule);

/** All parameters of an endpoint. */
export type Parameters = z.output<typeof createParameters>;

export const createEndpointBody = z.strictObject({ endpoint: createParameters });

export const updateEndpointBody = z
  .strictObject({ ...shared, id: z.string(), volumeMounts: z.array(volumeMount).optional() })
  .refine(hasClusterOfStorage, clusterRule);
