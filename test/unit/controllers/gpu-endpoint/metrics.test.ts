import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import type { GpuEndpoint, GpuEndpointStatus } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { PENDING_STATUS } from "../../../../src/api/v1alpha1/meta.ts";
import { createEndpointMetrics, stateOf } from "../../../../src/controllers/gpu-endpoint/metrics.ts";
import type { Condition } from "../../../../src/kube/types.ts";
import { endpointOf } from "../../../support/endpoints.ts";
import { START } from "../../../support/fake-clock.ts";

const at = new Date(START).toISOString();
const is = (type: string, status: Condition["status"] = "True"): Condition => ({
  type,
  status,
  reason: "Pending",
  message: "",
  lastTransitionTime: at,
});
const status = (...conditions: Condition[]): GpuEndpointStatus => ({ conditions });

describe("the state of an endpoint", () => {
  it.each([
    ["Progressing", PENDING_STATUS],
    ["Progressing", status(is("Ready", "Unknown"), is("Reconciling"))],
    ["Ready", status(is("Ready"))],
    ["Stopped", status(is("Ready"), is("Stopped"))],
    ["Stalled", status(is("Ready", "False"), is("Stalled"))],
    ["NotReady", status({ ...is("Ready", "False"), reason: "RemoteError" })],
  ])("%s", (state, of) => {
    expect(stateOf(endpointOf({}, { status: of }))).toBe(state);
  });

  it("Deleting, whatever else", () => {
    expect(stateOf(endpointOf({}, { deletionTimestamp: at, status: status(is("Stalled")) }))).toBe("Deleting");
  });
});

describe("metrics of endpoints", () => {
  it("count each endpoint once, with every state at hand, and orphans by account", async () => {
    const registry = new Registry();
    const endpoints = [
      endpointOf({}, { status: status(is("Ready"), is("Synced", "False")) }),
      endpointOf({}, { status: status(is("Ready")) }),
      endpointOf(),
    ];
    const account = { metadata: { name: "default" }, spec: {}, status: { conditions: [], endpoints: { orphaned: 2 } } };
    createEndpointMetrics(
      registry,
      {
        endpoints: () => endpoints,
        accounts: () => [["ClusterAccount/default", account as never]],
      },
      { now: () => START },
    );
    const lines = (await registry.metrics()).split("\n");
    expect(lines).toContain('mooring_endpoints{state="Ready"} 2');
    expect(lines).toContain('mooring_endpoints{state="NotReady"} 1');
    expect(lines).toContain('mooring_endpoints{state="Stalled"} 0');
    expect(lines).toContain("mooring_endpoints_drifted 1");
    expect(lines).toContain('mooring_account_orphaned_endpoints{account="ClusterAccount/default"} 2');
  });

  it("observe the first Ready once, and a drift when it ends", async () => {
    let now = START;
    const memory = {};
    const registry = new Registry();
    const metrics = createEndpointMetrics(registry, { endpoints: () => [], accounts: () => [] }, { now: () => now });
    const moved = (...[before, after, at]: [GpuEndpoint, GpuEndpointStatus, number]) => {
      now = at;
      metrics.moved(before, after, memory);
    };
    const created = endpointOf({}, { creationTimestamp: at, status: PENDING_STATUS });
    const bound = { ...status(is("Ready", "Unknown")), endpointID: "ep-1" };
    moved(created, bound, START + 1_000);
    moved({ ...created, status: bound }, { ...status(is("Ready")), endpointID: "ep-1" }, START + 7_000);
    moved({ ...created, status: bound }, { ...status(is("Ready")), endpointID: "ep-1" }, START + 99_000);
    const drifted = { ...status(is("Ready"), is("Synced", "False")), endpointID: "ep-1" };
    moved({ ...created, status: drifted }, { ...status(is("Ready"), is("Synced")) }, START + 30_000);
    const lines = (await registry.metrics()).split("\n");
    expect(lines).toContain("mooring_endpoint_ready_seconds_sum 7");
    expect(lines).toContain("mooring_endpoint_ready_seconds_count 1");
    expect(lines).toContain("mooring_endpoint_drift_seconds_sum 30");
  });

  it("show how many endpoints drift, and for how long, by account and namespace", async () => {
    const registry = new Registry();
    const bound = { account: { kind: "Account", name: "default", baseURL: "http://service" } } as const;
    const drifted = { ...status(is("Ready"), is("Synced", "False")), ...bound };
    const later = { ...is("Synced", "False"), lastTransitionTime: new Date(START + 40_000).toISOString() };
    let endpoints = [
      endpointOf({}, { name: "a", namespace: "team-a", status: drifted }),
      endpointOf({}, { name: "b", namespace: "team-a", status: { ...status(later), ...bound } }),
      endpointOf({}, { name: "c", namespace: "team-a", status: status(is("Synced")) }),
    ];
    createEndpointMetrics(registry, { endpoints: () => endpoints, accounts: () => [] }, { now: () => START + 60_000 });
    const labels = 'account="Account/team-a/default",namespace="team-a"';
    const lines = (await registry.metrics()).split("\n");
    expect(lines).toContain(`mooring_namespace_endpoints_drifted{${labels}} 2`);
    expect(lines).toContain(`mooring_namespace_endpoints_drifted_oldest_seconds{${labels}} 60`);
    endpoints = [];
    expect(await registry.metrics()).not.toContain("mooring_namespace_endpoints_drifted{");
  });
});
