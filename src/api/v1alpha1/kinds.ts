import type { Resource } from "../../kube/resource.ts";
import { AGE, type Column, conditionColumn, type KindDefinition } from "../schema/definition.ts";
import { accountSpecSchema, clusterAccountSpecSchema } from "./account.ts";
import { accountStatusSchema } from "./account-status.ts";
import { artifactStoreSpecSchema, artifactStoreStatusSchema } from "./artifact-store.ts";
import { billReportSpecSchema, billReportStatusSchema } from "./bill-report.ts";
import { gpuEndpointRules, gpuEndpointSpecSchema } from "./gpu-endpoint.ts";
import { gpuEndpointStatusSchema } from "./gpu-endpoint-status.ts";
import { mediaBatchRules, mediaBatchSpecSchema, mediaBatchStatusSchema } from "./media-batch.ts";
import { GROUP, VERSION } from "./meta.ts";
import { speechJobSpecSchema, speechJobStatusSchema } from "./speech-job.ts";
import { videoJobSpecSchema, videoJobStatusSchema } from "./video-job.ts";

const resource = (kind: string, plural: string, namespaced = true): Resource => {
  return { group: GROUP, version: VERSION, plural, kind, namespaced };
};

export const gpuEndpointResource = resource("GpuEndpoint", "gpuendpoints");
export const speechJobResource = resource("SpeechJob", "speechjobs");
export const videoJobResource = resource("VideoJob", "videojobs");
export const mediaBatchResource = resource("MediaBatch", "mediabatches");
export const accountResource = resource("Account", "accounts");
export const clusterAccountResource = resource("ClusterAccount", "clusteraccounts", false);
export const billReportResource = resource("BillReport", "billreports");
export const artifactStoreResource = resource("ArtifactStore", "artifactstores");

/** The paid jobs. */
export const JOB_RESOURCES: readonly Resource[] = [speechJobResource, videoJobResource];

const readyReason = conditionColumn("Reason", "Ready", "reason");

const jobColumns = (modelPath: string): Column[] => [
  { name: "Phase", type: "string", jsonPath: ".status.phase" },
  readyReason,
  { name: "Progress", type: "integer", jsonPath: ".status.progressPercent" },
  { name: "Model", type: "string", jsonPath: modelPath },
  { name: "Task", type: "string", jsonPath: ".status.taskID" },
  AGE,
  { name: "Result", type: "string", jsonPath: ".status.results[0].url", wide: true },
  { name: "Artifact", type: "string", jsonPath: ".status.results[0].artifact.uri", wide: true },
  { name: "Duration", type: "string", jsonPath: ".status.duration", wide: true },
  { name: "Cost", type: "string", jsonPath: ".status.estimatedCost", wide: true },
];

const accountColumns: Column[] = [
  conditionColumn("Ready", "Ready", "status"),
  readyReason,
  conditionColumn("Authenticated", "Authenticated", "status"),
  { name: "Base-URL", type: "string", jsonPath: ".spec.baseURL" },
  AGE,
  { name: "Endpoints", type: "integer", jsonPath: ".status.endpoints.managed", wide: true },
  { name: "Tasks", type: "integer", jsonPath: ".status.tasks.inFlight", wide: true },
  { name: "Month", type: "string", jsonPath: ".status.spend.month", wide: true },
  { name: "Installation", type: "string", jsonPath: ".status.server.namespace", wide: true },
  { name: "Server", type: "string", jsonPath: ".status.server.lease", wide: true },
];

