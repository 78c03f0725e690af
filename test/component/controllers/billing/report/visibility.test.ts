import { describe, expect, it } from "vitest";
import {
  type BillReport,
  type BillReportSpec,
  type BillReportStatus,
  billReportSpecSchema,
} from "../../../../../src/api/v1alpha1/bill-report.ts";
import { getCondition } from "../../../../../src/api/v1alpha1/conditions.ts";
import { billReportResource } from "../../../../../src/api/v1alpha1/kinds.ts";
import type { ReportableKeys } from "../../../../../src/controllers/account/namespaces.ts";
import { createAccountRegistry } from "../../../../../src/controllers/account/registry.ts";
import { createStoreRegistry } from "../../../../../src/controllers/artifact-store/registry.ts";
import { createBillReportReconciler } from "../../../../../src/controllers/billing/report/controller.ts";
import type { Usage } from "../../../../../src/controllers/billing/usage.ts";
import { createKind } from "../../../../../src/controllers/controller-deps.ts";
import { createStore } from "../../../../../src/runtime/store.ts";
import { billOf } from "../../../../support/bills.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import { manifest } from "../../../../support/manifests.ts";
import { scriptedApi, silentLog } from "../../../../support/scripted-api-server.ts";
import { accountAt } from "../../../../support/service-account.ts";
import { sharedOf } from "../../../../support/shared.ts";
import { storedMeta } from "../../../../support/stored-meta.ts";

const ALL: ReportableKeys = { kind: "All" };
const keysOf = (...keyIDs: string[]): ReportableKeys => ({ kind: "Keys", keyIDs });
const used = (namespace: string, quantity: number): Usage => ({
  account: "ClusterAccount/shared",
  namespace,
  object: "GpuEndpoint/chat",
  created: Date.parse("2026-01-01T00:00:00Z") / 1000,
  meter: "product/product-1",
  day: "2026-01-01",
  quantity,
  requests: 0,
});
/** The last one is of an endpoint that no object owns. */
const usage = [used("team", 20), used("other-team", 30), used("", 50)];
const bills = [
  billOf({ ownerID: "ours", apikeyName: "ours", amount: "10000", payAmount: "10000" }),
  billOf({ ownerID: "theirs", apikeyName: "theirs", amount: "20000", payAmount: "20000" }),
];

/** A BillReport of January 2026 through a ClusterAccount with the bills of two API keys. */
async function setUp(reportable: ReportableKeys, change: Partial<BillReportSpec> = {}) {
  const kind = { resource: billReportResource, store: createStore<BillReport>() };
  kind.store.upsert({
    apiVersion: "mooring.dev/v1alpha1",
    kind: "BillReport",
    metadata: storedMeta({ name: "january" }),
    spec: billReportSpecSchema.parse({
      ...manifest("bill").spec,
      accountRef: { kind: "ClusterAccount", name: "shared" },
      lastDays: undefined,
      startTime: "2026-01-01T00:00:00Z",
      endTime: "2026-02-01T00:00:00Z",
      ...change,
    }),
  });
  const stored = () => {
    const report = kind.store.get("team/january");
    if (report === undefined) throw new Error("no report");
    return report;
  };
  const namespaces = { created: "2025-12-01T00:00:00Z" };
  let version = 7;
  const api = await scriptedApi(({ path, body }) => {
    if (path.startsWith("/api/v1/namespaces/") && path.split("/").length === 5) {
      return { body: { metadata: { name: path.split("/")[4], creationTimestamp: namespaces.created } } };
    }
    if (path.includes("/events")) return { status: 201, body: {} };
    const { status } = body as { status: BillReportStatus };
    version++;
    return {
      body: { ...stored(), metadata: { ...stored().metadata, resourceVersion: String(version) }, status },
    };
  });
  const clock = createFakeClock();
  const granted = { keys: reportable };
  const account = accountAt("https://api.example.com", { reportableKeys: async () => granted.keys });
  let reads = 0;
  const money = {
    ...account.money,
    bills: async function* () {
      reads++;
      yield bills;
    },
  };
  const accounts = createAccountRegistry(
    (key) => key === "ClusterAccount/shared",
    () => {},
  );
  accounts.set("ClusterAccount/shared", { state: { kind: "Ready" }, handle: { ...account, money } });
  const run = createBillReportReconciler(
    sharedOf(api.client, billReportResource, { clock, accounts, ledger: { read: async () => usage } }),
    createKind(api.client, kind),
    createStoreRegistry(() => false),
  );
  const request = { key: "team/january", namespace: "team", name: "january" };
  const requeue = () => run(request, { signal: new AbortController().signal, log: silentLog });
  return {
    granted,
    namespaces,
    reads: () => reads,
    requeue,
    reconcile: async (): Promise<BillReportStatus | undefined> => {
      await requeue();
      return stored().status;
    },
  };
}

