import {
  type GpuEndpoint,
  type GpuEndpointStatus,
  gpuEndpointSpecSchema,
} from "../../src/api/v1alpha1/gpu-endpoint.ts";
import { desiredEndpoint } from "../../src/controllers/gpu-endpoint/desired.ts";
import type { DesiredEndpoint } from "../../src/controllers/gpu-endpoint/fields.ts";
import type { EndpointRecord } from "../../src/provider/endpoints/endpoint-record.ts";
import type { EndpointLimits } from "../../src/provider/endpoints/limits.ts";
import type { EndpointVariable } from "../../src/provider/types.ts";
import type { SubmissionRecord } from "../../src/submission/record.ts";
import { type Change, manifest } from "./manifests.ts";
import { storedMeta } from "./stored-meta.ts";

export const CLUSTER_UID = "11111111-2222-3333-4444-555555555555";

/** A GpuEndpoint as the API server stores it, its spec with `change` merged in. */
export function endpointOf(
  change: Change = {},
  { status, ...metadata }: Partial<GpuEndpoint["metadata"]> & { status?: GpuEndpointStatus } = {},
): GpuEndpoint {
  return {
    apiVersion: "mooring.dev/v1alpha1",
    kind: "GpuEndpoint",
    metadata: storedMeta({ name: "echo", resourceVersion: "7", generation: 2, ...metadata }),
    spec: gpuEndpointSpecSchema.parse(manifest("endpoint", change).spec),
    ...(status === undefined ? {} : { status }),
  };
}

/** The record of a create of the endpoint that `endpointOf` returns. */
export function createOf(change: Partial<SubmissionRecord> = {}): SubmissionRecord {
  return {
    id: "create-1",
    uid: endpointOf().metadata.uid,
    attempt: 1,
    operation: "createEndpoint",
    specHash: "0123456789abcdef",
    account: { kind: "Account", name: "default", baseURL: "https://api.example.com" },
    sender: "one",
    time: "2026-03-01T00:00:00Z",
    ...change,
  };
}

export function desiredOf(endpoint: GpuEndpoint, env: EndpointVariable[] = []): DesiredEndpoint {
  return desiredEndpoint(endpoint, CLUSTER_UID, env);
}

/** The remote as it shows an endpoint that equals `desired`, serving, with `change` on top. */
export function recordOf(desired: DesiredEndpoint, change: Partial<EndpointRecord> = {}): EndpointRecord {
  const { workers, policy } = desired;
  return {
    id: "ep-1",
    type: "sync",
    name: desired.name,
    appName: desired.appName,
    status: { status: "running", error: "", message: "" },
    url: "https://ep-1.example.com",
    productID: desired.products[0] ?? "",
    workers: [],
    scaling: {
      min: workers.min,
      max: workers.max,
      idleTimeout: workers.idleTimeoutSeconds,
      maxConcurrency: workers.maxConcurrency,
      gpus: workers.gpus,
      requestTimeout: workers.requestTimeoutSeconds,
      minCudaVersion: "",
    },
    rootfsSizeGB: desired.rootfsSizeGB,
    policy: { type: policy.type, value: policy.value },
    image: desired.image,
    registryAuthID: desired.registryAuthID,
    entrypoint: "",
    command: desired.command,
    volumes: desired.volumes.map((volume) =>
      volume.type === "network"
        ? { type: "network", id: volume.id, sizeGB: undefined, mountPath: volume.mountPath }
        : { type: "local", id: "", sizeGB: volume.sizeGB, mountPath: volume.mountPath },
    ),
    envs: desired.env.map(({ name, value }) => ({ key: name, value })),
    ports: [desired.port],
    healthCheck: { path: desired.healthPath, port: undefined },
    regionID: "",
    memberID: "",
    ownerID: "",
    createdAt: undefined,
    ...change,
  };
}

/** What the earlier generation alone shows. */
export function detailsOf(clusterID: string): NonNullable<EndpointRecord["details"]> {
  const health = { initialDelay: undefined, period: undefined, timeout: undefined };
  return {
    clusterID,
    products: [],
    log: "",
    health: { ...health, successThreshold: undefined, failureThreshold: undefined },
  };
}

const REPORTED: EndpointLimits = {
  cudaVersionList: ["12.4"],
  minWorkerNum: 0,
  maxWorkerNum: 10,
  minFreeTimeout: 1,
  maxFreeTimeout: 600,
  minConcurrencyNum: 1,
  maxConcurrencyNum: 100,
  minGPUNum: 1,
  maxGPUNum: 8,
  minRequestTimeout: 1,
  maxRequestTimeout: 1800,
  minQueueWaitTime: 1,
  maxQueueWaitTime: 300,
  minRequestNum: 1,
  maxRequestNum: 50,
  minRootfsSize: 10,
  maxRootfsSize: 100,
  minLocalVolumeSize: 30,
  maxLocalVolumeSize: 30,
};

/** The account's limits, with `change` as the service reports it. */
export function limitsOf(change: Partial<EndpointLimits> = {}): EndpointLimits {
  return { ...REPORTED, ...change };
}

export const LIMITS = limitsOf();
