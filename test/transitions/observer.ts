import { setTimeout as sleep } from "node:timers/promises";
import { KINDS } from "../../src/api/v1alpha1/kinds.ts";
import { isTooManyRequests } from "../../src/kube/errors.ts";
import { linesOf } from "../sim/perturbation/outcome.ts";
import { type AnyObject, type AnyStatus, condition, eventually, type World } from "../support/world.ts";

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

export type Observer = {
  /** Resolves when the object is reconciled and nothing of it changes any more. */
  settled(kind: string, name: string, generation: number): Promise<Snapshot>;
  stop(): Promise<void>;
};

/** The history of an object: not part of what a spec leads to. */
const HISTORY =
  /\.(observedGeneration|appliedGeneration|lastAppliedTime|appliedReferencesHash|createdAt|submission|unconfirmedCreates|completionTime|startTime|submitTime|firstSubmitTime|nextAttemptTime|attempts)\b/;
/** What an account reads and counts at intervals. */
const OF_INTERVALS = /\.(endpoints|tasks|spend\w*|budgets?)\b|\[BudgetExceeded\]/;
const LOOK_MS = 1_000;
/** Nothing changes for this long. */
const STILL_MS = 2_000;
/** An object that goes on reconciling without a change, such as one that waits for another object. */
const WAITING_MS = 4_000;

/** A condition that says that something was resumed is as good as none. */
function withoutResumed(status: AnyStatus | undefined): AnyStatus {
  return { ...status, conditions: status?.conditions?.filter(({ reason }) => reason !== "Resumed") ?? [] };
}

/** Lists all kinds and the service once in a while, for all objects of a world. */
export function createObserver(world: World): Observer {
  const shown = new Map<string, { snapshot: Snapshot; text: string; since: number }>();
  let stopped = false;
  let failure: unknown;

  async function look(): Promise<void> {
    const listed: { kind: string; items: AnyObject[] }[] = [];
    for (const { resource } of KINDS) {
      const place = resource.namespaced ? { namespace: world.namespace } : {};
      const { items } = await world.kube.list<AnyObject>(resource, place);
      listed.push({ kind: resource.kind, items });
    }
    // After the statuses: what a status says of the service is true before it is written.
    const state = await world.state();
    const remotes = new Map(state.endpoints.map(({ id, parameters }) => [id, parameters]));
    for (const { kind, items } of listed) {
      for (const object of items) note(kind, object, remotes.get(object.status?.["endpointID"]));
    }
  }

  function note(kind: string, object: AnyObject, parameters: unknown): void {
    const { name, generation } = object.metadata;
    const snapshot = snapshotOf(kind, object, parameters);
    const text = JSON.stringify([generation, object.status, snapshot.remote]);
    const key = `${kind}/${name}`;
    const known = shown.get(key);
    shown.set(key, { snapshot, text, since: known?.text === text ? known.since : performance.now() });
  }

  function snapshotOf(kind: string, object: AnyObject, parameters: unknown): Snapshot {
    const linesFor = (root: unknown) => {
      const text = JSON.stringify(root ?? null).replaceAll(object.metadata.name, "NAME");
      return linesOf(JSON.parse(text), world);
    };
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

  const looking = (async () => {
    while (!stopped) {
      await look().catch((error: unknown) => {
        if (!isTooManyRequests(error)) failure ??= error;
      });
      await sleep(LOOK_MS);
    }
  })();

  return {
    settled: (kind, name, generation) =>
      eventually(`${kind} ${name} has settled`, async () => {
        if (failure !== undefined) throw failure;
        const known = shown.get(`${kind}/${name}`);
        if (known === undefined || (known.snapshot.object.metadata.generation ?? 0) < generation) return undefined;
        const { object } = known.snapshot;
        const current = object.status?.["observedGeneration"] === generation;
        const still = performance.now() - known.since;
        const waits = condition(object, "Reconciling")?.status === "True" || !current;
        // Another controller's object is never reconciled here.
        const managed = object.spec["managedBy"] === undefined;
        return (managed && !current ? false : still > (waits ? WAITING_MS : STILL_MS)) && known.snapshot;
      }),
    async stop() {
      stopped = true;
      await looking;
    },
  };
}
