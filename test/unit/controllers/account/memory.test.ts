import { expect, it, onTestFinished } from "vitest";
import type { Account } from "../../../../src/api/v1alpha1/account.ts";
import { accountSpecSchema } from "../../../../src/api/v1alpha1/account.ts";
import { accountResource } from "../../../../src/api/v1alpha1/kinds.ts";
import { createAccountMemory, type ReadKey } from "../../../../src/controllers/account/memory.ts";
import { createKubeClient } from "../../../../src/kube/client.ts";
import { anyAddress } from "../../../../src/net/address-guard.ts";
import { createByteBudget } from "../../../../src/provider/byte-budget.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { anonymous } from "../../../../tools/cluster/credentials.ts";
import { manifest } from "../../../support/manifests.ts";
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
function start() {
  const shared = sharedOf(createKubeClient(anonymous("http://127.0.0.1:9")), accountResource);
  const memories = createAccountMemory(shared, createStore<Account>({}), {
    accountKind: "Account",
    lookup: undefined,
    resultLookup: () => anyAddress,
    bodies: createByteBudget(),
    namespaceLabels: async () => ({}),
    dependants: {
      boundEndpoints: () => [],
      managedEndpoints: () => 0,
      hasEndpoints: () => false,
      hasVolumes: () => false,
      users: () => ({ total: 0, names: [] }),
      hasUsers: () => false,
    },
    orphansAmong: () => [],
    onEndpoint: () => {},
    onTask: () => {},
    onCall: () => {},
    onMoney: () => {},
  });
  onTestFinished(() => memories.get(KEY)?.handle.close());
  return async (account: Account, read: ReadKey) => {
    const { memory } = await memories.remember(KEY, account, read);
    return memory.handle.keyVersion();
  };
}

const read = (change: Partial<ReadKey> = {}): ReadKey => ({ apiKey: "sk-1", version: "uid/7/apiKey", ...change });

it("the version of a key is the same in the next process, and does not depend on the key itself", async () => {
  const version = await start()(accountOf(), read());
  expect(version).toMatch(/^[0-9a-f]{16}$/);
  expect(await start()(accountOf(), read({ apiKey: "sk-2" }))).toBe(version);
  const budget = { monthlyLimit: "100" };
  expect(await start()(accountOf({ budget }), read())).toBe(version);
});

it.each([
  { name: "another version of the Secret", change: {}, secret: { version: "uid/8/apiKey" } },
  { name: "another base URL", change: { baseURL: "http://127.0.0.1:10" }, secret: {} },
  { name: "another generation of the list", change: { endpoints: { generation: "Earlier" } }, secret: {} },
])("$name is another version of the key", async ({ change, secret }) => {
  const remember = start();
  const version = await remember(accountOf(), read());
  expect(await remember(accountOf(change), read(secret))).not.toBe(version);
});

it("without a version of the Secret, the key has no version", async () => {
  expect(await start()(accountOf(), read({ version: undefined }))).toBeUndefined();
});
