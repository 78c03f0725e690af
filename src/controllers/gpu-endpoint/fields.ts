import {
  type DriftField,
  driftFields,
  type EndpointDrift,
  type GpuEndpointSpec,
} from "../../api/v1alpha1/gpu-endpoint.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import type { LimitName } from "../../provider/endpoints/limits.ts";
import type { EndpointSpec } from "../../provider/types.ts";
import { type EndpointField, env, type Place, port, products, scalar, volumes } from "./field.ts";

/** The spec with its references resolved and its defaults set. */
export type DesiredEndpoint = EndpointSpec;

/** A copy for the fields to write to. */
export function copyOf(desired: DesiredEndpoint): DesiredEndpoint {
  return { ...desired, workers: { ...desired.workers }, policy: { ...desired.policy } };
}

type TextKey = "name" | "appName" | "image" | "command" | "registryAuthID" | "clusterID" | "healthPath";
const text = (key: TextKey): Place<string> => ({
  read: (desired) => desired[key],
  write(desired, value) {
    desired[key] = value;
  },
});

type WorkerSetting = keyof DesiredEndpoint["workers"];
type ShownSetting = Exclude<keyof EndpointRecord["scaling"], "minCudaVersion">;

/** A number of `workers`. `shown`: its name in a record. */
function workers(setting: WorkerSetting, shown: ShownSetting, limit: LimitName): EndpointField {
  const zeroWhenSuspended = setting === "min" || setting === "max";
  return scalar({
    path: `workers.${setting}`,
    zeroWhenSuspended,
    wanted: ({ spec }) => (spec.suspend && zeroWhenSuspended ? 0 : spec.workers[setting]),
    place: {
      read: (d) => d.workers[setting],
      write(d, value) {
        d.workers[setting] = value;
      },
    },
    observed: (r) => r.scaling[shown],
    limit: () => limit,
  });
}

/** A text that is "" at the remote where a spec lacks it. */
function optionalText(path: "command" | "registryAuthID"): EndpointField {
  return scalar({
    path,
    optional: true,
    wanted: ({ spec }) => spec[path] ?? "",
    place: text(path),
    observed: (r) => r[path],
    imported: (r) => r[path] || undefined,
  });
}

const policyType = scalar<string>({
  path: "policy.type",
  wanted: ({ spec }) => spec.policy.type,
  place: {
    read: (d) => d.policy.type,
    write(d, type) {
      if (type === "queue" || type === "concurrency") d.policy.type = type;
    },
  },
  observed: (r) => r.policy.type,
});

/** The service shows the cluster only where network storage is mounted (interface: clusterID). */
function clusterOf({ volumes, details }: EndpointRecord): string | undefined {
  return volumes.some(({ type }) => type === "network") ? details?.clusterID || undefined : undefined;
}

/** Every field that the remote can show, in the order of the API's documentation. */
export const endpointFields: readonly EndpointField[] = [
  scalar({
    path: "name",
    optional: true,
    wanted: ({ spec, name }) => spec.name ?? name,
    place: text("name"),
    observed: (r) => r.name,
  }),
  scalar({
    path: "appName",
    optional: true,
    createOnly: true,
    wanted: ({ appName }) => appName,
    place: text("appName"),
    observed: (r) => r.appName || undefined,
  }),
  products,
  scalar({ path: "image", wanted: ({ spec }) => spec.image, place: text("image"), observed: (r) => r.image }),
  optionalText("command"),
  optionalText("registryAuthID"),
  port,
  workers("min", "min", "workers"),
  workers("max", "max", "workers"),
  workers("idleTimeoutSeconds", "idleTimeout", "workers.idleTimeoutSeconds"),
  workers("maxConcurrency", "maxConcurrency", "workers.maxConcurrency"),
  workers("gpus", "gpus", "workers.gpus"),
  workers("requestTimeoutSeconds", "requestTimeout", "workers.requestTimeoutSeconds"),
  policyType,
  scalar({
    path: "policy.value",
    wanted: ({ spec }) => spec.policy.value,
    place: {
      read: (d) => d.policy.value,
      write(d, value) {
        d.policy.value = value;
      },
    },
    observed: (r) => r.policy.value,
    limit: (d) => `policy.${d.policy.type}` as const,
  }),
  scalar({
    path: "rootfsSizeGB",
    optional: true,
    createOnly: true,
    wanted: ({ spec }) => spec.rootfsSizeGB,
    place: {
      read: (d) => d.rootfsSizeGB,
      write(d, value) {
        d.rootfsSizeGB = value;
      },
    },
    observed: (r) => r.rootfsSizeGB,
    limit: () => "rootfsSizeGB",
  }),
  volumes,
  scalar({
    path: "clusterID",
    optional: true,
    wanted: ({ spec }) => spec.clusterID ?? "",
    place: text("clusterID"),
    observed: clusterOf,
    imported: (r) => r.details?.clusterID || undefined,
  }),
  env,
  scalar({
    path: "healthCheck.path",
    wanted: ({ spec }) => spec.healthCheck.path,
    place: text("healthPath"),
    observed: (r) => r.healthCheck.path,
  }),
];