describe("a BillReport through a ClusterAccount", () => {
  it("shows nothing to a namespace that spending.reports does not select", async () => {
    const w = await setUp(keysOf());
    const status = await w.reconcile();
    expect(getCondition(status?.conditions, "Stalled")).toMatchObject({
      reason: "NamespaceNotAllowed",
      message: expect.stringContaining("ask its administrator for an entry in spec.spending.reports"),
    });
    expect(JSON.stringify(status)).not.toMatch(/ours|theirs|10000|"1"/);
    expect(w.reads()).toBe(0);
  });

  it("covers the API keys that the namespace may see, and no sum of others", async () => {
    const w = await setUp(keysOf("ours"));
    const status = await w.reconcile();
    expect(status).toMatchObject({ keyIDs: ["ours"], totals: { amount: "1" }, records: 1, final: true });
    expect(status?.byKey).toMatchObject([{ keyID: "ours", amount: "1" }]);
    expect(JSON.stringify(status)).not.toContain("theirs");
  });

  it("covers all keys when the namespace may see all", async () => {
    const w = await setUp(ALL);
    expect(await w.reconcile()).toMatchObject({ totals: { amount: "3" }, records: 2 });
  });

  it("loses its results, final ones too, when the namespace may not see them any more", async () => {
    const w = await setUp(ALL);
    expect(await w.reconcile()).toMatchObject({ final: true });
    expect(await w.requeue()).toEqual({ requeueAfterMs: 300_000 }); // the labels of the namespace may change
    expect(w.reads()).toBe(1);
    w.granted.keys = keysOf("ours");
    expect(await w.reconcile()).toMatchObject({ totals: { amount: "1" }, final: true });
    w.granted.keys = keysOf();
    const status = await w.reconcile();
    expect(getCondition(status?.conditions, "Stalled")?.reason).toBe("NamespaceNotAllowed");
    expect(status).not.toHaveProperty("totals");
    expect(status).not.toHaveProperty("byKey");
    expect(status).not.toHaveProperty("keyIDs");
  });
});

