import { isDeepStrictEqual } from "node:util";
import { COMMANDS, targetOf } from "../../../api/v1alpha1/commands.ts";
import { type GpuEndpoint, gpuEndpointSpecSchema } from "../../../api/v1alpha1/gpu-endpoint.ts";
import type { Clock } from "../../../base/clock.ts";
import { accountMismatch } from "../../../controllers/account/mismatch.ts";
import { accountKey } from "../../../controllers/account/registry.ts";
import { desiredEndpoint } from "../../../controllers/gpu-endpoint/desired.ts";
import type { Binding, Facts } from "../../../controllers/gpu-endpoint/facts.ts";
import type { DesiredEndpoint } from "../../../controllers/gpu-endpoint/fields.ts";
import { isApplied, isResuming } from "../../../controllers/gpu-endpoint/observe.ts";
import { planEndpoint } from "../../../controllers/gpu-endpoint/plan.ts";
import { isPaused } from "../../../controllers/reconciler.ts";
import { createValueReader, resolveEnv, StalledError } from "../../../controllers/references.ts";
import type { KubeClient } from "../../../kube/client.ts";
import { namespaceResource } from "../../../kube/resource.ts";
import type { EndpointRecord } from "../../../provider/endpoints/endpoint-record.ts";
import type { AccountSession } from "../../../provider/types.ts";
import type { AccountConnection } from "../../connect-account.ts";
import { blocked, conflict, type Planned, plannedOf } from "./planned.ts";

export type EndpointPlanDeps = {
  kube: KubeClient;
  clock: Clock;
  signal: AbortSignal;
  /** The account of an object; one connection for all objects of an account. */
  account(endpoint: GpuEndpoint): Promise<AccountConnection>;
};

type PlannedEndpoint = Omit<Planned, "object">;

/** The app name of a new object has a hash of its UID, which is not known before the apply. */
const GENERATED = "(generated)";

/**
 * What the operator would do for an object after an apply: the plan of the operator, with one read of the remote endpoint.
 * @param object the object after the apply @param live before it; undefined: it is new
 */
export async function planOf(
  deps: EndpointPlanDeps,
  object: GpuEndpoint,
  live: GpuEndpoint | undefined,
): Promise<PlannedEndpoint> {
  const endpoint = { ...object, spec: gpuEndpointSpecSchema.parse(object.spec) };
  if (isPaused(endpoint)) return none("no change: the object is paused");
  const connection = await deps.account(endpoint);
  const mismatch = mismatchOf(live, connection);
  if (mismatch !== undefined) return conflict([`${mismatch.reason}: ${mismatch.message}`]);
  try {
    const desired = await desiredOf(deps, endpoint, live);
    const { session } = connection;
    await session.probe(deps.signal);
    const binding = await bindingOf(deps, session, endpoint, live);
    if (binding === "Unknown") {
      return blocked(["the outcome of a create is not known yet: wait until the operator has found the endpoint"]);
    }
    return decide({ deps, session, endpoint, live, desired }, binding);
  } catch (error) {
    if (!(error instanceof StalledError)) throw error;
    // The message is about the operator, which may have other rights.
    if (error.reason === "ReadForbidden") {
      throw new Error(
        "you may not read a Secret or ConfigMap that spec.env refers to: use a kubeconfig whose user may",
        {
          cause: error,
        },
      );
    }
    return blocked([`${error.reason}: ${error.message}`]);
  }
}

function mismatchOf(live: GpuEndpoint | undefined, { ref, session }: AccountConnection) {
  if (ref === undefined) return undefined;
  const key = accountKey(ref.kind, ref.name, live?.metadata.namespace);
  return accountMismatch(live?.status?.account?.baseURL, { key, baseURL: session.baseURL });
}

