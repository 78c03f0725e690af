import type { AccountSpec } from "../../api/v1alpha1/account.ts";
import type { Operation, PathOverrides } from "../../provider/operations.ts";

/** What an account says of single operations, as the client and the limiter take it. */
export function callSettings({ paths, operations }: Pick<AccountSpec, "paths" | "operations">): {
  paths: PathOverrides;
  requestsPerMinute: { readonly [operation in Operation]?: number };
} {
  return {
    paths: Object.fromEntries(Object.entries(paths ?? {}).filter(([, path]) => path !== undefined)),
    requestsPerMinute: Object.fromEntries(
      (operations ?? []).map(({ operation, requestsPerMinute }) => [operation, requestsPerMinute]),
    ),
  };
}
