import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { serviceAddress } from "../../base/service-address.ts";
import { keyOf } from "../../kube/types.ts";
import type { Indexer } from "../../runtime/store.ts";
import { accountToUse } from "../account/binding.ts";
import type { ControllerDeps, Kind } from "../controller-deps.ts";
import { isPaused } from "../reconciler.ts";
import { appNameOf } from "./desired.ts";
import { createdBy, type EndpointMemories, type OpenCreate } from "./memory.ts";

/** What an object claims at the service: an endpoint ID, or the app name by which it creates or finds an endpoint. */
export type Target = { kind: "EndpointID" | "AppName"; value: string };

/** Why an object may claim a target, best first. */
const STANDINGS = ["Generated", "Created", "Bound", "Submitting", "Waiting"] as const;
export type Standing = (typeof STANDINGS)[number];

/** `created`: metadata.creationTimestamp. */
export type Claimant = { uid: string; created: string; standing: Standing };

export type Claimed =
  | { kind: "Granted" }
  /** Another reconcile holds the target now: claim again soon. */
  | { kind: "Busy" }
  /** Another object owns the target. `message` does not name it. */
  | { kind: "Denied"; message: string };

/**
 * Grants each remote endpoint to one GpuEndpoint of the cluster, whatever account it is reached by.
 *
 * Guarantees: of two objects with the same target at the same base URL one is granted at most; what an object is granted
 * while it is unbound stays reserved until `release`. Assumes that this process leads and that its store holds every
 * GpuEndpoint: objects in namespaces that are not watched are unknown.
 */
export type Claims = {
  /** Claims what the object is bound to, or is to be bound to. Call it before the endpoint is read. */
  claim(endpoint: GpuEndpoint, baseURL: string): Promise<Claimed>;
  /** Claims an endpoint that the service shows under the object's app name. */
  claimFound(endpoint: GpuEndpoint, baseURL: string, endpointID: string): Promise<Claimed>;
  /** Whether another object is bound to this endpoint and comes before this object. */
  belongsToAnother(endpoint: GpuEndpoint, endpointID: string): boolean;
  /** Ends the reservations of an object. */
  release(uid: string): void;
};

/** Indexes by which the objects with the same target are found. */
export const claimIndexers = (clusterUID: string): Record<"endpointID" | "appName", Indexer<GpuEndpoint>> => ({
  endpointID: endpointIDsOf,
  appName: (endpoint) => [appNameOf(endpoint, clusterUID)],
});

type ClaimsDeps = Pick<ControllerDeps, "clusterUID"> & {
  accounts: Pick<ControllerDeps["accounts"], "resolve">;
};

export function createClaims(
  shared: ClaimsDeps,
  { store }: Pick<Kind<GpuEndpoint>, "store">,
  memories: Pick<EndpointMemories, "peek" | "created">,
): Claims {
  /** UID of the object that claims a target in a reconcile under way, by service and target. */
  const reserved = new Map<string, string>();
  /** What an object has reserved, by UID. */
  const keysOf = new Map<string, readonly string[]>();

  const claimantOf = (endpoint: GpuEndpoint, target: Target): Claimant | undefined => {
    const standing = standingOf(endpoint, target, memories.peek(endpoint));
    const { uid, creationTimestamp } = endpoint.metadata;
    return standing && { uid, created: creationTimestamp, standing };
  };

  /** The other objects with a claim to the target, whatever their account. */
  function rivalsOf(endpoint: GpuEndpoint, target: Target): { rival: GpuEndpoint; claimant: Claimant }[] {
    const indexed = store.byIndex(target.kind === "EndpointID" ? "endpointID" : "appName", target.value);
    // Created, and not yet written into the status.
    const created =
      target.kind === "AppName"
        ? []
        : memories.created(target.value).flatMap((endpoint) => store.get(keyOf(endpoint)) ?? []);
    const found = new Map([...indexed, ...created].map((rival) => [rival.metadata.uid, rival]));
    found.delete(endpoint.metadata.uid);
    return [...found.values()].flatMap((rival) => {
      const claimant = claimantOf(rival, target);
      return claimant === undefined ? [] : [{ rival, claimant }];
    });
  }

  /** A waiting object counts only when it may use an account of the same service; else it would block others forever. */
  async function mayUse(rival: GpuEndpoint, service: string): Promise<boolean> {
    const resolved = await shared.accounts.resolve(accountToUse(rival), rival.metadata.namespace);
    if (resolved.kind === "Usable") return serviceAddress(resolved.account.baseURL) === service;
    return resolved.kind === "Checking" && rival.status?.account !== undefined && isAt(rival, service);
  }

  async function claimTarget(endpoint: GpuEndpoint, baseURL: string, target: Target): Promise<Claimed["kind"]> {
    const { uid, creationTimestamp } = endpoint.metadata;
    const service = serviceAddress(baseURL);
    const own = claimantOf(endpoint, target) ?? { uid, created: creationTimestamp, standing: "Waiting" };
    const rivalsAhead = () => rivalsOf(endpoint, target).filter(({ claimant }) => ranksBefore(claimant, own));
    const isTaken = (ahead: ReturnType<typeof rivalsOf>) =>
      ahead.some(({ rival, claimant }) => claimant.standing !== "Waiting" && isAt(rival, service));

    const ahead = rivalsAhead();
    if (isTaken(ahead)) return "Denied";
    const waiting = ahead.filter(({ claimant }) => claimant.standing === "Waiting");
    for (const { rival } of waiting) {
      if (await mayUse(rival, service)) return "Denied";
    }

    // Another object may have been bound meanwhile. Nothing is awaited after this.
    if (waiting.length > 0 && isTaken(rivalsAhead())) return "Denied";
    if (own.standing === "Created" || own.standing === "Bound") return "Granted";
    const key = JSON.stringify([service, target.kind, target.value]);
    const holder = reserved.get(key);
    if (holder !== undefined && holder !== uid) return "Busy";
    reserved.set(key, uid);
    keysOf.set(uid, [...(keysOf.get(uid) ?? []), key]);
    return "Granted";
  }

  return {
    async claim(endpoint, baseURL) {
      const endpointID = boundID(endpoint, memories.peek(endpoint)) ?? endpoint.spec.adoption?.endpointID;
      const target: Target =
        endpointID === undefined
          ? { kind: "AppName", value: appNameOf(endpoint, shared.clusterUID) }
          : { kind: "EndpointID", value: endpointID };
      const kind = await claimTarget(endpoint, baseURL, target);
      return kind === "Denied" ? { kind, message: denial(target) } : { kind };
    },
    async claimFound(endpoint, baseURL, endpointID) {
      const kind = await claimTarget(endpoint, baseURL, { kind: "EndpointID", value: endpointID });
      const named: Target = { kind: "AppName", value: appNameOf(endpoint, shared.clusterUID) };
      return kind === "Denied" ? { kind, message: denial(named) } : { kind };
    },
    belongsToAnother(endpoint, endpointID) {
      const target: Target = { kind: "EndpointID", value: endpointID };
      const own = claimantOf(endpoint, target);
      const baseURL = endpoint.status?.account?.baseURL;
      return rivalsOf(endpoint, target).some(
        ({ rival, claimant }) =>
          (claimant.standing === "Created" || claimant.standing === "Bound") &&
          (baseURL === undefined || isAt(rival, serviceAddress(baseURL))) &&
          (own === undefined || ranksBefore(claimant, own)),
      );
    },
    release(uid) {
      for (const key of keysOf.get(uid) ?? []) reserved.delete(key);
      keysOf.delete(uid);
    },
  };
}

