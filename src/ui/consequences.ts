import { ANNOTATIONS } from "../api/v1alpha1/meta.ts";
import { ENDPOINT_KIND, JOB_KINDS } from "./row.ts";
import type { UiObject } from "./ui-object.ts";

/** What an action does to this object at the service, for the user to confirm. Undefined: nothing that needs a question. */
export function consequenceOf(action: string, kind: string, object: UiObject): string | undefined {
  if (kind === ENDPOINT_KIND) return ofEndpoint(action, object);
  if (JOB_KINDS.includes(kind)) return ofJob(action, object);
  if (action === "delete") return DELETED[kind] ?? "The object is deleted. Nothing happens at the service.";
  return action === "pause"
    ? "Mooring neither reads nor changes anything for this object until you continue it."
    : undefined;
}

const DELETED: Readonly<Record<string, string>> = {
  Account:
    "The account is deleted. Objects that use it wait, and nothing is read or sent for them. Endpoints and tasks go on at the service.",
  ClusterAccount:
    "The account is deleted for all namespaces. Objects that use it wait, and nothing is read or sent for them. Endpoints and tasks go on at the service.",
  ArtifactStore: "Copies stay in the bucket or on the volume. Jobs that name this store wait.",
  MediaBatch:
    "The batch and its jobs are deleted, and no more are started. Requests that are under way are paid for, and their results are lost. Files stay in the store.",
  BillReport: "The report and its export are deleted. The bills stay at the service.",
};

function ofEndpoint(action: string, object: UiObject): string | undefined {
  const { endpointID, workers } = object.status ?? {};
  const total = workers?.total ?? 0;
  const endpoint = endpointID === undefined ? "The endpoint" : `Endpoint ${endpointID}`;
  const goesOn = total === 0 ? "" : ` ${workersOf(total)} and ${total === 1 ? "costs" : "cost"} money.`;
  switch (action) {
    case "suspend":
      return `${endpoint} loses ${total === 0 ? "its workers" : `its ${total === 1 ? "worker" : `${total} workers`}`} and serves no requests until you resume it. Requests that are under way fail.`;
    case "resume": {
      const { min = 0, max = 0 } = object.spec.workers ?? {};
      return `${endpoint} gets ${min} to ${max} workers again, which cost money while they run.`;
    }
    case "pause":
      return `Mooring neither reads nor changes the endpoint until you continue it.${goesOn}`;
    case "release":
      return `The object goes without a change at the service. ${endpoint} stays.${goesOn}`;
    case "delete":
      return deletedEndpoint(object, endpoint, goesOn);
    default:
      return undefined;
  }
}

const workersOf = (total: number) => (total === 1 ? "Its worker goes on" : `Its ${total} workers go on`);

function deletedEndpoint({ metadata, spec, status }: UiObject, endpoint: string, goesOn: string): string {
  const policy = metadata.annotations?.[ANNOTATIONS.deletionPolicy] ?? spec.deletionPolicy ?? "ScaleToZero";
  if (spec.managementPolicy === "Observe" || policy === "Retain") {
    return `Nothing happens at the service (${spec.managementPolicy === "Observe" ? "managementPolicy Observe" : "deletionPolicy Retain"}): ${endpoint} stays.${goesOn}`;
  }
  if (status?.endpointID === undefined) {
    return "Mooring knows of no endpoint at the service for this object. If a create is under way, Mooring looks for its endpoint first.";
  }
  return policy === "Delete"
    ? `Mooring deletes ${endpoint.replace("E", "e")} at the service (deletionPolicy Delete). Its URL stops working.`
    : `Mooring sets the workers of ${endpoint.replace("E", "e")} to 0/0 (deletionPolicy ScaleToZero). The endpoint stays at the service, serves no requests and costs nothing.`;
}

function ofJob(action: string, object: UiObject): string | undefined {
  const { status } = object;
  const attempt = (status?.submission?.attempt ?? 0) + 1;
  const sentAt = status?.submission?.time;
  switch (action) {
    case "attach":
      return "Mooring follows this task as that of the job. Nothing is sent, and nothing more is paid.";
    case "resubmit":
      return `Mooring sends the request again, as attempt ${attempt}. If the service accepted the one${sentAt === undefined ? "" : ` of ${sentAt}`}, you pay twice.`;
    case "suspend":
      return "The request of this job is not sent until you resume it. Nothing is paid meanwhile.";
    case "resume":
      return "Mooring sends the request of this job, which is paid for.";
    case "pause":
      return status?.taskID === undefined
        ? "Mooring sends nothing for this job until you continue it."
        : `Mooring does not look at task ${status.taskID} until you continue it. The task goes on at the service.`;
    case "delete":
      return deletedJob(status?.phase ?? "Pending", object);
    default:
      return undefined;
  }
}

function deletedJob(phase: string, { status, spec }: UiObject): string {
  const copied = status?.results?.some(({ artifact }) => artifact !== undefined);
  switch (phase) {
    case "Succeeded":
      return copied
        ? `The object is deleted. Its copies stay in ArtifactStore ${spec.output?.storeRef.name}.`
        : "The object is deleted, and with it the only record of where its results are. They stay at the service until their URLs expire.";
    case "Failed":
      return "The object is deleted. Nothing happens at the service.";
    case "Halted":
      return "The object is deleted. Its request may have been charged, and nobody looks for its result any more.";
    case "Pending":
      return status?.taskID === undefined && status?.attempts === undefined
        ? "The object is deleted before its request is sent: nothing is paid."
        : "The object is deleted. No further attempt is sent.";
    default:
      return status?.taskID === undefined
        ? "The request is under way. If the service accepts it, it is paid for, and its result is lost."
        : `Task ${status.taskID} goes on at the service and is paid for. Mooring no longer fetches its result.`;
  }
}