async function desiredOf(
  { kube, signal }: EndpointPlanDeps,
  endpoint: GpuEndpoint,
  live: GpuEndpoint | undefined,
): Promise<DesiredEndpoint> {
  const reader = createValueReader(kube, signal);
  const env = await resolveEnv(reader, endpoint.metadata.namespace, endpoint.spec.env ?? []);
  if (endpoint.spec.appName !== undefined) return desiredEndpoint(endpoint, "", env);
  if (live === undefined) return { ...desiredEndpoint(endpoint, "", env), appName: GENERATED };
  const shown = live.status?.appName;
  const { uid = "" } = shown === undefined ? (await kube.get(namespaceResource, { name: "kube-system" })).metadata : {};
  const desired = desiredEndpoint({ ...endpoint, metadata: live.metadata }, uid, env);
  return shown === undefined ? desired : { ...desired, appName: shown };
}

/** A read of the remote. `Unknown`: the object has sent a create whose outcome the status does not show. */
async function bindingOf(
  { signal }: EndpointPlanDeps,
  { endpoints }: AccountSession,
  endpoint: GpuEndpoint,
  live: GpuEndpoint | undefined,
): Promise<Binding | "Unknown"> {
  const whole = async (record: EndpointRecord | undefined) => {
    const hasVolumes = (record?.volumes.length ?? 0) > 0 || (endpoint.spec.volumes ?? []).length > 0;
    return record !== undefined && hasVolumes ? endpoints.complete(record, "Now", signal) : record;
  };
  const { endpointID, submission } = live?.status ?? {};
  if (endpointID !== undefined && endpointID !== "") {
    const record = await whole(await endpoints.read(endpointID, signal));
    return { kind: "Bound", endpointID, record, fresh: true, provenGone: false };
  }
  if (submission?.state === "Intended" || submission?.state === "Unknown") return "Unknown";
  const { adoption, appName } = endpoint.spec;
  if (adoption !== undefined) {
    const record = await whole(await endpoints.read(adoption.endpointID, signal));
    return { kind: "Unbound", candidate: undefined, adopt: record ?? "NotFound" };
  }
  const [candidate, ...others] = appName === undefined ? [] : await endpoints.find(appName, signal);
  return { kind: "Unbound", candidate, others: others.map(({ id }) => id), adopt: undefined };
}

type DesiredChange = {
  deps: EndpointPlanDeps;
  session: AccountSession;
  endpoint: GpuEndpoint;
  live: GpuEndpoint | undefined;
  desired: DesiredEndpoint;
};

function decide({ deps, session, endpoint, live, desired }: DesiredChange, binding: Binding): PlannedEndpoint {
  const unchanged = live !== undefined && isDeepStrictEqual(gpuEndpointSpecSchema.parse(live.spec), endpoint.spec);
  const facts: Facts = {
    spec: endpoint.spec,
    desired,
    binding,
    limits: session.endpoints.limits(),
    applied: unchanged && isApplied(live),
    resuming: live !== undefined && isResuming({ ...live, spec: endpoint.spec }),
    history: () => ({ confirmed: 0, unconfirmed: 0, sinceMs: Number.POSITIVE_INFINITY }),
    vanished: () => 0,
    seenByNoKey: false,
    creates: [],
    heldByRestore: undefined,
    requestCommand: COMMANDS.reconcile(targetOf(endpoint, "GpuEndpoint")),
    requested: false,
    now: deps.clock.now(),
  };
  const plan = planEndpoint(facts);
  if (plan.action !== "Bind") return plannedOf(plan, desired, binding.kind === "Bound" ? binding.endpointID : "");
  const { id } = plan.record;
  const bound: Binding = { kind: "Bound", endpointID: id, record: plan.record, fresh: true, provenGone: false };
  const result = plannedOf(planEndpoint({ ...facts, binding: bound }), desired, id);
  return { ...result, message: `take over endpoint ${id}; ${result.message}` };
}

function none(message: string): PlannedEndpoint {
  return { action: "None", message, changes: [] };
}
