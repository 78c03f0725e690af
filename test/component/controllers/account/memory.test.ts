import { expect, it, onTestFinished } from "vitest";
import type { Account } from "../../../../src/api/v1alpha1/account.ts";
import { accountSpecSchema } from "../../../../src/api/v1alpha1/account.ts";
import { accountResource } from "../../../../src/api/v1alpha1/kinds.ts";
import { anyAddress } from "../../../../src/base/address-guard.ts";
import { createAccountMemory } from "../../../../src/controllers/account/memory.ts";
import { ownerOfJob } from "../../../../src/controllers/billing/job-owner.ts";
import { createKubeClient } from "../../../../src/kube/client.ts";
import { createRecordBudget } from "../../../../src/provider/endpoints/record-budget.ts";
import { createResponseMemory } from "../../../../src/provider/response-memory.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { anonymous } from "../../../../tools/cluster/credentials.ts";
import { manifest } from "../../../support/manifests.ts";
import { scriptedService } from "../../../support/service-account.ts";
import { sharedOf } from "../../../support/shared.ts";

const KEY = "Account/team/default";

function accountOf(change: object = {}): Account {
  const metadata = { name: "default", namespace: "team", uid: "u", resourceVersion: "1", generation: 1 };
  return {
    metadata: { ...metadata, creationTimestamp: "2026-11-22T00:00:00Z" },
    spec: accountSpecSchema.parse(manifest("account", { baseURL: "http://127.0.0.1:9", ...change }).spec),
  };
}

/** A process that knows no account yet. */
function startMemory(change: Parameters<typeof sharedOf>[2] = {}) {
  const shared = sharedOf(createKubeClient(anonymous("http://127.0.0.1:9")), accountResource, change);
  const memories = createAccountMemory(shared, createStore<Account>({}), {
    accountKind: "Account",
    lookup: undefined,
    resultLookup: () => anyAddress,
    memory: createResponseMemory(),
    records: createRecordBudget(),
    namespaces: { labels: async () => ({}), all: async () => new Map(), known: () => new Map() },
    dependants: {
      boundEndpoints: () => [],
      endpointPlaces: () => [],
      managedEndpoints: () => 0,
      hasEndpoints: () => false,
      hasVolumes: () => false,
      users: () => ({ total: 0, names: [] }),
      hasUsers: () => false,
      usage: () => [],
    },
    orphansAmong: () => [],
    onEndpoint: () => {},
    onEndpointsShown: () => {},
    onTask: () => {},
    onCall: () => {},
    onMoney: () => {},
  });
  onTestFinished(() => memories.get(KEY)?.handle.close());
  return memories;
}

function start() {
  const memories = startMemory();
  return async (account: Account, apiKey: string) => {
    const { memory } = await memories.remember(KEY, account, apiKey);
    return memory.handle.keyVersion();
  };
}

it("the version of a key is the same in the next process, and when other settings change", async () => {
  const version = await start()(accountOf(), "sk-1");
  expect(version).toMatch(/^[0-9a-f]{16}$/);
  expect(await start()(accountOf(), "sk-1")).toBe(version);
  const change = { budget: { monthlyLimit: "100" }, maxConcurrentTasks: 3 };
  expect(await start()(accountOf(change), "sk-1")).toBe(version);
});

it("a key that returns has its former version", async () => {
  const remember = start();
  const version = await remember(accountOf(), "sk-1");
  expect(await remember(accountOf(), "sk-2")).not.toBe(version);
  expect(await remember(accountOf(), "sk-1\n")).toBe(version);
});

it("the same key has another version in another account, and in another cluster", async () => {
  const version = await start()(accountOf(), "sk-1");
  const { memory } = await startMemory().remember("Account/team/other", accountOf(), "sk-1");
  onTestFinished(() => memory.handle.close());
  const elsewhere = await startMemory({ clusterUID: "another" }).remember(KEY, accountOf(), "sk-1");
  expect([memory.handle.keyVersion(), elsewhere.memory.handle.keyVersion()]).not.toContain(version);
});

it.each([
  { name: "another key", change: {}, apiKey: "sk-2" },
  { name: "another base URL", change: { baseURL: "http://127.0.0.1:10" }, apiKey: "sk-1" },
  { name: "another path", change: { paths: { listEndpoints: "/other" } }, apiKey: "sk-1" },
  { name: "another generation of the list", change: { endpoints: { generation: "Earlier" } }, apiKey: "sk-1" },
])("$name is another version of the key", async ({ change, apiKey }) => {
  const remember = start();
  const version = await remember(accountOf(), "sk-1");
  expect(await remember(accountOf(change), apiKey)).not.toBe(version);
});

it.each(["True", "Unknown", "False"] as const)(
  "a key with Authenticated=%s cleans up unless the service refused it",
  async (authenticated) => {
    const memories = startMemory();
    expect(memories.cleanupOf(KEY)).toEqual({});
    const { memory } = await memories.remember(KEY, accountOf(), "sk-1");
    const state = { kind: "Held", reason: "Unreachable", message: "" } as const;
    const result = { state, authenticated, reachable: "True", message: "", limits: undefined, againMs: 1 } as const;
    memory.facts.probe = { at: 0, result };
    expect(memories.cleanupOf(KEY)).toEqual(authenticated === "False" ? {} : { cleanup: true });
  },
);

it("without the account, not even the probe is sent: its server uses the rate limit", async () => {
  const service = await scriptedService(() => ({}));
  const servers = {
    confirm: async () => {},
    assertConfirmed: () => {},
    assertServing: () => {
      throw new Error("not surely served");
    },
  };
  const memories = startMemory({ servers });
  const { memory } = await memories.remember(KEY, accountOf({ baseURL: service.url }), "sk-1");
  await expect(memory.handle.probe(new AbortController().signal)).rejects.toMatchObject({
    kind: "Aborted",
    delivery: "NotSent",
    message: "getEndpointLimits: not surely served",
  });
  expect(service.requests).toEqual([]);
});

it("the estimates and the observed usage of a deleted account are forgotten", async () => {
  const forgotten: string[] = [];
  const forget = (key: string) => void forgotten.push(key);
  const memories = startMemory({
    estimates: {
      collect: async () => undefined,
      get: () => undefined,
      entries: () => [],
      takeNew: () => false,
      priceOf: () => undefined,
      prices: () => undefined,
      restorePrices: () => {},
      forget,
    },
    usage: {
      ownerOfJob: (kind, job) => ownerOfJob({ get: () => undefined }, kind, job),
      listed: () => {},
      accepted: () => {},
      unknown: () => {},
      forget,
    },
  });
  await memories.remember(KEY, accountOf(), "sk-1");
  await memories.depart(KEY);
  expect([memories.get(KEY), forgotten]).toEqual([undefined, [KEY, KEY]]);
});
