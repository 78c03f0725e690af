import type { AccountShare } from "../../api/v1alpha1/account-shares.ts";
import type { GpuEndpointSpec } from "../../api/v1alpha1/gpu-endpoint.ts";
import { formatYuan, type Money, parseYuan } from "../../base/money.ts";
import { OPERATIONS } from "../../provider/operations.ts";
import { type Job, paidOperation } from "../jobs/types.ts";
import type { Cause } from "../verdict.ts";

/** A field that asks for what a share never allows. `message`: the field, the value, what is allowed, and what to do. */
export type Forbidden = { field: string; message: string };

/** Longest list of allowed values in a message. */
const SHOWN_VALUES = 10;

/** What a share never allows of a job, whoever runs and whatever is left. */
export function forbiddenInJob(share: AccountShare, job: Job): Forbidden[] {
  const { model = "" } = OPERATIONS[paidOperation(job)];
  const models = share.limits.models;
  const found: Forbidden[] = [];
  if (models !== undefined && !models.some((one) => one === model)) {
    found.push(refused(share, { field: "model", value: model, list: "limits.models", allowed: models }));
  }
  if (share.requireMaxCost && job.spec.maxCost === undefined) {
    const message = `share ${share.name} requires maxCost (requireMaxCost), and the job has none: create it again with maxCost`;
    found.push({ field: "maxCost", message });
  }
  const voices = voicesOf(job).flatMap(({ field, value }) => notAllowed(share, field, value, "voices"));
  return [...found, ...voices];
}

function voicesOf({ spec }: Job): { field: string; value: string }[] {
  if (!("voiceSetting" in spec)) return [];
  const { voiceSetting, timbreWeights = [] } = spec;
  const own =
    voiceSetting.voiceID === undefined ? [] : [{ field: "voiceSetting.voiceID", value: voiceSetting.voiceID }];
  return [...own, ...timbreWeights.map(({ voiceID }) => ({ field: "timbreWeights[].voiceID", value: voiceID }))];
}

/** What a share never allows of an endpoint. `retains`: its remote endpoint outlives the object. */
export function forbiddenInEndpoint(share: AccountShare, spec: GpuEndpointSpec, retains: boolean): Forbidden[] {
  const { products: allowed } = share.limits;
  const products = spec.products.flatMap(({ id }) =>
    allowed === undefined || allowed.includes(id)
      ? []
      : [refused(share, { field: "products", value: id, list: "limits.products", allowed })],
  );
  const { volumes = [], registryAuthID, clusterID } = spec;
  const networks = volumes.flatMap((volume) => (volume.type === "network" ? [volume.id] : []));
  return [
    ...products,
    ...networks.flatMap((id) => notAllowed(share, "volumes", id, "volumes")),
    ...(registryAuthID === undefined ? [] : notAllowed(share, "registryAuthID", registryAuthID, "registryAuths")),
    ...(clusterID === undefined ? [] : notAllowed(share, "clusterID", clusterID, "clusters")),
    ...tooManyWorkers(share, spec),
    ...(retains ? retention(share) : []),
  ];
}

/** Why an existing endpoint of this region may not be bound. An endpoint that shows no region may. */
export function forbiddenRegion(share: AccountShare, regionID: string): Forbidden[] {
  return regionID === "" ? [] : notAllowed(share, "region", regionID, "regions");
}

/** Why a job of this cost fits into no day or month. */
export function forbiddenCost(share: AccountShare, cost: Money | undefined): Cause | undefined {
  for (const field of ["dailyLimit", "monthlyLimit"] as const) {
    const limit = share.limits[field];
    if (limit === undefined || cost === undefined || cost <= parseYuan(limit)) continue;
    const message = `The job would cost about ${formatYuan(cost)} yuan, and share ${share.name} allows ${limit} (limits.${field}): create a smaller job`;
    return { reason: "NotAllowedByShare", message };
  }
  return undefined;
}

export function forbiddenCause(forbidden: readonly Forbidden[]): Cause | undefined {
  if (forbidden.length === 0) return undefined;
  return { reason: "NotAllowedByShare", message: forbidden.map(({ message }) => message).join("; ") };
}

function tooManyWorkers(share: AccountShare, { suspend, workers: { max, gpus } }: GpuEndpointSpec): Forbidden[] {
  const { maxWorkers, maxGPUs } = share.limits;
  const found: Forbidden[] = [];
  const add = (what: string, value: number, field: string, limit: number) => {
    const message = `${what} is ${value}, and share ${share.name} allows ${limit} for all endpoints (limits.${field}): lower it`;
    found.push({ field: "workers.max", message });
  };
  if (suspend) return found;
  if (maxWorkers !== undefined && max > maxWorkers) add("workers.max", max, "maxWorkers", maxWorkers);
  if (maxGPUs !== undefined && max * gpus > maxGPUs)
    add("workers.max times workers.gpus", max * gpus, "maxGPUs", maxGPUs);
  return found;
}

/** What nobody counts any more would exceed the limit. */
function retention({ name, limits: { maxWorkers, maxGPUs } }: AccountShare): Forbidden[] {
  if (maxWorkers === undefined && maxGPUs === undefined) return [];
  const message = `deletionPolicy is Retain, and share ${name} limits the workers of all endpoints: use ScaleToZero or Delete`;
  return [{ field: "deletionPolicy", message }];
}

type NameList = keyof AccountShare["allowed"];

function notAllowed(share: AccountShare, field: string, value: string, list: NameList): Forbidden[] {
  const allowed = share.allowed[list] ?? [];
  const matches = (one: string) => (one.endsWith("*") ? value.startsWith(one.slice(0, -1)) : value === one);
  return allowed.some(matches) ? [] : [refused(share, { field, value, list: `allowed.${list}`, allowed })];
}

type Refusal = { field: string; value: string; list: string; allowed: readonly string[] };

function refused(share: AccountShare, { field, value, list, allowed }: Refusal): Forbidden {
  const shown = allowed.slice(0, SHOWN_VALUES).join(", ");
  const more = allowed.length > SHOWN_VALUES ? ` and ${allowed.length - SHOWN_VALUES} more` : "";
  const what = allowed.length === 0 ? "none" : `${shown}${more}`;
  return { field, message: `${field} is ${value}, and share ${share.name} allows ${what} (${list}): change it` };
}
