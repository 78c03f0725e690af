import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { gpuEndpointResource } from "../../api/v1alpha1/kinds.ts";
import { ANNOTATIONS, FINALIZER } from "../../api/v1alpha1/meta.ts";
import type { Reconcile } from "../../runtime/controller.ts";
import type { JournalEntry } from "../../submission/journal.ts";
import { settleGone } from "../../submission/settle.ts";
import type { Resolved } from "../account/registry.ts";
import { referencesOf } from "../references.ts";
import { type Kind, patchStatus, type Shared, setFinalizer } from "../shared.ts";
import { type Converged, unclaimed } from "./act.ts";
import { createClaims } from "./claims.ts";
import { converge } from "./converge.ts";
import { needsFinalizer } from "./deletion-policy.ts";
import { warnOfFight, warnOfLocalVolumes, warnOfNotApplied, warnOfStall } from "./events.ts";
import { exportReferences, syncExports, withExports } from "./exports.ts";
import { createEndpointFinalizer } from "./finalize.ts";
import type { EndpointMetrics } from "./metrics.ts";
import { reconcileRequest } from "./observe.ts";
import { createRefusals } from "./refusals.ts";
import { createUpdateRounds } from "./rounds.ts";
import { type Outcome, pausedStatus, statusOf } from "./status.ts";
import { createUnknownCreates } from "./unknown-creates.ts";

/** Keeps a remote endpoint equal to its GpuEndpoint: observe, plan, apply, report. */
export function createGpuEndpointReconciler(
  shared: Shared,
  kind: Kind<GpuEndpoint>,
  metrics: EndpointMetrics,
): Reconcile {
  const rounds = createUpdateRounds();
  const refusals = createRefusals();
  const claims = createClaims(shared, kind);
  const finalize = createEndpointFinalizer(shared, kind, claims);
  const unknownCreates = createUnknownCreates(shared.clock);

  const reconcile: Reconcile = async ({ key }, context) => {
    let endpoint = kind.store.get(key);
    settleGone(shared, { kind: kind.resource.kind, key }, endpoint?.metadata.uid);
    if (endpoint === undefined) {
      shared.references.forget(referenceKey(key));
      shared.exports.forget(referenceKey(key));
      return undefined;
    }
    const { uid = "", namespace = "", annotations, deletionTimestamp } = endpoint.metadata;
    const entry = unsettled(shared, endpoint);
    const unknownForMs = unknownCreates.ageMs(uid, entry);
    if (deletionTimestamp !== undefined) {
      rounds.forget(uid);
      refusals.forget(uid);
      return finalize({ endpoint, entry, unknownForMs, context });
    }
    if (annotations?.[ANNOTATIONS.paused] === "true") {
      await patchStatus(shared, kind, endpoint, pausedStatus(endpoint, shared.clock.now()), context.signal);
      return undefined;
    }

    shared.references.track(referenceKey(key), referencesOf(namespace, endpoint.spec.env ?? []));
    shared.exports.track(referenceKey(key), exportReferences(endpoint));
    const request = reconcileRequest(endpoint);
    const resolved = await shared.accounts.resolve(endpoint.spec.accountRef, namespace);
    if (resolved.kind === "Checking") return undefined;
    let converged: Converged;
    if (resolved.kind === "Held") converged = held(resolved);
    else if (boundElsewhere(endpoint, resolved.account.baseURL))
      converged = mismatch(endpoint, resolved.account.baseURL);
    else {
      const { account, ref } = resolved;
      const claimed = await claims.claim(endpoint, account.baseURL);
      if (claimed.kind === "Granted") {
        // Before the first remote write, so that nothing is left behind unseen.
        endpoint = await setFinalizer(shared, kind, endpoint, FINALIZER, needsFinalizer(endpoint), context.signal);
        const known = { entry, unknownForMs, rounds, refusals, claims, requested: request !== undefined };
        converged = await converge({ shared, kind, endpoint, account, ref, ...known, context });
      } else converged = unclaimed(claimed, {});
    }

    const { written } = converged;
    const { record } = converged.outcome;
    const now = shared.clock.now();
    const seen = statusOf(endpoint, written, converged.outcome, request, now);
    const exports = await syncExports({ shared, endpoint, record, signal: context.signal }, seen);
    const outcome = withStall(converged.outcome, exports.stalled);
    const status = withExports(statusOf(endpoint, written, outcome, request, now), exports);
    warnOfLocalVolumes(shared.recorder, endpoint);
    warnOfFight(shared.recorder, endpoint, outcome);
    warnOfNotApplied(shared.recorder, endpoint, outcome);
    warnOfStall(shared.recorder, endpoint, outcome.stalled);
    await patchStatus(shared, kind, endpoint, status, context.signal);
    metrics.moved(endpoint, status, shared.clock.now());
    const settled = written.submission?.id ?? (written.endpointID === undefined ? undefined : entry?.id);
    if (settled !== undefined) shared.journal.settle(settled);
    const error = converged.error ?? exports.error;
    if (error !== undefined) throw error;
    const again = [converged.requeueAfterMs, exports.requeueAfterMs].flatMap((ms) => ms ?? []);
    return again.length === 0 ? undefined : { requeueAfterMs: Math.min(...again) };
  };

  return async (request, context) => {
    const { uid = "" } = kind.store.get(request.key)?.metadata ?? {};
    try {
      return await reconcile(request, context);
    } finally {
      claims.release(uid); // by now the status shows what the object is bound to
    }
  };
}

const referenceKey = (key: string) => `${gpuEndpointResource.plural}:${key}`;

/** The journal's entry, unless the status shows its outcome already (the operator ended in between). */
function unsettled(shared: Shared, endpoint: GpuEndpoint): JournalEntry | undefined {
  const entry = shared.journal.find(endpoint.metadata.uid ?? "");
  if (entry === undefined || entry.id !== endpoint.status?.submission?.id) return entry;
  shared.journal.settle(entry.id);
  return undefined;
}

/** What is wrong with the endpoint itself is told first. */
function withStall(outcome: Outcome, stalled: Outcome["stalled"]): Outcome {
  return stalled === undefined || outcome.stalled !== undefined ? outcome : { ...outcome, stalled };
}

function held({ reason, message, againMs }: Extract<Resolved, { kind: "Held" }>): Converged {
  return {
    outcome: {
      record: undefined,
      differences: [],
      fighting: false,
      waiting: { reason, message, lostSight: true },
    },
    written: {},
    ...(againMs === undefined ? {} : { requeueAfterMs: againMs }),
  };
}

function boundElsewhere(endpoint: GpuEndpoint, baseURL: string): boolean {
  const { account, endpointID } = endpoint.status ?? {};
  return endpointID !== undefined && account !== undefined && account.baseURL !== baseURL;
}

function mismatch(endpoint: GpuEndpoint, baseURL: string): Converged {
  const message = `bound to ${endpoint.status?.account?.baseURL}, but the account now has base URL ${baseURL}: nothing is sent; restore the account's baseURL, or recreate this object`;
  return {
    outcome: {
      record: undefined,
      differences: [],
      fighting: false,
      stalled: { reason: "AccountMismatch", message },
    },
    written: {},
  };
}
