import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import type { EndpointLimits, LimitName } from "../../provider/endpoints/limits.ts";
import type { EndpointSpec as DesiredEndpoint } from "../../provider/types.ts";
import type { DesiredSource, EndpointField, FieldPath } from "./field.ts";
import { env, port, products, volumes } from "./list-fields.ts";

/** Where a desired endpoint holds a value. */
type Place<Value> = {
  read(desired: DesiredEndpoint): Value;
  /** The desired endpoint with this value; unchanged when the value cannot be sent. */
  write(desired: DesiredEndpoint, value: Value): DesiredEndpoint;
};

type ScalarField<Value extends string | number> = {
  path: FieldPath;
  /** The value of the spec, or its default. */
  wanted(source: DesiredSource): Value;
  place: Place<Value>;
  /** undefined: the service does not show it, so it cannot differ. */
  observed(record: EndpointRecord): Value | undefined;
  limit?(desired: DesiredEndpoint): LimitName;
  /** Default: the observed value. */
  imported?(record: EndpointRecord): unknown;
  /** Default false. */
  optional?: boolean;
  /** Default true. */
  updatable?: boolean;
  /** Default false. */
  zeroWhenSuspended?: boolean;
};

function scalar<Value extends string | number>(field: ScalarField<Value>): EndpointField {
  const { path, place, wanted, observed, limit } = field;
  const { optional = false, updatable = true, zeroWhenSuspended = false, imported = observed } = field;
  return {
    path,
    optional,
    zeroWhenSuspended,
    updatable,
    build: (desired, source) => place.write(desired, wanted(source)),
    sent: place.read,
    compare(desired, record) {
      const [value, shown] = [place.read(desired), observed(record)];
      if (shown === undefined || value === shown) return undefined;
      return { desired: String(value), observed: String(shown) };
    },
    takeOver(desired, record) {
      const shown = observed(record);
      return shown === undefined || !updatable ? desired : place.write(desired, shown);
    },
    limited(desired) {
      const value = place.read(desired);
      if (limit === undefined || typeof value !== "number") return [];
      return [{ path, value, limit: limit(desired) }];
    },
    imported,
  };
}

type TextKey = "name" | "appName" | "image" | "command" | "registryAuthID" | "clusterID" | "healthPath";
const text = (key: TextKey): Place<string> => ({
  read: (desired) => desired[key],
  write: (desired, value) => ({ ...desired, [key]: value }),
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
      write: (d, value) => ({ ...d, workers: { ...d.workers, [setting]: value } }),
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
    write: (d, type) => (type === "queue" || type === "concurrency" ? { ...d, policy: { ...d.policy, type } } : d),
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
    updatable: false,
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
      write: (d, value) => ({ ...d, policy: { ...d.policy, value } }),
    },
    observed: (r) => r.policy.value,
    limit: (d) => `policy.${d.policy.type}` as const,
  }),
  scalar({
    path: "rootfsSizeGB",
    optional: true,
    updatable: false,
    wanted: ({ spec }) => spec.rootfsSizeGB,
    place: { read: (d) => d.rootfsSizeGB, write: (d, rootfsSizeGB) => ({ ...d, rootfsSizeGB }) },
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

/**
 * The fields that lie outside the account's limits (interface: Endpoint parameter limits), one sentence per field. A limit
 * that the service does not show allows every value. A suspended endpoint may have zero workers. The limit of a field that
 * an update does not send counts for a create only.
 */
export function outOfRange(
  desired: DesiredEndpoint,
  { ranges }: EndpointLimits,
  suspended: boolean,
  operation: "create" | "update",
): string[] {
  const sent = endpointFields.filter(({ updatable }) => operation === "create" || updatable);
  const limited = sent.filter(({ zeroWhenSuspended }) => !suspended || !zeroWhenSuspended);
  return limited
    .flatMap((field) => field.limited(desired))
    .flatMap(({ path, value, limit }) => {
      const { min, max } = ranges[limit];
      const below = min !== undefined && value < min;
      const above = max !== undefined && value > max;
      return below || above ? [`${path} is ${value}, allowed is ${min ?? "any"} to ${max ?? "any"}`] : [];
    });
}
