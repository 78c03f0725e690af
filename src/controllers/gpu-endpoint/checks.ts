import type { EndpointLimits, LimitName } from "../../provider/endpoints/limits.ts";
import type { DesiredEndpoint } from "./desired.ts";

type RangeRule = { field: string; value: number; limit: LimitName };

/**
 * The fields that lie outside the account's limits (interface: Endpoint parameter limits), one sentence per field. A limit
 * that the service does not show allows every value. A suspended endpoint may have zero workers. An update does not send
 * rootfsSizeGB, so its limit counts for a create only.
 */
export function outOfRange(
  desired: DesiredEndpoint,
  { ranges }: EndpointLimits,
  suspended: boolean,
  operation: "create" | "update",
): string[] {
  const { workers, policy } = desired;
  const rules: RangeRule[] = [
    { field: "workers.idleTimeoutSeconds", value: workers.idleTimeoutSeconds, limit: "workers.idleTimeoutSeconds" },
    { field: "workers.maxConcurrency", value: workers.maxConcurrency, limit: "workers.maxConcurrency" },
    { field: "workers.gpus", value: workers.gpus, limit: "workers.gpus" },
    {
      field: "workers.requestTimeoutSeconds",
      value: workers.requestTimeoutSeconds,
      limit: "workers.requestTimeoutSeconds",
    },
    { field: "policy.value", value: policy.value, limit: `policy.${policy.type}` },
  ];
  if (operation === "create") rules.push({ field: "rootfsSizeGB", value: desired.rootfsSizeGB, limit: "rootfsSizeGB" });
  if (!suspended) {
    rules.unshift(
      { field: "workers.min", value: workers.min, limit: "workers" },
      { field: "workers.max", value: workers.max, limit: "workers" },
    );
  }
  for (const [index, volume] of desired.volumes.entries()) {
    if (volume.type !== "local") continue;
    rules.push({ field: `volumes[${index}].sizeGB`, value: volume.sizeGB, limit: "volumes.sizeGB" });
  }
  return rules.flatMap(({ field, value, limit }) => {
    const { min, max } = ranges[limit];
    const below = min !== undefined && value < min;
    const above = max !== undefined && value > max;
    return below || above ? [`${field} is ${value}, allowed is ${min ?? "any"} to ${max ?? "any"}`] : [];
  });
}
