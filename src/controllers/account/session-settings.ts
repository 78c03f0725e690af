import type { LookupFunction } from "node:net";
import { parseDuration } from "../../api/schema/duration.ts";
import { type Account, type AccountSpec, type ClusterAccount, LONGEST_REQUEST } from "../../api/v1alpha1/account.ts";
import { serviceAddress } from "../../base/service-address.ts";
import type { BillingSettings } from "../../provider/money/spend.ts";
import type { SessionOptions } from "../../provider/session.ts";

/** A shorter `endpoints.syncInterval` counts as this: each list costs memory and time that all accounts share. */
const SHORTEST_SYNC_MS = 1_000;

type Spec = Omit<AccountSpec, "apiKeySecretRef">;

/** What an Account's spec says of its session. A change of one of these fields replaces the session. */
export function sessionSettings(
  spec: Spec,
  apiKey: () => string,
  lookup: LookupFunction | undefined,
): Pick<SessionOptions, "connection" | "rate"> & {
  endpoints: Omit<SessionOptions["endpoints"], "wanted" | "detailsWanted" | "expected">;
} {
  const { generation, pageSize, syncInterval, deleteOperation } = spec.endpoints;
  const paths = Object.entries(spec.paths ?? {}).filter(([, path]) => path !== undefined);
  return {
    connection: {
      baseURL: serviceAddress(spec.baseURL),
      apiKey,
      // An object that was stored before the limit can have a longer one.
      requestTimeoutMs: Math.min(parseDuration(spec.requestTimeout), parseDuration(LONGEST_REQUEST)),
      lookup,
      paths: Object.fromEntries(paths),
      deleteOperation,
    },
    rate: {
      ...spec.rateLimit,
      requestsPerMinute: Object.fromEntries(
        (spec.operations ?? []).map(({ operation, requestsPerMinute }) => [operation, requestsPerMinute]),
      ),
    },
    endpoints: { generation, pageSize, intervalMs: Math.max(SHORTEST_SYNC_MS, parseDuration(syncInterval)) },
  };
}

export function billingSettings({ interval, timeZone, settleTime, products }: AccountSpec["billing"]): BillingSettings {
  return { intervalMs: parseDuration(interval), timeZone, settleMs: parseDuration(settleTime), products };
}

/** The fields of a spec whose change replaces the handle. */
export function settingsOf(spec: Account["spec"] | ClusterAccount["spec"]): string {
  const { budget: _budget, billing: _billing, apiKeySecretRef: _ref, ...others } = spec;
  const { spending: _spending, shares: _shares, ...relevant }: typeof others & SharedFields = others;
  return JSON.stringify({ ...relevant, baseURL: serviceAddress(spec.baseURL) });
}

export const specVersion = ({ metadata }: Account | ClusterAccount): string => `${metadata.uid}/${metadata.generation}`;

/** Fields of a ClusterAccount whose change does not replace its handle. */
type SharedFields = Partial<Pick<ClusterAccount["spec"], "spending" | "shares">>;

export function sharedFieldsOf(spec: Account["spec"] | ClusterAccount["spec"]): SharedFields {
  return "allowedNamespaces" in spec || "spending" in spec || "shares" in spec ? spec : {};
}
