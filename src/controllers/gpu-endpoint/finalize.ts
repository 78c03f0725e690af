import type { GpuEndpoint, GpuEndpointStatus } from "../../api/gpu-endpoint.ts";
import { ANNOTATIONS, FINALIZER } from "../../api/meta.ts";
import type { ReconcileContext, Result } from "../../runtime/controller.ts";
import type { JournalEntry } from "../../runtime/journal.ts";
import { ServiceError } from "../../service/errors.ts";
import type { AccountHandle } from "../account/registry.ts";
import { failureOf } from "../service-failure.ts";
import { type Kind, patchStatus, type Shared, setFinalizer } from "../shared.ts";
import { updateEndpoint } from "./apply.ts";
import { appNameOf, desiredEndpoint } from "./desired.ts";
import { withIgnored } from "./drift.ts";
import { observeBinding, read } from "./observe.ts";
import { LOOKUP_MS } from "./plan.ts";
import { type Outcome, statusOf } from "./status.ts";

type DeletionPolicy = GpuEndpoint["spec"]["deletionPolicy"];

const LOOK_AGAIN_MS = 2_000;
const HELD_RETRY_MS = 60_000;

/** The annotation wins, so that a deletion that cannot go on can be released. */
export function deletionPolicyOf(endpoint: GpuEndpoint): DeletionPolicy {
  const override = endpoint.metadata.annotations?.[ANNOTATIONS.deletionPolicy];
  return override === "Retain" || override === "ScaleToZero" || override === "Delete"
    ? override
    : endpoint.spec.deletionPolicy;
}

/** Whether deleting the object has work to do at the remote. */
export function needsFinalizer(endpoint: GpuEndpoint): boolean {
  return endpoint.spec.managementPolicy === "Full" && deletionPolicyOf(endpoint) !== "Retain";
}

/** Carries out the deletion policy, then lets the object go. */
export async function finalizeEndpoint(
  shared: Shared,
  kind: Kind<GpuEndpoint>,
  endpoint: GpuEndpoint,
  entry: JournalEntry | undefined,
  /** How long the outcome of the entry has been unknown here. */
  unknownForMs: number,
  context: ReconcileContext,
): Promise<Result> {
  if (!endpoint.metadata.finalizers?.includes(FINALIZER)) return undefined;
  const release = async (): Promise<Result> => {
    await setFinalizer(shared, kind, endpoint, FINALIZER, false, context.signal);
    if (entry !== undefined) shared.journal.settle(entry.id);
    return undefined;
  };
  if (!needsFinalizer(endpoint)) return release();
  const known = entry?.outcome?.endpointID ?? endpoint.status?.endpointID;
  if (known === undefined && entry === undefined) return release();

  const blocked = async (outcome: Partial<Outcome>, requeueAfterMs: number): Promise<Result> => {
    const whole: Outcome = { record: undefined, differences: [], fighting: false, ...outcome };
    const status: GpuEndpointStatus = statusOf(endpoint, {}, whole, undefined, shared.clock.now());
    await patchStatus(shared, kind, endpoint, status, context.signal);
    return { requeueAfterMs };
  };
  const { namespace = "", name } = endpoint.metadata;
  const releaseLine = `to let it go and leave the endpoint as it is: kubectl -n ${namespace} annotate gpuendpoint ${name} ${ANNOTATIONS.deletionPolicy}=Retain --overwrite`;
  const resolved = await shared.accounts.resolve(endpoint.spec.accountRef, namespace);
  if (resolved.kind === "Checking") return undefined;
  if (resolved.kind === "Held") {
    const message = `Deletion waits for the account: ${resolved.message}; ${releaseLine}`;
    return blocked({ waiting: { reason: "AccountNotReady", message, lostSight: true } }, HELD_RETRY_MS);
  }
  if (deletionPolicyOf(endpoint) === "Delete") {
    const message = `deletionPolicy is Delete, and the service documents no delete operation; ${releaseLine} (or =ScaleToZero)`;
    return blocked({ stalled: { reason: "DeleteNotConfigured", message } }, HELD_RETRY_MS);
  }
  try {
    const binding = await observeBinding({
      endpoint,
      account: resolved.account,
      entry,
      unknownForMs,
      appName: appNameOf(endpoint, shared.clusterUID),
      now: shared.clock.now(),
      signal: context.signal,
    });
    if (binding.kind === "CreateUnknown" && binding.candidate === undefined) {
      if (binding.unknownForMs >= LOOKUP_MS) return release();
      return { requeueAfterMs: LOOK_AGAIN_MS };
    }
    const endpointID = binding.kind === "Bound" ? binding.endpointID : binding.candidate?.id;
    if (endpointID !== undefined) await scaleToZero(shared, resolved.account, endpoint, endpointID, context);
    return await release();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const failure = failureOf(error);
    if (failure.kind === "AccountHeld") shared.accounts.unauthorized(resolved.account.key, failure.message);
    const message = `Deletion could not be carried out: ${failure.message}; ${releaseLine}`;
    const retryMs = failure.kind === "Wait" ? failure.retryAfterMs : HELD_RETRY_MS;
    const outcome: Partial<Outcome> =
      failure.kind === "Stalled"
        ? { stalled: { reason: failure.reason, message } }
        : { waiting: { reason: "Deleting", message, lostSight: true } };
    await blocked(outcome, retryMs);
    if (failure.kind === "Retry") throw error;
    return { requeueAfterMs: retryMs };
  }
}

/** Sets workers to 0/0, leaving all else as the remote has it: the spec's Secrets may be gone already. */
async function scaleToZero(
  shared: Shared,
  account: AccountHandle,
  endpoint: GpuEndpoint,
  endpointID: string,
  context: ReconcileContext,
): Promise<void> {
  const record = await read(account, endpointID, context.signal);
  if (record === undefined) return; // gone already
  if (record.workerConfig.min === 0 && record.workerConfig.max === 0) return;
  const suspended: GpuEndpoint = { ...endpoint, spec: { ...endpoint.spec, suspend: true } };
  const desired = withIgnored(desiredEndpoint(suspended, shared.clusterUID, []), record, ["env"]);
  await updateEndpoint(shared, account, endpointID, desired, context);
  shared.recorder.event(
    endpoint,
    "Normal",
    "ScaledToZero",
    "Delete",
    `Set the workers of endpoint ${endpointID} to 0/0`,
  );
}
