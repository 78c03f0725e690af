import { Registry } from "prom-client";
import { expect, it } from "vitest";
import type { AnyAccount } from "../../../src/controllers/account/other-servers.ts";
import { registerServerMetrics } from "../../../src/operator/server-metrics.ts";

const since = "2026-03-01T00:00:00Z";
const released = "2026-03-01T01:00:00Z";
const server = { namespace: "mooring-system", lease: "mooring-0", since };

type Given = { kind: "Account" | "ClusterAccount"; status: object; needed: boolean };

/** Whether an account counts as one that is not served. Process `mooring-0` has ended or lives. */
async function isUnserved({ kind, status, needed }: Given, ended: boolean): Promise<boolean> {
  const cluster = kind === "ClusterAccount";
  const apiKeySecretRef = { name: "key", key: "apiKey", ...(cluster ? { namespace: "mooring-system" } : {}) };
  const metadata = cluster ? { name: "default" } : { name: "default", namespace: "team-a" };
  const account = { metadata, spec: { apiKeySecretRef }, status } as unknown as AnyAccount;
  const registry = new Registry();
  registerServerMetrics(registry, {
    accounts: () => [account],
    count: () => 0,
    ends: { hasSenderEnded: (sender) => sender === "mooring-system/mooring-0" && ended },
    isNeeded: (key) => needed && key === (cluster ? "ClusterAccount/default" : "Account/team-a/default"),
  });
  return /^mooring_accounts_unserved 1$/m.test(await registry.metrics());
}

it.each([
  ["its server has ended", { server }, true, true],
  ["its server lives", { server }, false, false],
  ["its server released it", { server: { ...server, released } }, false, true],
  ["somebody removed the entry", { observedGeneration: 1 }, false, true],
  ["no process has seen it yet", { conditions: [] }, false, false],
])("an account of which %s", async (_name, status, ended, expected) => {
  expect(await isUnserved({ kind: "Account", status, needed: false }, ended)).toBe(expected);
  expect(await isUnserved({ kind: "ClusterAccount", status, needed: true }, ended)).toBe(expected);
});

it.each([
  ["its server has ended", { server }],
  ["its server released it", { server: { ...server, released } }],
  ["it was only probed", { server: { ...server, released: since } }],
])("a ClusterAccount that no object needs is no alarm when %s", async (_name, status) => {
  expect(await isUnserved({ kind: "ClusterAccount", status, needed: false }, true)).toBe(false);
});
