import { describe, expect, it } from "vitest";
import { type ClusterAccount, clusterAccountSpecSchema } from "../../../../src/api/v1alpha1/account.ts";
import { withoutAmounts } from "../../../../src/controllers/account/budget.ts";
import { reportableKeys } from "../../../../src/controllers/account/namespaces.ts";
import { accountStatus } from "../../../../src/controllers/account/status.ts";
import { START } from "../../../support/fake-clock.ts";
import { storedMeta } from "../../../support/stored-meta.ts";

const specOf = (spending?: object) =>
  clusterAccountSpecSchema.parse({
    baseURL: "https://api.example.com",
    apiKeySecretRef: { namespace: "platform", name: "key", key: "apiKey" },
    budget: { monthlyLimit: "5" },
    ...(spending === undefined ? {} : { spending }),
  });

describe("the API keys that BillReports of a namespace cover", () => {
  const film = { namespaces: { matchLabels: { team: "film" } }, keyIDs: ["key-film", "key-shared"] };
  const sound = { namespaces: { matchLabels: { team: "sound" } }, keyIDs: ["key-sound"] };
  const finance = { namespaces: { matchLabels: { role: "finance" } } };

  it.each([
    ["none without spending", undefined, { team: "film" }, []],
    ["none without an entry", { reports: [] }, { team: "film" }, []],
    ["none for a namespace that no entry selects", { reports: [film, sound] }, { team: "other" }, []],
    ["those of the entry", { reports: [film, sound] }, { team: "film" }, ["key-film", "key-shared"]],
    ["none of an entry with an empty list", { reports: [{ ...film, keyIDs: [] }] }, { team: "film" }, []],
  ] as const)("are %s", (_name, spending, labels, keyIDs) => {
    expect(reportableKeys(specOf(spending).spending, labels)).toEqual({ kind: "Keys", keyIDs });
  });

  it("are all with an entry without keyIDs, and an empty selector selects every namespace", () => {
    const { spending } = specOf({ reports: [film, finance] });
    expect(reportableKeys(spending, { role: "finance", team: "film" })).toEqual({ kind: "All" });
    expect(reportableKeys(specOf({ reports: [{ namespaces: {} }] }).spending, {})).toEqual({ kind: "All" });
  });

  it("with show OwnShare covers no bill, unless another entry covers bills", () => {
    const everyone = { namespaces: {}, show: "OwnShare" };
    const film = { namespaces: { matchLabels: { team: "film" } }, keyIDs: ["key-film"] };
    const { spending } = specOf({ reports: [everyone, film] });
    expect(reportableKeys(spending, {})).toEqual({ kind: "OwnShare" });
    expect(reportableKeys(spending, { team: "film" })).toEqual({ kind: "Keys", keyIDs: ["key-film"] });
    const empty = specOf({ reports: [everyone, { namespaces: {}, keyIDs: [] }] });
    expect(reportableKeys(empty.spending, {})).toEqual({ kind: "OwnShare" });
  });
});

/** The status of a ClusterAccount that showed its spending before. */
function statusOf(spending?: object) {
  const object: ClusterAccount = {
    apiVersion: "mooring.dev/v1alpha1",
    kind: "ClusterAccount",
    metadata: storedMeta({ name: "shared" }),
    spec: specOf(spending),
    status: { conditions: [], spend: { month: "1" }, budgets: [{ keyID: "theirs", type: "One-time" }] },
  };
  const spend = {
    day: 1n,
    week: 1n,
    month: 20_000n,
    unreadable: 0,
    byCategory: new Map(),
    monthStart: 0,
    atMs: START,
  };
  return accountStatus({
    object,
    outcome: { kind: "NoKey", reason: "SecretNotFound", message: "" },
    counts: { total: 0, managed: 0, orphaned: 0, inFlight: 0, abandoned: [] },
    users: undefined,
    handledRequest: undefined,
    spend,
    budget: undefined,
    now: START,
  });
}

it("the status of a ClusterAccount shows no spending and no key budgets, unless its administrator wants it", () => {
  expect(statusOf()).not.toHaveProperty("spend");
  expect(statusOf()).not.toHaveProperty("budgets");
  expect(statusOf({ showInStatus: true })).toMatchObject({ spend: { month: "2" }, budgets: [{ keyID: "theirs" }] });
});

it("a message without amounts names no key and no amount", () => {
  const state = { kind: "Limited", headroom: 0n, message: "Key theirs has 0 yuan left" } as const;
  expect(withoutAmounts(state, "ClusterAccount shared").message).toBe(
    "The budget is exceeded; ClusterAccount shared does not show amounts (spending.showInStatus)",
  );
  expect(withoutAmounts({ ...state, headroom: 1n }, "ClusterAccount shared").message).toBe(
    "ClusterAccount shared does not show amounts (spending.showInStatus)",
  );
});
