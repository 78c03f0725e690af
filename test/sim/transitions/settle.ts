import { type AnyObject, type AnyStatus, condition } from "../../support/world.ts";
import { linesOf } from "../perturbation/outcome.ts";
import type { Stage } from "../stage/stage.ts";

/** What the cluster and the service show of one object. */
export type Snapshot = {
  object: AnyObject;
  /** `path: value`, without times, identifiers, generations, and what tells how the object came here. */
  status: string[];
  /** Parameters of the remote endpoint; empty: there is none. */
  remote: string[];
  parameters: unknown;
  /** Reason of `Stalled`; empty: it is not stalled. */
  stalled: string;
  /** `STATUS REASON` of `Ready`. */
  ready: string;
};

/** The history of an object: not part of what a spec leads to. */
const HISTORY =
  /\.(observedGeneration|appliedGeneration|lastAppliedTime|appliedReferencesHash|createdAt|submission|unconfirmedCreates|completionTime|startTime|submitTime|firstSubmitTime|nextAttemptTime|attempts)\b/;
/** What an account reads and counts at intervals. */
const OF_INTERVALS = /\.(endpoints|tasks|spend\w*|budgets?)\b|\[BudgetExceeded\]/;
/** Nothing changes for this long. */
const STILL_MS = 2_000;
/** An object that goes on reconciling without a change, such as one that waits for another object. */
const WAITING_MS = 10_000;

/** A condition that says that something was resumed is as good as none. */
function withoutResumed(status: AnyStatus | undefined): AnyStatus {
  return { ...status, conditions: status?.conditions?.filter(({ reason }) => reason !== "Resumed") ?? [] };
}

function snapshotOf(stage: Stage, kind: string, object: AnyObject): Snapshot {
  const parameters = stage.service.endpoints.find(String(object.status?.["endpointID"]))?.parameters;
  const linesFor = (root: unknown) =>
    linesOf(JSON.parse(JSON.stringify(root ?? null).replaceAll(object.metadata.name, "NAME")), stage);
  const isOfSpec = (line: string) => !HISTORY.test(line) && !(kind.endsWith("Account") && OF_INTERVALS.test(line));
  const [stalled, ready] = [condition(object, "Stalled"), condition(object, "Ready")];
  return {
    object,
    status: linesFor(withoutResumed(object.status)).filter(isOfSpec),
    remote: parameters === undefined ? [] : linesFor(parameters),
    parameters,
    stalled: stalled?.status === "True" ? stalled.reason : "",
    ready: `${ready?.status} ${ready?.reason}`,
  };
}

/** Resolves when the object is reconciled and nothing of it changes any more, or when it is gone: then with what it showed last. */
export async function settled(stage: Stage, kind: string, { metadata }: AnyObject): Promise<Snapshot> {
  const { name, generation } = metadata;
  let last = { text: "", since: 0 };
  let seen: Snapshot | undefined;
  return stage.eventually(`${kind} ${name} has settled`, async () => {
    const object = (await stage.list(kind)).find((one) => one.metadata.name === name);
    if (object === undefined) return seen;
    const snapshot = snapshotOf(stage, kind, object);
    seen = snapshot;
    const text = JSON.stringify([object.metadata.generation, snapshot.status, snapshot.remote]);
    if (text !== last.text) last = { text, since: stage.scheduler.now() };
    const isCurrent = object.status?.["observedGeneration"] === generation;
    const waits = condition(object, "Reconciling")?.status === "True" || !isCurrent;
    // Another controller's object is never reconciled here.
    const isManaged = object.spec["managedBy"] === undefined;
    if (isManaged && !isCurrent) return false;
    return stage.scheduler.now() - last.since > (waits ? WAITING_MS : STILL_MS) && snapshot;
  });
}
