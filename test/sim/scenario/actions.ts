import { mediaBatchResource, speechJobResource, videoJobResource } from "../../../src/api/v1alpha1/kinds.ts";
import { ANNOTATIONS } from "../../../src/api/v1alpha1/meta.ts";
import { BATCH_LABEL } from "../../../src/controllers/batch/child.ts";
import { type Json, objectAt, textAt } from "../api-server/json.ts";
import type { PlacedAt } from "./cluster.ts";
import {
  batchManifest,
  manifestOf,
  objectOf,
  resourceOf,
  serialOf,
  setEnvSecret,
  setKeySecret,
  uriOf,
} from "./manifests.ts";
import type { ObjectPlan } from "./objects.ts";
import type { Action, BatchPlan } from "./plan.ts";
import type { World } from "./world.ts";

/** How long users wait for a name that is still taken by an object in deletion. */
const RETRY_MS = 5_000;

/** A user creates an object, as soon as its name is free. */
export function createObject(world: World, object: ObjectPlan): void {
  const { cluster, scheduler, plan } = world;
  if (cluster.create(resourceOf(object), object.namespace, manifestOf(object)) && object.ttlSeconds === undefined)
    return;
  if (scheduler.now() < plan.chaosMs) scheduler.after(RETRY_MS, () => createObject(world, object));
}

export function createBatch({ cluster }: World, batch: BatchPlan): void {
  cluster.create(mediaBatchResource, batch.namespace, batchManifest(batch));
}

/** A user or an administrator of the service does something. */
export function performAction(world: World, action: Action): void {
  const { cluster, service, plan } = world;
  if ("serial" in action) {
    const object = plan.objects.find(({ serial }) => serial === action.serial);
    if (object === undefined) return;
    const found = objectOf(world, object);
    // What users do at the service after the end of an object is not the operator's business.
    if (found === undefined || textAt(found["metadata"], "deletionTimestamp") !== undefined) return;
    if (action.do === "remoteScale" || action.do === "remoteDelete") changeRemote(world, action);
    else changeObject(world, object, action);
    return;
  }
  if (action.do === "upload") world.bucket.upload(uriOf(action.namespace, action.key));
  if (action.do === "release") releaseHalted(world, action.token);
  if (action.do === "rotateKey") {
    const { apiKeys } = service.config();
    service.configure({ apiKeys: [action.key, ...apiKeys.slice(1)] });
    setKeySecret(cluster, action.key);
  }
  if (action.do === "rotateEnv")
    for (const namespace of ["team-a", "team-b"]) setEnvSecret(cluster, namespace, action.value);
}

type OnObject = Extract<Action, { serial: number }>;

function changeObject({ cluster }: World, object: ObjectPlan, action: OnObject): void {
  const resource = resourceOf(object);
  const patch = (change: Json) => cluster.patch(resource, object, change);
  const annotate = (name: string, value: string | null) => patch({ metadata: { annotations: { [name]: value } } });
  switch (action.do) {
    case "scale":
      patch({ spec: { workers: { max: action.max } } });
      break;
    case "command":
      patch({ spec: { command: action.text } });
      break;
    case "suspend":
      patch({ spec: { suspend: action.suspend } });
      break;
    case "pause":
      annotate(ANNOTATIONS.paused, action.paused ? "true" : null);
      break;
    case "reconcile":
      annotate(ANNOTATIONS.reconcileRequestedAt, action.token);
      break;
    case "delete":
      cluster.delete(resource, object);
      break;
    default:
  }
}

function changeRemote({ census, service }: World, action: OnObject): void {
  for (const endpoint of census.of(action.serial)) {
    const { parameters } = endpoint;
    if (action.do === "remoteDelete") service.endpoints.delete(endpoint.id);
    if (action.do === "remoteScale") {
      const workerConfig = { ...parameters.workerConfig, maxNum: action.max };
      service.endpoints.replace(endpoint, { ...parameters, workerConfig });
    }
  }
}

/**
 * A user looks at the halted jobs. Every second one is attached to its last task, which allows no further request. Otherwise, the
 * user accepts that the job may be paid again.
 */
export function releaseHalted(world: World, token: string): void {
  const { cluster, plan, payments } = world;
  releaseItems(world, token);
  for (const object of plan.objects) {
    const found = objectOf(world, object);
    if (textAt(found?.["status"], "phase") !== "Halted") continue;
    const annotate = (name: string, value: string) => {
      const place: PlacedAt = object;
      cluster.patch(resourceOf(object), place, { metadata: { annotations: { [name]: value } } });
    };
    const taskID = object.serial % 2 === 0 ? payments.lastTask(object.serial) : undefined;
    const named = textAt(objectAt(found?.["metadata"], "annotations"), ANNOTATIONS.attachTask);
    if (taskID !== undefined && taskID !== named) {
      annotate(ANNOTATIONS.attachTask, taskID);
      continue;
    }
    payments.released(object.serial);
    annotate(ANNOTATIONS.resubmitToken, token);
  }
}

/** As `mooring resolve mediabatch/NAME --resubmit`: one decision for all halted jobs of a batch. */
function releaseItems({ cluster, payments, plan }: World, token: string): void {
  if ((plan.batches ?? []).length === 0) return;
  for (const resource of [speechJobResource, videoJobResource]) {
    for (const job of cluster.list(resource)) {
      const metadata = objectAt(job, "metadata");
      const serial = serialOf(job);
      const isItem = textAt(metadata["labels"], BATCH_LABEL) !== undefined;
      if (!isItem || serial === undefined || textAt(job["status"], "phase") !== "Halted") continue;
      payments.released(serial);
      const place = { namespace: textAt(metadata, "namespace"), name: textAt(metadata, "name") ?? "" };
      cluster.patch(resource, place, { metadata: { annotations: { [ANNOTATIONS.resubmitToken]: token } } });
    }
  }
}
