import type { EndpointLimits } from "../../provider/endpoints/limits.ts";
import type { DesiredEndpoint } from "./desired.ts";
import { endpointFields } from "./fields.ts";

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
