import * as z from "zod";
import type { NamespacedObject } from "../../kube/types.ts";
import { dnsLabel, flag, int, listOf, objectName, text } from "../schema/fields.ts";
import { immutable, ruled, type TransitionRule, unchanged } from "../schema/rule.ts";
import type { driftSchema, gpuEndpointStatusSchema } from "./gpu-endpoint-status.ts";
import { accountRefSchema, valueSource } from "./meta.ts";

/** Size of a local volume whose spec gives none, in GB (interface: Limits: "currently fixed at 30 GB"). */
export const DEFAULT_LOCAL_VOLUME_GB = 30;

const workersSchema = ruled(
  z.object({
    min: int(0, "Fewest workers, kept running without load; 0 allows none. The account's limits apply."),
    max: int(0, "Most workers; at least min. The account's limits apply."),
    idleTimeoutSeconds: int(
      1,
      "Seconds without a request after which a worker above min stops. The account's limits apply.",
    ),
    maxConcurrency: int(1, "Requests that one worker handles at the same time. The account's limits apply."),
    gpus: int(1, "GPU cards per worker. The account's limits apply."),
    requestTimeoutSeconds: int(
      1,
      "Seconds after which a request to the endpoint times out. The account's limits apply.",
    ),
  }),
  [
    {
      cel: "self.min <= self.max",
      message: "workers.min must not be above workers.max: lower min or raise max",
      fieldPath: ".min",
      holds: ({ min, max }) => min <= max,
    },
  ],
).describe("The workers that serve the endpoint.");

const policySchema = z
  .object({
    type: z
      .enum(["queue", "concurrency"])
      .describe("queue: scale by the time that requests wait. concurrency: scale by the number of waiting requests."),
    value: int(
      1,
      "queue: seconds a request may wait. concurrency: requests that may wait. The account's limits apply.",
    ),
  })
  .describe("When the service adds workers.");

const mountPath = text(255, "Mount path in the container; unique among the volumes.");

const volumeSchema = ruled(
  z.discriminatedUnion("type", [
    z.strictObject({
      type: z
        .literal("network")
        .describe(
          "network: an existing network storage, by id. local: a disk of the worker, by size; the service is going to retire this type.",
        ),
      id: text(255, "Identifier of the network storage; network only, and required there."),
      mountPath,
    }),
    z.strictObject({
      type: z.literal("local"),
      sizeGB: int(1, "Size in GB; local only. Default 30. The account's limits apply.").optional(),
      mountPath,
    }),
  ]),
  [],
  [
    {
      cel: "self.type != 'network' || has(self.id)",
      message: "a network volume needs id: set it to the identifier of the network storage",
      fieldPath: ".id",
    },
    {
      cel: "self.type != 'network' || !has(self.sizeGB)",
      message: "sizeGB is for local volumes only: remove it, a network storage has its own size",
      fieldPath: ".sizeGB",
    },
    {
      cel: "self.type != 'local' || !has(self.id)",
      message: "id is for network volumes only: remove it, or set type to network",
      fieldPath: ".id",
    },
  ],
);
export type VolumeSpec = z.output<typeof volumeSchema>;

const envSchema = ruled(
  z.object({
    name: text(511, "Name of the variable; unique in the list."),
    value: text(4095, "The value itself.", 0).optional(),
    valueFrom: valueSource(
      "valueFrom",
      "Source of the value. The value never appears in status, events or logs.",
    ).optional(),
  }),
  [
    {
      cel: "has(self.value) != has(self.valueFrom)",
      message: "an env entry needs exactly one of value and valueFrom: set one, remove the other",
      holds: (env) => (env.value === undefined) !== (env.valueFrom === undefined),
    },
  ],
);
export type EndpointEnv = z.output<typeof envSchema>;

/** The paths of the spec that the remote can differ in: what `ignoreDrift` takes and `status.drift[].field` shows. */
export const driftFields = [
  "name",
  "appName",
  "products",
  "image",
  "command",
  "registryAuthID",
  "port",
  "workers",
  "workers.min",
  "workers.max",
  "workers.idleTimeoutSeconds",
  "workers.maxConcurrency",
  "workers.gpus",
  "workers.requestTimeoutSeconds",
  "policy",
  "policy.type",
  "policy.value",
  "rootfsSizeGB",
  "volumes",
  "clusterID",
  "env",
  "healthCheck.path",
] as const;
export type DriftField = (typeof driftFields)[number];

const adoptionSchema = z
  .object({
    endpointID: text(255, "Identifier of the endpoint to take over."),
    mode: z
      .enum(["Match", "Override"])
      .default("Match")
      .describe("Match refuses an endpoint that differs from the spec. Override updates it. Default Match."),
  })
  .describe("Takes over an existing endpoint instead of creating one. Immutable.");

const exportName = z.object({ name: objectName("Name of the object to write, in the namespace of the endpoint.") });

