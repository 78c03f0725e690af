import { type Account, type AccountStatus, accountSpecSchema } from "../../../src/api/v1alpha1/account.ts";
import { PENDING_STATUS } from "../../../src/api/v1alpha1/meta.ts";
import type { Probe } from "../../../src/controllers/account/probe.ts";
import { type AccountFacts, accountStatus } from "../../../src/controllers/account/status.ts";
import { START } from "../fake-clock.ts";
import { conditionsOf } from "../kstatus.ts";
import { manifest } from "../manifests.ts";
import { storedMeta } from "../stored-meta.ts";

export const probe = (change: Partial<Probe>): AccountFacts["outcome"] => ({
  kind: "Probed",
  probe: {
    state: { kind: "Ready" },
    authenticated: "True",
    reachable: "True",
    message: "",
    limits: undefined,
    againMs: 0,
    ...change,
  },
});
const held = (reason: "Unauthorized" | "Unreachable") => ({ state: { kind: "Held", reason, message: "" } }) as const;
const refused = probe({ ...held("Unauthorized"), authenticated: "False", message: "put a valid key into the Secret" });
const silent = probe({ ...held("Unreachable"), authenticated: "Unknown", reachable: "False" });
const users = { names: ["GpuEndpoint film/echo"], total: 1 };
const budget = (headroom: bigint): NonNullable<AccountFacts["budget"]> => ({
  spec: { monthlyLimit: "100", action: "HoldNew" },
  state: { kind: "Limited", headroom, message: "" },
  keys: undefined,
});

const stalledBefore: AccountStatus = {
  conditions: conditionsOf("Stalled=True/Unauthorized", PENDING_STATUS.conditions),
};

/** An account after an outcome. */
export function accountAfter(
  before: AccountStatus | undefined,
  facts: Pick<AccountFacts, "outcome"> & Partial<AccountFacts>,
): Account & { status: AccountStatus } {
  const spec = facts.budget === undefined ? {} : { budget: facts.budget.spec };
  const object: Account = {
    apiVersion: "mooring.dev/v1alpha1",
    kind: "Account",
    metadata: storedMeta({ name: "default", creationTimestamp: "2026-02-28T00:00:00Z" }),
    spec: accountSpecSchema.parse(manifest("account", spec).spec),
    ...(before === undefined ? {} : { status: before }),
  };
  const status = accountStatus({
    object,
    counts: { total: 2, managed: 1, orphaned: 1, inFlight: 0, abandoned: [] },
    users: undefined,
    handledRequest: undefined,
    spend: undefined,
    budget: undefined,
    now: START,
    ...facts,
  });
  return { ...object, status };
}

type AccountRow = [name: string, before: AccountStatus, facts: Parameters<typeof accountAfter>[1], shows: string];

/** Every state of an account, with what `shows` tells of it. */
export const ACCOUNT_STATES: AccountRow[] = [
  [
    "that can be used",
    PENDING_STATUS,
    { outcome: probe({}) },
    "Current: Authenticated=True/Authenticated Reachable=True/Reachable Ready=True/Ready",
  ],
  [
    "whose key was mended",
    stalledBefore,
    { outcome: probe({}) },
    "Current: Authenticated=True/Authenticated Reachable=True/Reachable Ready=True/Ready",
  ],
  [
    "whose key is refused",
    PENDING_STATUS,
    { outcome: refused },
    "Failed: Authenticated=False/Unauthorized Reachable=True/Reachable Ready=False/Unauthorized Stalled=True/Unauthorized",
  ],
  [
    "whose Secret is missing",
    PENDING_STATUS,
    { outcome: { kind: "NoKey", reason: "SecretNotFound", message: "" } },
    "Failed: Authenticated=Unknown/SecretNotFound Ready=False/SecretNotFound Stalled=True/SecretNotFound",
  ],
  [
    "whose service does not answer",
    PENDING_STATUS,
    { outcome: silent },
    "InProgress: Authenticated=Unknown/Pending Reachable=False/Unreachable Ready=False/Unreachable",
  ],
  [
    "that was to be mended, and does not answer now",
    stalledBefore,
    { outcome: silent },
    "InProgress: Authenticated=Unknown/Pending Reachable=False/Unreachable Ready=False/Unreachable",
  ],
  [
    "that is to go and is in use",
    PENDING_STATUS,
    { outcome: probe({}), users },
    "InProgress: Authenticated=True/Authenticated Reachable=True/Reachable Ready=False/InUse",
  ],
  [
    "within its budget",
    PENDING_STATUS,
    { outcome: probe({}), budget: budget(1n) },
    "Current: Authenticated=True/Authenticated BudgetExceeded=False/WithinBudget Reachable=True/Reachable Ready=True/Ready",
  ],
  [
    "over its budget",
    PENDING_STATUS,
    { outcome: probe({}), budget: budget(0n) },
    "Current: Authenticated=True/Authenticated BudgetExceeded=True/BudgetExceeded Reachable=True/Reachable Ready=True/Ready",
  ],
];
