import type { ArtifactStore } from "../../../api/v1alpha1/artifact-store.ts";
import { getCondition, isTrue } from "../../../api/v1alpha1/conditions.ts";
import type { GpuEndpoint } from "../../../api/v1alpha1/gpu-endpoint.ts";
import { artifactStoreResource } from "../../../api/v1alpha1/kinds.ts";
import type { Money } from "../../../base/money.ts";
import { type AccountUser, accountToUse } from "../../../controllers/account/binding.ts";
import { namespaceRefusal } from "../../../controllers/account/namespaces.ts";
import { forbiddenCost, forbiddenInEndpoint, forbiddenInJob } from "../../../controllers/account/share-rules.ts";
import { type ShareOf, shareOf, shareRefusal } from "../../../controllers/account/shares.ts";
import { missingStore } from "../../../controllers/artifact-store/registry.ts";
import { deletionPolicyOf } from "../../../controllers/gpu-endpoint/desired.ts";
import { speechRequest } from "../../../controllers/jobs/requests/speech.ts";
import { videoRequest } from "../../../controllers/jobs/requests/video.ts";
import { InvalidJobError, type Job } from "../../../controllers/jobs/types.ts";
import { createValueReader, StalledError } from "../../../controllers/references.ts";
import type { Cause } from "../../../controllers/verdict.ts";
import { findObject, type KubeClient } from "../../../kube/client.ts";
import { isForbidden } from "../../../kube/errors.ts";
import { namespaceResource } from "../../../kube/resource.ts";
import type { KubeObject } from "../../../kube/types.ts";
import { type FoundAccount, findAccount } from "../../connect-account.ts";

/** What a command reads with the rights of its user. What the user may not read blocks nothing here. */
export type BlockerDeps = { kube: KubeClient; signal: AbortSignal };

/** Everything that keeps a new job from being sent, each as `Reason: message`. Reads only, and calls nothing at the service. */
export async function jobBlockers(deps: BlockerDeps, job: Job): Promise<string[]> {
  const account = await accountOf(deps.kube, job);
  if (typeof account === "string") return [account, ...(await storeBlockers(deps, job))];
  const found = await Promise.all([
    account === undefined ? [] : blockersOf(deps, account, job.metadata.namespace),
    shareBlockers(deps, job),
    inputBlockers(deps, job, account),
    storeBlockers(deps, job),
  ]);
  return found.flat();
}

/** Everything about its account that keeps an object waiting. */
export async function accountBlockers(deps: BlockerDeps, object: AccountUser): Promise<string[]> {
  const account = await accountOf(deps.kube, object);
  if (typeof account === "string") return [account];
  return account === undefined ? [] : blockersOf(deps, account, object.metadata.namespace);
}

/** What the share of its namespace never allows of an object. `changed`: fields that an update changes; undefined: all. */
export async function shareBlockers(
  deps: BlockerDeps,
  object: Job | GpuEndpoint,
  changed?: readonly string[],
): Promise<string[]> {
  const found = await shareIn(deps, object);
  const none = found && shareRefusal(found);
  if (none !== undefined) return [`${none.reason}: ${none.message}`];
  if (found?.kind !== "Share") return [];
  const forbidden = isEndpoint(object)
    ? forbiddenInEndpoint(found.share, object.spec, deletionPolicyOf(object) === "Retain")
    : forbiddenInJob(found.share, object);
  const asked = forbidden.filter(({ field }) => changed === undefined || changed.includes(field));
  return asked.map(({ message }) => `NotAllowedByShare: ${message}`);
}

const isEndpoint = (object: Job | GpuEndpoint): object is GpuEndpoint => "workers" in object.spec;

/** Why a job of this cost fits into no day or month of its share. */
export async function costBlocker(deps: BlockerDeps, job: Job, cost: Money | undefined): Promise<Cause | undefined> {
  const found = await shareIn(deps, job);
  return found?.kind === "Share" ? forbiddenCost(found.share, cost) : undefined;
}

/** The share of an object's namespace. undefined: there is no account, or the user may not read what decides. */
async function shareIn({ kube }: BlockerDeps, object: Job | GpuEndpoint): Promise<ShareOf | undefined> {
  const account = await accountOf(kube, object);
  if (account === undefined || typeof account === "string") return undefined;
  const { ref, spec } = account;
  const shares = "shares" in spec ? spec.shares : undefined;
  if (shares === undefined) return { kind: "Whole" };
  const { namespace } = object.metadata;
  const found = await readable(findObject<KubeObject>(kube, namespaceResource, { name: namespace }));
  const labels = found?.value?.metadata.labels ?? {};
  return found && shareOf(shares, { account: `${ref.kind} ${ref.name}`, namespace, labels });
}

