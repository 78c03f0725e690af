import {
  DEFAULT_LOCAL_VOLUME_GB,
  type DriftField,
  driftFields,
  type EndpointDrift,
  type GpuEndpointSpec,
} from "../../api/v1alpha1/gpu-endpoint.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import type { EndpointVolume } from "../../provider/types.ts";
import type { DesiredEndpoint } from "./desired.ts";

export type Difference = EndpointDrift & {
  field: DriftField;
  /** Whether the update operation can change it. */
  remediable: boolean;
};

type Value = string | number | undefined;
type FieldRule = {
  field: DriftField;
  remediable: boolean;
  desired: (desired: DesiredEndpoint) => Value;
  /** undefined: the service does not show it, so it cannot differ. */
  observed: (record: EndpointRecord) => Value;
};

const rule = (
  field: DriftField,
  desired: FieldRule["desired"],
  observed: FieldRule["observed"],
  remediable = true,
): FieldRule => ({ field, desired, observed, remediable });

/** One line per row of the field table in the API's documentation; lists are compared below. */
const FIELDS: readonly FieldRule[] = [
  rule(
    "name",
    (d) => d.name,
    (r) => r.name,
  ),
  rule(
    "appName",
    (d) => d.appName,
    (r) => r.appName || undefined,
    false,
  ),
  rule(
    "image",
    (d) => d.image,
    (r) => r.image,
  ),
  rule(
    "command",
    (d) => d.command,
    (r) => r.command,
  ),
  rule(
    "registryAuthID",
    (d) => d.registryAuthID,
    (r) => r.registryAuthID,
  ),
  rule(
    "port",
    (d) => d.port,
    (r) => (r.ports.length > 1 ? r.ports.join(", ") : r.ports[0]),
  ),
  rule(
    "workers.min",
    (d) => d.workers.min,
    (r) => r.scaling.min,
  ),
  rule(
    "workers.max",
    (d) => d.workers.max,
    (r) => r.scaling.max,
  ),
  rule(
    "workers.idleTimeoutSeconds",
    (d) => d.workers.idleTimeoutSeconds,
    (r) => r.scaling.idleTimeout,
  ),
  rule(
    "workers.maxConcurrency",
    (d) => d.workers.maxConcurrency,
    (r) => r.scaling.maxConcurrency,
  ),
  rule(
    "workers.gpus",
    (d) => d.workers.gpus,
    (r) => r.scaling.gpus,
  ),
  rule(
    "workers.requestTimeoutSeconds",
    (d) => d.workers.requestTimeoutSeconds,
    (r) => r.scaling.requestTimeout,
  ),
  rule(
    "policy.type",
    (d) => d.policy.type,
    (r) => r.policy.type,
  ),
  rule(
    "policy.value",
    (d) => d.policy.value,
    (r) => r.policy.value,
  ),
  rule(
    "rootfsSizeGB",
    (d) => d.rootfsSizeGB,
    (r) => r.rootfsSizeGB,
    false,
  ),
  rule(
    "clusterID",
    (d) => d.clusterID,
    (r) => clusterOf(r),
  ),
  rule(
    "healthCheck.path",
    (d) => d.healthPath,
    (r) => r.healthCheck.path,
  ),
];

/** An adopted endpoint keeps its own app name. */
export const ADOPTED_KEEP: readonly DriftField[] = ["appName"];

/**
 * Fields that another party owns. `suspend` is our word on the number of workers, whoever owns it otherwise, and so is
 * the way back.
 */
export function ignoredFields(spec: GpuEndpointSpec, resuming = false): DriftField[] {
  const theirs = spec.ignoreDrift ?? [];
  const adopted = spec.adoption === undefined ? [] : ADOPTED_KEEP;
  if (!spec.suspend && !resuming) return [...theirs, ...adopted];
  const scaled: readonly DriftField[] = ["workers", "workers.min", "workers.max"];
  const others = theirs.includes("workers") ? WORKER_FIELDS.filter((field) => !scaled.includes(field)) : [];
  return [...theirs.filter((field) => !scaled.includes(field)), ...others, ...adopted];
}

const WORKER_FIELDS = driftFields.filter((field) => field.startsWith("workers."));

/**
 * Where the remote differs from the spec, after normalising: absent is empty, order matters only where it has a
 * meaning. A field whose path, or whose parent's path, is in `ignored` belongs to another party.
 */
export function differences(
  desired: DesiredEndpoint,
  record: EndpointRecord,
  ignored: readonly DriftField[] = [],
): Difference[] {
  const found: Difference[] = [];
  for (const { field, remediable, desired: want, observed: have } of FIELDS) {
    const wanted = want(desired);
    const observed = have(record);
    if (observed === undefined || wanted === observed) continue;
    found.push({ field, desired: String(wanted), observed: String(observed), remediable });
  }
  // The service may show one product, or all of them.
  const products = [...new Set([record.productID, ...(record.details?.products ?? [])])].filter((id) => id !== "");
  if (products.some((id) => !desired.products.includes(id))) {
    found.push({
      field: "products",
      desired: desired.products.join(", "),
      observed: products.join(", "),
      remediable: false,
    });
  }
  const volumes = volumesDifference(desired, record);
  if (volumes !== undefined) found.push(volumes);
  const env = envDifference(desired, record);
  if (env !== undefined) found.push(env);
  return found.filter(({ field }) => !ignored.some((path) => field === path || field.startsWith(`${path}.`)));
}

