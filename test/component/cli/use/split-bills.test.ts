import { expect, it, onTestFinished, vi } from "vitest";
import { openClusterSplit, splitTable } from "../../../../src/cli/use/split-bills.ts";
import type { SplitView } from "../../../../src/controllers/billing/report/split-view.ts";
import { timeZone } from "../../../../src/provider/money/time-zone.ts";
import { scriptedApi } from "../../../support/scripted-api-server.ts";

const view: SplitView = {
  by: "Object",
  scope: "All",
  lines: [
    { namespace: "film", object: "VideoJob/sea", created: 1_772_323_200, amount: 50_000n },
    { namespace: "ads", object: "", created: 0, amount: 25_001n },
    { namespace: "shop", object: "GpuEndpoint/chat", created: 1_772_323_201, amount: 1n },
  ],
  others: undefined,
  unattributed: 9_998n,
};

it("a split is a table with the rest and the total", () => {
  expect(splitTable(view, 20)).toBe(
    [
      "NAMESPACE        OBJECT             CREATED                AMOUNT",
      "film             VideoJob/sea       2026-03-01T00:00:00Z        5",
      "ads                                                        2.5001",
      "shop             GpuEndpoint/chat   2026-03-01T00:00:01Z   0.0001",
      "(unattributed)                                             0.9998",
      "(total)                                                       8.5",
      "",
    ].join("\n"),
  );
});

it("rows that are cut off are summed, and the total stays the same", () => {
  const table = splitTable({ ...view, by: "Namespace" }, 1);
  expect(table).toContain("(2 more; --rows 3 shows them)   2.5002");
  expect(table).toMatch(/\(total\) +8\.5\n$/);
});

it("reads the usage of the operator that serves the account, and says which namespace had none", async () => {
  const written: string[] = [];
  vi.spyOn(process.stderr, "write").mockImplementation((text) => written.push(String(text)) > 0);
  onTestFinished(() => void vi.restoreAllMocks());
  const { client: kube, requests } = await scriptedApi(({ path }) =>
    path.includes("/clusteraccounts/")
      ? { body: { metadata: { name: "default" }, spec: {}, status: { server: { namespace: "gpu-operator" } } } }
      : { status: 404, body: { reason: "NotFound" } },
  );
  const request = { settings: {}, zone: timeZone("UTC"), range: { startTime: 1_770_000_000, endTime: 1_770_086_400 } };
  await openClusterSplit({ kube, namespace: "team" }, { kind: "ClusterAccount", name: "default" }, {}, request);
  expect(requests.filter(({ path }) => path.includes("/namespaces/gpu-operator/configmaps/"))).not.toEqual([]);
  expect(written).toEqual([
    "warning: the ConfigMaps mooring-usage-* in namespace gpu-operator have no usage of ClusterAccount/default in this period, so all is unattributed: the operator writes usage every ten minutes; if it runs in another namespace, name it with --operator-namespace\n",
  ]);
});

it("without the permission to read the usage, the error says what to do", async () => {
  const { client: kube } = await scriptedApi(() => ({ status: 403, body: { reason: "Forbidden" } }));
  const split = openClusterSplit(
    { kube, namespace: "team" },
    { kind: "ClusterAccount", name: "default" },
    { by: "namespace", operatorNamespace: "mooring-system" },
    { settings: {}, zone: timeZone("UTC"), range: { startTime: 1_770_000_000, endTime: 1_770_086_400 } },
  );
  await expect(split).rejects.toThrow(
    /^you may not read the ConfigMaps mooring-usage-\* in namespace mooring-system or the namespaces that they name: use a kubeconfig whose user may/,
  );
});