/** Whether `a` comes before `b`: by standing, then the older object, then the lower UID. */
export function ranksBefore(a: Claimant, b: Claimant): boolean {
  const better = STANDINGS.indexOf(a.standing) - STANDINGS.indexOf(b.standing);
  if (better !== 0) return better < 0;
  return a.created === b.created ? a.uid < b.uid : a.created < b.created;
}

/** Why an object may claim a target; undefined: it may not. */
export function standingOf(endpoint: GpuEndpoint, target: Target, entry: OpenCreate | undefined): Standing | undefined {
  const { spec, status, metadata } = endpoint;
  const bound = boundID(endpoint, entry);
  if (target.kind === "AppName") {
    // An adopted endpoint has an app name of its own. A generated name holds a hash of the UID: nobody else can have it.
    if (spec.appName === undefined) return spec.adoption === undefined ? "Generated" : undefined;
    if (bound === undefined && entry !== undefined) return "Submitting";
    if (bound === undefined && spec.adoption !== undefined) return undefined;
  } else if (bound !== undefined && bound !== target.value) {
    return undefined;
  }
  if (bound !== undefined) return status?.submission?.state === "Accepted" || entry !== undefined ? "Created" : "Bound";
  return isPaused(endpoint) || metadata.deletionTimestamp !== undefined ? undefined : "Waiting";
}

/** Whether a change of an object can free its targets for another object. */
export function freesTargets(previous: GpuEndpoint, next: GpuEndpoint): boolean {
  const [before, after] = [previous.metadata, next.metadata];
  return (
    before.uid !== after.uid ||
    (before.deletionTimestamp === undefined) !== (after.deletionTimestamp === undefined) ||
    isPaused(previous) !== isPaused(next) ||
    previous.status?.endpointID !== next.status?.endpointID
  );
}

function boundID({ status }: GpuEndpoint, entry: OpenCreate | undefined): string | undefined {
  return createdBy(entry) || status?.endpointID || undefined;
}

/** Whether the status names this service. An object without an account in its status counts as well. */
function isAt({ status }: GpuEndpoint, service: string): boolean {
  return status?.account === undefined || serviceAddress(status.account.baseURL) === service;
}

function denial({ kind, value }: Target): string {
  return kind === "EndpointID"
    ? `endpoint ID ${value} is already bound to another GpuEndpoint in this cluster: Mooring neither reads nor changes it; delete this object, or delete the other one first with deletionPolicy Retain`
    : `appName ${value} is already used by another GpuEndpoint in this cluster: Mooring neither reads nor sends anything; delete this object and create it with another appName`;
}

/** The remote endpoints that an object is bound to or adopts. */
export function endpointIDsOf({ spec, status }: GpuEndpoint): string[] {
  const ids = [status?.endpointID, spec.adoption?.endpointID];
  return ids.filter((id): id is string => id !== undefined && id !== "");
}