/**
 * The desired endpoint with the fields of another party taken from the remote: an update names every parameter, and
 * must not overwrite theirs.
 */
export function withIgnored(
  desired: DesiredEndpoint,
  record: EndpointRecord,
  ignored: readonly DriftField[],
): DesiredEndpoint {
  const owns = (field: DriftField) => ignored.some((path) => field === path || field.startsWith(`${path}.`));
  const { scaling: observed } = record;
  const keep = <T>(field: DriftField, wanted: T, theirs: T | undefined): T =>
    owns(field) && theirs !== undefined ? theirs : wanted;
  return {
    ...desired,
    name: keep("name", desired.name, record.name),
    image: keep("image", desired.image, record.image),
    command: keep("command", desired.command, record.command),
    registryAuthID: keep("registryAuthID", desired.registryAuthID, record.registryAuthID),
    port: keep("port", desired.port, record.ports[0]),
    workers: {
      min: keep("workers.min", desired.workers.min, observed.min),
      max: keep("workers.max", desired.workers.max, observed.max),
      idleTimeoutSeconds: keep("workers.idleTimeoutSeconds", desired.workers.idleTimeoutSeconds, observed.idleTimeout),
      maxConcurrency: keep("workers.maxConcurrency", desired.workers.maxConcurrency, observed.maxConcurrency),
      gpus: keep("workers.gpus", desired.workers.gpus, observed.gpus),
      requestTimeoutSeconds: keep(
        "workers.requestTimeoutSeconds",
        desired.workers.requestTimeoutSeconds,
        observed.requestTimeout,
      ),
    },
    policy: {
      type: owns("policy.type") ? policyType(record.policy.type, desired.policy.type) : desired.policy.type,
      value: keep("policy.value", desired.policy.value, record.policy.value),
    },
    clusterID: keep("clusterID", desired.clusterID, clusterOf(record)),
    env: owns("env") ? record.envs.map(({ key, value }) => ({ name: key, value, secret: true })) : desired.env,
    volumes: owns("volumes") ? record.volumes.flatMap(volumeOf) : desired.volumes,
    healthPath: keep("healthCheck.path", desired.healthPath, record.healthCheck.path),
  };
}

function policyType(observed: string, wanted: DesiredEndpoint["policy"]["type"]): DesiredEndpoint["policy"]["type"] {
  return observed === "queue" || observed === "concurrency" ? observed : wanted;
}

function volumeOf(volume: EndpointRecord["volumes"][number]): EndpointVolume[] {
  if (volume.type === "network") return [{ type: "network", id: volume.id, mountPath: volume.mountPath }];
  if (volume.type !== "local") return [];
  return [{ type: "local", mountPath: volume.mountPath, sizeGB: volume.sizeGB ?? DEFAULT_LOCAL_VOLUME_GB }];
}

/** Only where network storage is mounted is its cluster shown (interface: clusterID); otherwise it cannot differ. */
function clusterOf(record: EndpointRecord): string | undefined {
  return record.volumes.some(({ type }) => type === "network") ? record.details?.clusterID || undefined : undefined;
}

/** Order has no meaning. A size that this read does not show cannot differ. */
function volumesDifference(desired: DesiredEndpoint, record: EndpointRecord): Difference | undefined {
  const shown = new Map(record.volumes.map((volume) => [volume.mountPath, volume.sizeGB]));
  const wanted = desired.volumes.map((volume) => {
    if (volume.type === "network") return volumeText(volume);
    const sizeGB = shown.has(volume.mountPath) && shown.get(volume.mountPath) === undefined ? undefined : volume.sizeGB;
    return volumeText({ ...volume, sizeGB });
  });
  const observed = record.volumes.map(volumeText);
  const want = wanted.sort().join("; ");
  const have = observed.sort().join("; ");
  if (want === have) return undefined;
  return { field: "volumes", desired: want.slice(0, 4096), observed: have.slice(0, 4096), remediable: true };
}

function volumeText(volume: { type: string; id?: string; sizeGB?: number | undefined; mountPath: string }): string {
  if (volume.type === "network") return `network ${volume.id} at ${volume.mountPath}`;
  return `${volume.type} at ${volume.mountPath}${volume.sizeGB === undefined ? "" : ` ${volume.sizeGB} GB`}`;
}

/**
 * Names the variables that differ, and never a value: what the remote holds may be anybody's secret, and so may what a spec
 * gives in plain text.
 */
function envDifference(desired: DesiredEndpoint, record: EndpointRecord): Difference | undefined {
  const wanted = new Map(desired.env.map(({ name, value }) => [name, value]));
  const observed = new Map(record.envs.map(({ key, value }) => [key, value]));
  const names = [...new Set([...wanted.keys(), ...observed.keys()])].sort();
  const differing = names.filter((name) => wanted.get(name) !== observed.get(name));
  if (differing.length === 0) return undefined;
  const show = (values: ReadonlyMap<string, string>) =>
    differing
      .map((name) => (values.has(name) ? `${name}=(hidden)` : `${name} absent`))
      .join(", ")
      .slice(0, 4096);
  return { field: "env", desired: show(wanted), observed: show(observed), remediable: true };
}
