import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import type { EndpointLimits, LimitName } from "../../provider/endpoints/limits.ts";
import type { DesiredEndpoint } from "./desired.ts";
import type { EndpointField, FieldPath } from "./field.ts";
import { env, port, products, volumes } from "./list-fields.ts";

type ScalarField<Value extends string | number> = {
  path: FieldPath;
  desired(desired: DesiredEndpoint): Value;
  /** undefined: the service does not show it, so it cannot differ. */
  observed(record: EndpointRecord): Value | undefined;
  /** The desired endpoint with this value. Without it, no update sends the field. */
  assign?(desired: DesiredEndpoint, value: Value): DesiredEndpoint;
  limit?(desired: DesiredEndpoint): LimitName;
  /** Default: the observed value. */
  imported?(record: EndpointRecord): unknown;
  optional?: boolean;
  zeroWhenSuspended?: boolean;
};

function scalar<Value extends string | number>(field: ScalarField<Value>): EndpointField {
  const { path, optional = false, zeroWhenSuspended = false, imported = field.observed } = field;
  return {
    path,
    optional,
    zeroWhenSuspended,
    updatable: field.assign !== undefined,
    compare(desired, record) {
      const [wanted, observed] = [field.desired(desired), field.observed(record)];
      if (observed === undefined || wanted === observed) return undefined;
      return { desired: String(wanted), observed: String(observed) };
    },
    takeOver(desired, record) {
      const observed = field.observed(record);
      return observed === undefined || field.assign === undefined ? desired : field.assign(desired, observed);
    },
    limited(desired) {
      const value = field.desired(desired);
      if (field.limit === undefined || typeof value !== "number") return [];
      return [{ path, value, limit: field.limit(desired) }];
    },
    imported,
  };
}

type WorkerSetting = keyof DesiredEndpoint["workers"];
type ShownSetting = Exclude<keyof EndpointRecord["scaling"], "minCudaVersion">;

/** A number of `workers`. `shown`: its name in a record. */
function workers(setting: WorkerSetting, shown: ShownSetting, limit: LimitName): EndpointField {
  return scalar({
    path: `workers.${setting}`,
    zeroWhenSuspended: setting === "min" || setting === "max",
    desired: (d) => d.workers[setting],
    observed: (r) => r.scaling[shown],
    assign: (d, value) => ({ ...d, workers: { ...d.workers, [setting]: value } }),
    limit: () => limit,
  });
}

/** A text that is "" at the remote where a spec lacks it. */
function optionalText(path: "command" | "registryAuthID"): EndpointField {
  return scalar({
    path,
    optional: true,
    desired: (d) => d[path],
    observed: (r) => r[path],
    assign: (d, value) => ({ ...d, [path]: value }),
    imported: (r) => r[path] || undefined,
  });
}

const policyType = scalar<string>({
  path: "policy.type",
  desired: (d) => d.policy.type,
  observed: (r) => r.policy.type,
  assign: (d, type) => (type === "queue" || type === "concurrency" ? { ...d, policy: { ...d.policy, type } } : d),
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
    desired: (d) => d.name,
    observed: (r) => r.name,
    assign: (d, name) => ({ ...d, name }),
  }),
  scalar({ path: "appName", optional: true, desired: (d) => d.appName, observed: (r) => r.appName || undefined }),
  products,
  scalar({
    path: "image",
    desired: (d) => d.image,
    observed: (r) => r.image,
    assign: (d, image) => ({ ...d, image }),
  }),
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
    desired: (d) => d.policy.value,
    observed: (r) => r.policy.value,
    assign: (d, value) => ({ ...d, policy: { ...d.policy, value } }),
    limit: (d) => `policy.${d.policy.type}` as const,
  }),
  scalar({
    path: "rootfsSizeGB",
    optional: true,
    desired: (d) => d.rootfsSizeGB,
    observed: (r) => r.rootfsSizeGB,
    limit: () => "rootfsSizeGB",
  }),
  volumes,
  scalar({
    path: "clusterID",
    optional: true,
    desired: (d) => d.clusterID,
    observed: clusterOf,
    assign: (d, clusterID) => ({ ...d, clusterID }),
    imported: (r) => r.details?.clusterID || undefined,
  }),
  env,
  scalar({
    path: "healthCheck.path",
    desired: (d) => d.healthPath,
    observed: (r) => r.healthCheck.path,
    assign: (d, healthPath) => ({ ...d, healthPath }),
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
