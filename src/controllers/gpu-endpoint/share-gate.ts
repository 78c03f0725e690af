import { type Forbidden, forbiddenInEndpoint, forbiddenRegion } from "../account/share-rules.ts";
import { shareRefusal } from "../account/shares.ts";
import type { Cause } from "../verdict.ts";
import { deletionPolicyOf } from "./desired.ts";
import { createdBy } from "./memory.ts";
import type { Step } from "./step.ts";

/** What the share of its namespace says of an endpoint. An account without shares forbids nothing. */
export type ShareGate = {
  /** Fields that ask for what the share never allows. */
  forbidden: readonly Forbidden[];
  /** Why an existing endpoint of this region may not be bound. */
  forbiddenRegion(regionID: string): readonly Forbidden[];
  /** Why a request that gives the endpoint workers waits. Judged at each call: other endpoints get workers meanwhile. */
  refusal(): Cause | undefined;
};

type GateStep = Pick<Step, "shared" | "kind" | "memories" | "endpoint" | "account">;

export async function readShare(step: GateStep): Promise<ShareGate> {
  const { endpoint, account } = step;
  const found = await account.sharing.share(endpoint.metadata.namespace);
  if (found.kind !== "Share") {
    const none = found.kind === "None" ? [{ field: "share", message: found.message }] : [];
    return { forbidden: none, forbiddenRegion: () => none, refusal: () => shareRefusal(found) };
  }
  const { share } = found;
  const retains = deletionPolicyOf(endpoint) === "Retain";
  return {
    forbidden: forbiddenInEndpoint(share, endpoint.spec, retains),
    forbiddenRegion: (regionID) => forbiddenRegion(share, regionID),
    refusal: () => workersRefusal(step, share),
  };
}

type Share = Parameters<typeof forbiddenInEndpoint>[0];
/** What an endpoint may have: its `workers.max`, and the GPUs of so many workers. */
type Capacity = { workers: number; gpus: number };

function workersRefusal(step: GateStep, { name, limits }: Share): Cause | undefined {
  const { endpoint, account } = step;
  const { maxWorkers, maxGPUs } = limits;
  if (maxWorkers === undefined && maxGPUs === undefined) return undefined;
  if (account.endpoints.observed.list() === undefined) {
    const message = `Share ${name} limits the workers of all endpoints, which are not listed yet`;
    return { reason: "ShareLimited", message };
  }
  const own = capacityOf(endpoint.spec.workers.max, endpoint.spec.workers.gpus);
  const others = capacityOfOthers(step);
  for (const [what, field] of [
    ["workers", "maxWorkers"],
    ["gpus", "maxGPUs"],
  ] as const) {
    const limit = limits[field];
    if (limit === undefined || others[what] + own[what] <= limit) continue;
    const message = `Share ${name} allows ${limit} ${what} for all endpoints (limits.${field}): others have ${others[what]}, and this one asks for ${own[what]}`;
    return { reason: "ShareLimited", message };
  }
  return undefined;
}

/** The capacity of the other endpoints of the pool: as the service shows it, or as it was asked for and is not shown yet. */
function capacityOfOthers({ kind, memories, endpoint, account }: GateStep): Capacity {
  const pools = account.sharing.pools();
  const pool = pools.get(endpoint.metadata.namespace);
  const total: Capacity = { workers: 0, gpus: 0 };
  for (const other of kind.store.byIndex("account", account.key)) {
    const { uid, namespace } = other.metadata;
    if (uid === endpoint.metadata.uid || pool === undefined || pools.get(namespace) !== pool) continue;
    if (other.spec.managementPolicy === "Observe") continue;
    const create = memories.peek(other);
    const id = createdBy(create) ?? other.status?.endpointID;
    const shown = id === undefined ? undefined : account.endpoints.observed.get(id)?.scaling;
    const sent = memories.granted(other);
    const { max, gpus } = other.spec.workers;
    if (id === undefined && create === undefined && sent === undefined) continue;
    const isUnknown = id === undefined && create !== undefined;
    const found = capacityOf(shown?.max ?? (isUnknown ? max : 0), shown?.gpus ?? gpus);
    total.workers += Math.max(found.workers, sent?.workers ?? 0);
    total.gpus += Math.max(found.gpus, sent?.gpus ?? 0);
  }
  return total;
}

export function capacityOf(workers: number, gpus: number): Capacity {
  return { workers, gpus: workers * gpus };
}