describe("a BillReport with splitBy", () => {
  it("shows the lines of every namespace when the namespace may see all bills", async () => {
    const w = await setUp(ALL, { splitBy: "Object" });
    expect(await w.reconcile()).toMatchObject({
      totals: { amount: "3" },
      split: {
        by: "Object",
        scope: "All",
        lines: [
          { namespace: "other-team", kind: "GpuEndpoint", name: "chat", amount: "0.9" },
          { namespace: "team", kind: "GpuEndpoint", name: "chat", amount: "0.6" },
        ],
        unattributed: "1.5",
      },
    });
  });

  it("covers the keys in keyIDs only", async () => {
    const w = await setUp(ALL, { splitBy: "Namespace", keyIDs: ["ours"] });
    expect(await w.reconcile()).toMatchObject({
      keyIDs: ["ours"],
      totals: { amount: "1" },
      split: {
        lines: [
          { namespace: "other-team", amount: "0.3" },
          { namespace: "team", amount: "0.2" },
        ],
        unattributed: "0.5",
      },
    });
  });

  it.each([
    { given: "spec.keyIDs", reportable: ALL, keyIDs: ["ou\u202ers", "ours\u0007"] },
    { given: "spending.reports", reportable: keysOf("ours\u200b", "\u200b") },
    { given: "both", reportable: keysOf("\u202eours"), keyIDs: ["ours\n"] },
  ])(
    "shows keys of $given without control and formatting characters, as it shows those of the bills",
    async ({ reportable, keyIDs }) => {
      const w = await setUp(reportable, keyIDs === undefined ? {} : { keyIDs });
      expect(await w.reconcile()).toMatchObject({ keyIDs: ["ours"], totals: { amount: "1" }, records: 1, final: true });
      await w.reconcile();
      expect(w.reads()).toBe(1);
    },
  );

  it("covers no bill without a key when the only key in keyIDs has nothing to show", async () => {
    const w = await setUp(ALL, { keyIDs: ["\u200b"] });
    expect(await w.reconcile()).toMatchObject({ keyIDs: [], totals: { amount: "0" }, records: 0 });
  });

  it("names no other namespace when the namespace may see single keys", async () => {
    const w = await setUp(keysOf("ours", "spare"), { splitBy: "Namespace" });
    const status = await w.reconcile();
    expect(status).toMatchObject({ totals: { amount: "1" } });
    expect(status?.split).toEqual({
      by: "Namespace",
      scope: "Namespace",
      lines: [{ namespace: "team", amount: "0.2" }],
      others: "0.8",
    });
    expect(JSON.stringify(status)).not.toContain("other-team");
  });

  it("refuses keys that the namespace may not see", async () => {
    const w = await setUp(keysOf("ours"), { keyIDs: ["theirs"] });
    const status = await w.reconcile();
    expect(getCondition(status?.conditions, "Stalled")?.message).toContain("use one of ours");
    expect(w.reads()).toBe(0);
  });

  it("shows a tenant with OwnShare its own lines and no bill, key or total", async () => {
    const w = await setUp({ kind: "OwnShare" }, { splitBy: "Namespace" });
    const status = await w.reconcile();
    expect(status?.split).toEqual({
      by: "Namespace",
      scope: "Namespace",
      lines: [{ namespace: "team", amount: "0.6" }],
    });
    expect(getCondition(status?.conditions, "Ready")?.message).toBe("The share of this namespace is 0.6 yuan; final");
    for (const field of ["totals", "byProduct", "byCategory", "byKey", "byDate", "records", "unreadable", "keyIDs"]) {
      expect(status).not.toHaveProperty(field);
    }
    expect(JSON.stringify(status)).not.toMatch(/other-team|ours|theirs|"3"/);
  });

  it("shows a namespace that was made again nothing of the earlier one, and adds up to the bills", async () => {
    const w = await setUp({ kind: "OwnShare" }, { splitBy: "Object" });
    w.namespaces.created = "2026-01-01T00:00:01Z";
    expect((await w.reconcile())?.split).toEqual({ by: "Object", scope: "Namespace", lines: [] });
    w.granted.keys = ALL;
    const earlier = { kind: "GpuEndpoint", name: "chat", created: "2026-01-01T00:00:00Z" };
    expect((await w.reconcile())?.split).toMatchObject({
      lines: [
        { namespace: "other-team (deleted)", ...earlier, amount: "0.9" },
        { namespace: "team (deleted)", ...earlier, amount: "0.6" },
      ],
      unattributed: "1.5",
    });
  });

  it("tells a tenant with OwnShare to set splitBy", async () => {
    const w = await setUp({ kind: "OwnShare" });
    const status = await w.reconcile();
    expect(getCondition(status?.conditions, "Stalled")).toMatchObject({
      reason: "NamespaceNotAllowed",
      message: expect.stringContaining("set spec.splitBy"),
    });
    expect(w.reads()).toBe(0);
  });

  it("that is final hides the other lines when the namespace may only see its own", async () => {
    const w = await setUp(ALL, { splitBy: "Namespace" });
    expect(await w.reconcile()).toMatchObject({ final: true, split: { scope: "All" } });
    w.granted.keys = { kind: "OwnShare" };
    const status = await w.reconcile();
    expect(status).toMatchObject({ final: true, split: { scope: "Namespace" } });
    expect(JSON.stringify(status)).not.toMatch(/other-team|totals/);
    expect(await w.requeue()).toEqual({ requeueAfterMs: 300_000 });
    expect(w.reads()).toBe(2);
  });
});