const definitions: Omit<KindDefinition, "singular">[] = [
  {
    resource: gpuEndpointResource,
    description: "A serverless GPU endpoint at the service, kept equal to its spec.",
    shortNames: ["gpuep"],
    columns: [
      conditionColumn("Ready", "Ready", "status"),
      readyReason,
      { name: "Status", type: "string", jsonPath: ".status.state" },
      { name: "Workers", type: "integer", jsonPath: ".status.workers.ready" },
      { name: "URL", type: "string", jsonPath: ".status.url" },
      AGE,
      { name: "Endpoint-ID", type: "string", jsonPath: ".status.endpointID", wide: true },
      { name: "Image", type: "string", jsonPath: ".status.image", wide: true },
      { name: "Cost-Hour", type: "string", jsonPath: ".status.estimatedCost.hour", wide: true },
      { name: "Max-Hour", type: "string", jsonPath: ".status.estimatedCost.maxHour", wide: true },
    ],
    spec: gpuEndpointSpecSchema,
    status: gpuEndpointStatusSchema,
    rules: gpuEndpointRules,
    scale: {
      specReplicasPath: ".spec.workers.min",
      statusReplicasPath: ".status.workers.ready",
      labelSelectorPath: ".status.selector",
    },
  },
  {
    resource: speechJobResource,
    description: "One paid speech synthesis: at once, as a stream, or as a remote task.",
    shortNames: ["speech"],
    columns: jobColumns(".spec.model"),
    spec: speechJobSpecSchema,
    status: speechJobStatusSchema,
  },
  {
    resource: videoJobResource,
    description: "One paid video generation, from an image or from reference videos.",
    shortNames: ["video"],
    columns: jobColumns(".status.model"),
    spec: videoJobSpecSchema,
    status: videoJobStatusSchema,
  },
  {
    resource: mediaBatchResource,
    description: "Many paid jobs from one manifest: a SpeechJob or a VideoJob for each item of a list.",
    shortNames: ["batch"],
    columns: [
      { name: "Progress", type: "string", jsonPath: ".status.progress" },
      readyReason,
      { name: "Active", type: "integer", jsonPath: ".status.active" },
      { name: "Failed", type: "integer", jsonPath: ".status.failed" },
      { name: "Halted", type: "integer", jsonPath: ".status.halted" },
      AGE,
      { name: "Cost", type: "string", jsonPath: ".status.costSoFar", wide: true },
      { name: "Expected", type: "string", jsonPath: ".status.expectedCost", wide: true },
      { name: "Duration", type: "string", jsonPath: ".status.duration", wide: true },
      { name: "Index", type: "string", jsonPath: ".status.index.uri", wide: true },
    ],
    spec: mediaBatchSpecSchema,
    status: mediaBatchStatusSchema,
    rules: mediaBatchRules,
  },
  {
    resource: accountResource,
    description: "An account of the service for one namespace: base URL, API key, limits, budgets and spending.",
    shortNames: ["acct"],
    columns: accountColumns,
    spec: accountSpecSchema,
    status: accountStatusSchema,
  },
  {
    resource: clusterAccountResource,
    description: "An account of the service that many namespaces may use.",
    shortNames: ["cacct"],
    columns: accountColumns,
    spec: clusterAccountSpecSchema,
    status: accountStatusSchema,
  },
  {
    resource: billReportResource,
    description: "The bills of an account over a period: sums, tables and an export, read again until they are final.",
    shortNames: ["bill"],
    columns: [
      conditionColumn("Ready", "Ready", "status"),
      readyReason,
      { name: "Amount", type: "string", jsonPath: ".status.totals.amount" },
      { name: "Paid", type: "string", jsonPath: ".status.totals.paid" },
      { name: "Records", type: "integer", jsonPath: ".status.records" },
      { name: "As-Of", type: "date", jsonPath: ".status.asOf" },
      AGE,
      { name: "From", type: "string", jsonPath: ".status.period.startTime", wide: true },
      { name: "To", type: "string", jsonPath: ".status.period.endTime", wide: true },
    ],
    spec: billReportSpecSchema,
    status: billReportStatusSchema,
  },
  {
    resource: artifactStoreResource,
    description: "A place where results are copied before their URLs expire: an S3 bucket or a folder of a volume.",
    shortNames: ["store"],
    columns: [
      conditionColumn("Ready", "Ready", "status"),
      readyReason,
      { name: "Location", type: "string", jsonPath: ".status.location" },
      AGE,
    ],
    spec: artifactStoreSpecSchema,
    status: artifactStoreStatusSchema,
  },
];

/** Every kind of the group. */
export const KINDS: readonly KindDefinition[] = definitions.map((definition) => ({
  ...definition,
  singular: definition.resource.kind.toLowerCase(),
}));

export const JOB_KINDS: readonly KindDefinition[] = KINDS.filter(({ resource: one }) => JOB_RESOURCES.includes(one));