const exportSchema = ruled(
  z.object({
    configMap: exportName.describe("Write to this ConfigMap.").optional(),
    secret: exportName.describe("Write to this Secret; needs the chart's opt-in permission.").optional(),
  }),
  [
    {
      cel: "has(self.configMap) || has(self.secret)",
      message: "exportTo needs configMap or secret: name at least one object to write, or remove exportTo",
      holds: ({ configMap, secret }) => configMap !== undefined || secret !== undefined,
    },
  ],
).describe("Writes the keys url, endpointID and appName to objects that the endpoint owns.");

const recreate = "delete this GpuEndpoint and create a new one instead";

export const gpuEndpointSpecSchema = ruled(
  z.object({
    accountRef: accountRefSchema.optional(),
    name: text(220, "Name at the service. Default: <namespace>-<name>, cut to 220 characters.").optional(),
    appName: dnsLabel(
      "Identity at the service and part of the URL; a DNS label. Immutable. Default: generated from the name and a hash of the UID.",
      "appName",
    ).optional(),
    products: z
      .array(z.object({ id: text(255, "Identifier of the serverless product.") }))
      .min(1)
      .max(8)
      .describe("The GPU products the workers run on, 1 to 8. Immutable."),
    image: text(511, "Image address, 1 to 511 characters."),
    command: text(2047, "Start command of the container, at most 2047 characters.").optional(),
    registryAuthID: text(255, "Identifier of the registry credential at the service, for a private image.").optional(),
    port: ruled(int(1, "The HTTP port of the container, 1 to 65535 except 2222, 2223 and 2224.", 65_535), [
      {
        cel: "self < 2222 || self > 2224",
        message: "port must not be 2222, 2223 or 2224, which the service uses itself: choose another from 1 to 65535",
        holds: (port) => port < 2222 || port > 2224,
      },
    ]),
    workers: workersSchema,
    policy: policySchema,
    rootfsSizeGB: int(1, "System disk in GB. Default 100. Immutable. The account's limits apply.").default(100),
    volumes: listOf(volumeSchema, 16, "Volumes of the workers, at most 16.", "mountPath").optional(),
    clusterID: text(255, "Cluster of the network storage; required with a network volume.").optional(),
    env: listOf(envSchema, 256, "Environment of the container, at most 256 variables.", "name").optional(),
    healthCheck: z
      .object({ path: text(255, "HTTP path that responds when a worker is healthy, 1 to 255 characters.") })
      .describe("How the service checks the health of a worker."),
    suspend: flag("True: no workers (0/0) until this is false again. Default false.").default(false),
    driftPolicy: z
      .enum(["Remediate", "Report"])
      .default("Remediate")
      .describe(
        "What to do when the remote endpoint differs from the spec: Remediate updates it, Report only shows the drift. Default Remediate.",
      ),
    ignoreDrift: listOf(
      z.enum(driftFields),
      32,
      "Paths of the spec that another party owns, such as workers.min. They are neither reported nor changed.",
    )
      .meta({ "x-kubernetes-list-type": "set" })
      .optional(),
    managementPolicy: z
      .enum(["Full", "Observe"])
      .default("Full")
      .describe("Full: create and update the remote endpoint. Observe: only read it. Default Full."),
    adoption: adoptionSchema.optional(),
    deletionPolicy: z
      .enum(["ScaleToZero", "Retain", "Delete"])
      .default("ScaleToZero")
      .describe(
        "What deleting this object does at the service: ScaleToZero sets the workers to 0/0, Retain does nothing, Delete deletes the endpoint and needs the account's endpoints.deleteOperation. Default ScaleToZero.",
      ),
    exportTo: exportSchema.optional(),
  }),
  [
    {
      cel: "!has(self.volumes) || !self.volumes.exists(v, v.type == 'network') || has(self.clusterID)",
      message: "clusterID is required with a network volume: set it to the cluster of that storage",
      fieldPath: ".clusterID",
      holds: ({ volumes, clusterID }) => clusterID !== undefined || !volumes?.some((v) => v.type === "network"),
    },
  ],
  immutable(
    { appName: "optional", products: "required", rootfsSizeGB: "required", adoption: "optional" },
    "",
    recreate,
  ),
).describe("The desired endpoint.");
export type GpuEndpointSpec = z.output<typeof gpuEndpointSpecSchema>;

export type EndpointDrift = z.output<typeof driftSchema>;
export type GpuEndpointStatus = z.output<typeof gpuEndpointStatusSchema>;

export type GpuEndpoint = NamespacedObject<GpuEndpointSpec, GpuEndpointStatus>;

/** Rules on the whole object: they compare `spec` with `status`. */
export const gpuEndpointRules: readonly TransitionRule[] = [
  {
    cel: `!has(oldSelf.status) || !has(oldSelf.status.endpointID) || (${unchanged("self.spec", "oldSelf.spec", "accountRef")})`,
    message: `accountRef cannot be changed once the endpoint exists at the service: ${recreate}`,
    fieldPath: ".spec.accountRef",
  },
];
