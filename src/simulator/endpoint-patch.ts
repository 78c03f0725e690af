import { z } from "zod";
import type { Endpoints, StoredEndpoint } from "./endpoints.ts";

const text = z.string();
const integer = z.int();

/** What can be changed by hand at the remote side, in the spelling of create; nothing is checked against the rules. */
export const endpointPatch = z.strictObject({
  delete: z.boolean().optional(),
  /** Stands instead of the status that follows from the times; null lets the times speak again. */
  status: z
    .strictObject({ status: text, error: text.default(""), message: text.default("") })
    .nullable()
    .optional(),
  /** When lists show it and when it serves, in ms from now. */
  listedInMs: z.number().optional(),
  servesInMs: z.number().optional(),
  name: text.optional(),
  appName: text.optional(),
  clusterID: text.optional(),
  rootfsSize: integer.optional(),
  workerConfig: z
    .strictObject({
      minNum: integer,
      maxNum: integer,
      freeTimeout: integer,
      maxConcurrent: integer,
      gpuNum: integer,
      requestTimeout: integer,
    })
    .partial()
    .optional(),
  policy: z
    .strictObject({ type: z.enum(["queue", "concurrency"]), value: integer })
    .partial()
    .optional(),
  image: z.strictObject({ image: text, authId: text, command: text }).partial().optional(),
  healthy: z.strictObject({ path: text }).optional(),
  ports: z.array(z.strictObject({ port: text })).optional(),
  products: z.array(z.strictObject({ id: text })).optional(),
  envs: z.array(z.strictObject({ key: text, value: text })).optional(),
  volumeMounts: z
    .array(
      z.strictObject({
        type: z.enum(["local", "network"]),
        id: text.optional(),
        size: integer.optional(),
        mountPath: text,
      }),
    )
    .optional(),
});
export type EndpointPatch = z.output<typeof endpointPatch>;

/** Changes an endpoint as somebody else would, who uses the service by another way. */
export function patchEndpoint(endpoints: Endpoints, endpoint: StoredEndpoint, patch: EndpointPatch) {
  const { delete: remove, status, listedInMs, servesInMs, workerConfig, policy, image, ...plain } = patch;
  if (remove === true) return { deleted: endpoints.delete(endpoint.id) };
  if (status === null) delete endpoint.status;
  if (status) endpoint.status = status;
  if (listedInMs !== undefined) endpoint.listedAtMs = endpoints.now() + listedInMs;
  if (servesInMs !== undefined) endpoint.servesAtMs = endpoints.now() + servesInMs;
  const { parameters } = endpoint;
  const given = Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== undefined));
  endpoints.replace(endpoint, {
    ...parameters,
    ...given,
    workerConfig: { ...parameters.workerConfig, ...defined(workerConfig) },
    policy: { ...parameters.policy, ...defined(policy) },
    image: { ...parameters.image, ...defined(image) },
  });
  return endpoint;
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Without the fields that are undefined: spreading those would erase what they stand for. */
function defined<T extends object>(value: T | undefined): Defined<T> {
  const result: Defined<T> = {};
  for (const [key, field] of Object.entries(value ?? {})) {
    if (field !== undefined) Reflect.set(result, key, field);
  }
  return result;
}
