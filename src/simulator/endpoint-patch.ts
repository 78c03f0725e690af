import * as z from "zod";
import type { SimulatedEndpoints, StoredEndpoint } from "./endpoints.ts";

const text = z.string();
const integer = z.int();

/** A change by another client of the service, in the spelling of create. No rule of the service applies. */
export const endpointPatch = z.strictObject({
  delete: z.boolean().optional(),
  /** Overrides the status; null removes the override. */
  status: z
    .strictObject({ status: text, error: text.default(""), message: text.default("") })
    .nullable()
    .optional(),
  /** When lists show the endpoint and when it serves, in ms from now. */
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

/** Applies a change as another client of the service makes it. */
export function patchEndpoint(endpoints: SimulatedEndpoints, endpoint: StoredEndpoint, patch: EndpointPatch) {
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

/** Returns a copy without undefined fields, so that a spread keeps the current values. */
function defined<T extends object>(value: T | undefined): Defined<T> {
  const result: Defined<T> = {};
  for (const [key, field] of Object.entries(value ?? {})) {
    if (field !== undefined) Reflect.set(result, key, field);
  }
  return result;
}