export type Difference = EndpointDrift & {
  field: DriftField;
  /** Whether the update operation can change it. */
  remediable: boolean;
};

/** An adopted endpoint keeps its own app name. */
export const ADOPTED_KEEP: readonly DriftField[] = ["appName"];

const WORKER_FIELDS = driftFields.filter((field) => field.startsWith("workers."));
const SUSPENDED_FIELDS = endpointFields.flatMap(({ path, zeroWhenSuspended }) => (zeroWhenSuspended ? [path] : []));

/**
 * Fields that another party owns. `suspend` sets the number of workers, whoever owns it otherwise, until the remote was
 * given its workers again (`resuming`).
 */
export function ignoredFields(spec: GpuEndpointSpec, resuming = false): DriftField[] {
  const theirs = spec.ignoreDrift ?? [];
  const adopted = spec.adoption === undefined ? [] : ADOPTED_KEEP;
  if (!spec.suspend && !resuming) return [...theirs, ...adopted];
  const scaled: readonly DriftField[] = ["workers", ...SUSPENDED_FIELDS];
  const others = theirs.includes("workers") ? WORKER_FIELDS.filter((field) => !scaled.includes(field)) : [];
  return [...theirs.filter((field) => !scaled.includes(field)), ...others, ...adopted];
}

/** Whether one of `paths` is the field or its parent. */
function covers(paths: readonly DriftField[], field: DriftField): boolean {
  for (const path of paths) if (field === path || field.startsWith(`${path}.`)) return true;
  return false;
}

/**
 * Where the remote differs from the spec, after normalising: absent is empty, order matters only where it has a
 * meaning. A field whose path, or whose parent's path, is in `ignored` belongs to another party.
 */
export function differences(
  desired: DesiredEndpoint,
  record: EndpointRecord,
  ignored: readonly DriftField[] = [],
): Difference[] {
  const differing: Difference[] = [];
  for (const field of endpointFields) {
    if (covers(ignored, field.path)) continue;
    const texts = field.compare(desired, record);
    if (texts !== undefined) differing.push({ field: field.path, ...texts, remediable: field.createOnly !== true });
  }
  return differing;
}

/** The fields that an update has to change. */
export function remediableFields(differing: readonly Difference[]): DriftField[] {
  return differing.flatMap(({ field, remediable }) => (remediable ? [field] : []));
}

/** The fields that make the remote endpoint cost more, and are higher in the spec. */
export function raisedFields({ workers }: DesiredEndpoint, { scaling }: EndpointRecord): DriftField[] {
  const raised = (["min", "max", "gpus"] as const).filter((name) => workers[name] > (scaling[name] ?? workers[name]));
  return raised.map((name) => `workers.${name}` as const);
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
  const sent = copyOf(desired);
  for (const field of endpointFields) if (covers(ignored, field.path)) field.takeOver(sent, record);
  return sent;
}
