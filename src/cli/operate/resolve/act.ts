import { getCondition } from "../../../api/v1alpha1/conditions.ts";
import { ANNOTATIONS } from "../../../api/v1alpha1/meta.ts";
import type { Clock } from "../../../base/clock.ts";
import { attachTaskOf, type Job } from "../../../controllers/jobs/types.ts";
import type { KubeClient } from "../../../kube/client.ts";
import type { Resource } from "../../../kube/resource.ts";
import { waitFor } from "../../wait.ts";

/** What the user decides about a halted job. */
export type HaltDecision = { kind: "Attach"; taskID: string } | { kind: "Resubmit" } | { kind: "GiveUp" };

export type ActOptions = { resource: Resource; job: Job; clock: Clock; signal: AbortSignal };

/**
 * Carries out a decision and waits for the operator. Returns what happened, in one line.
 * @throws Error of one line: what the operator refuses, or that it did not answer before the signal was aborted
 */
export async function act(kube: KubeClient, decision: HaltDecision, options: ActOptions): Promise<string> {
  const { resource, job } = options;
  const { name, namespace, uid, resourceVersion } = job.metadata;
  switch (decision.kind) {
    case "Attach":
      return attach(kube, decision.taskID, options);
    case "Resubmit":
      return resubmit(kube, options);
    case "GiveUp":
      // Another decision meanwhile is a conflict.
      await kube.delete(resource, { namespace, name }, { body: { preconditions: { uid, resourceVersion } } });
      return `${resource.kind} ${namespace}/${name} is deleted; its request may have been charged`;
  }
}

async function attach(kube: KubeClient, taskID: string, options: ActOptions): Promise<string> {
  const { resource, job } = options;
  if (job.status?.lastHandledAttachTask === taskID) {
    throw new Error(`${nameOf(options)} was attached to task ${taskID} before, or named it before it was Halted`);
  }
  const requested = new Date(options.clock.now()).toISOString();
  const annotations = { [ANNOTATIONS.attachTask]: taskID, [ANNOTATIONS.reconcileRequestedAt]: requested };
  await annotate(kube, options, annotations);
  const answer = await wait(kube, options, (current) => {
    const { status } = current;
    if (status?.taskID === taskID && status.submission?.state === "Accepted") return { attached: true, message: "" };
    const refusal = getCondition(status?.conditions, "TaskAttached");
    const isNew = status?.lastHandledReconcileAt === requested && refusal?.message.startsWith(`Task ${taskID}: `);
    return isNew && refusal?.status === "False" ? { attached: false, message: refusal.message } : undefined;
  });
  if (!answer.attached) throw new Error(`${nameOf(options)} stays Halted. ${answer.message}`);
  return `${resource.kind} ${job.metadata.namespace}/${job.metadata.name} follows task ${taskID}; nothing was sent`;
}

async function resubmit(kube: KubeClient, options: ActOptions): Promise<string> {
  const token = new Date(options.clock.now()).toISOString();
  // A task that is to be attached would hold the release back.
  const pending = attachTaskOf(options.job) === undefined ? {} : { [ANNOTATIONS.attachTask]: null };
  await annotate(kube, options, { ...pending, [ANNOTATIONS.resubmitToken]: token });
  await wait(kube, options, ({ status }) => (status?.lastHandledResubmitToken === token ? true : undefined));
  return `${nameOf(options)} is released: it sends another request, which may be paid for a second time`;
}

/** A change meanwhile, such as another decision, is a conflict. */
async function annotate(
  kube: KubeClient,
  { resource, job }: ActOptions,
  annotations: Readonly<Record<string, string | null>>,
): Promise<void> {
  const { name, namespace, resourceVersion } = job.metadata;
  await kube.mergePatch(resource, { namespace, name }, { metadata: { resourceVersion, annotations } });
}

async function wait<R>(
  kube: KubeClient,
  { resource, job, clock, signal }: ActOptions,
  result: (job: Job) => R | undefined,
): Promise<R> {
  const { name, namespace } = job.metadata;
  const found = await waitFor<Job, R>(kube, { resource, place: { namespace, name }, result, signal, clock });
  if (found !== undefined) return found;
  throw new Error(
    `no operator has answered: the annotation is set, and applies when one runs. Check the operator with: mooring doctor`,
  );
}

function nameOf({ resource, job }: ActOptions): string {
  return `${resource.kind} ${job.metadata.namespace}/${job.metadata.name}`;
}