/** A text says why there is none. undefined: the user may not read it. */
async function accountOf(kube: KubeClient, object: AccountUser): Promise<FoundAccount | string | undefined> {
  try {
    const ref = accountToUse(object);
    return await findAccount(kube, object.metadata.namespace, ref, "name another account in spec.accountRef");
  } catch (error) {
    if (isForbidden(error)) return undefined;
    if (!(error instanceof Error)) throw error;
    return `AccountNotFound: ${error.message}`;
  }
}

async function blockersOf(
  { kube, signal }: BlockerDeps,
  { ref, spec, status, keyNamespace }: FoundAccount,
  namespace: string,
): Promise<string[]> {
  const blockers: string[] = [];
  if ("allowedNamespaces" in spec && spec.allowedNamespaces !== undefined) {
    const found = await readable(findObject<KubeObject>(kube, namespaceResource, { name: namespace }));
    const labels = found?.value?.metadata.labels ?? {};
    const refusal = found && namespaceRefusal(ref.name, spec.allowedNamespaces, namespace, labels);
    if (refusal !== undefined) blockers.push(`NamespaceNotAllowed: ${refusal}`);
  }
  const ready = getCondition(status?.conditions, "Ready");
  if (ready?.status === "False") {
    blockers.push(`AccountNotReady: ${ref.kind} ${ref.name} is not ready: ${ready.message}`);
  } else if (ready?.status !== "True") {
    // No operator has read the key yet.
    const key = createValueReader(kube, signal).secretKey(keyNamespace, spec.apiKeySecretRef);
    blockers.push(...(await stalls(key)));
  }
  const budget = getCondition(status?.conditions, "BudgetExceeded");
  if (isTrue(status?.conditions, "BudgetExceeded") && spec.budget?.action === "HoldNew") {
    blockers.push(`BudgetExceeded: ${budget?.message}`);
  }
  return blockers;
}

/** A text that is too long, or an input that is not there. */
async function inputBlockers(
  { kube, signal }: BlockerDeps,
  job: Job,
  account: FoundAccount | undefined,
): Promise<string[]> {
  const reader = createValueReader(kube, signal);
  if (!("model" in job.spec)) return stalls(readable(videoRequest({ ...job, spec: job.spec }, reader)));
  const maxSpeechCharacters = account?.spec.speech.maxCharacters ?? Number.POSITIVE_INFINITY;
  return stalls(speechRequest({ ...job, spec: job.spec }, { maxSpeechCharacters }, reader));
}

export async function storeBlockers(
  { kube }: BlockerDeps,
  { metadata, spec }: { metadata: Job["metadata"]; spec: { output?: { storeRef: { name: string } } | undefined } },
): Promise<string[]> {
  const { name } = spec.output?.storeRef ?? {};
  if (name === undefined) return [];
  const { namespace } = metadata;
  const key = `${namespace}/${name}`;
  const found = await readable(findObject<ArtifactStore>(kube, artifactStoreResource, { namespace, name }));
  if (found === undefined) return [];
  if (found.value === undefined) return [`StoreNotReady: ${missingStore(key)}`];
  const ready = getCondition(found.value.status?.conditions, "Ready");
  return ready?.status === "False" ? [`StoreNotReady: ArtifactStore ${key} is not ready: ${ready.message}`] : [];
}

/** Why something that an object needs cannot be had. */
export async function stalls(promise: Promise<unknown>): Promise<string[]> {
  try {
    await promise;
    return [];
  } catch (error) {
    if (error instanceof InvalidJobError) return [`InvalidSpec: ${error.message}`];
    if (!(error instanceof StalledError)) throw error;
    // The message is about the operator, which has other rights than the user. A job that takes the result of another one waits for it.
    return error.reason === "ReadForbidden" || error.reason === "WaitingForSource"
      ? []
      : [`${error.reason}: ${error.message}`];
  }
}

/** undefined if the user may not read it. */
async function readable<T>(promise: Promise<T>): Promise<{ value: T } | undefined> {
  try {
    return { value: await promise };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return undefined;
  }
}
