import { clusterAccountResource } from "../../../src/api/v1alpha1/kinds.ts";
import { isNotFound } from "../../../src/kube/errors.ts";
import type { KubeObject } from "../../../src/kube/types.ts";
import { type AnyObject, condition, eventually, type World } from "../../support/world.ts";

type AccountRef = { kind: "Account" | "ClusterAccount"; name: string };

/** Each account has a key of its own at the same service, and sees only what is its own there. */
export const keyOf = (index: number) => `key-of-account-${index}`;

/** `count` Accounts, and a ClusterAccount that has jobs and no endpoints. */
export type Accounts = {
  /** Of the Accounts; the last one is the ClusterAccount. */
  refs: readonly AccountRef[];
  endpointRefs: readonly AccountRef[];
  /** All of them. */
  list(): Promise<AnyObject[]>;
  untilReady(): Promise<void>;
  close(): Promise<void>;
};

export async function createAccounts(world: World, count: number): Promise<Accounts> {
  const { namespace, kube } = world;
  const endpointRefs = Array.from(
    { length: count },
    (_, index): AccountRef => ({ kind: "Account", name: `account-${index}` }),
  );
  const shared: AccountRef = { kind: "ClusterAccount", name: `of-${namespace}` };
  const refs = [...endpointRefs, shared];
  for (const [index, { kind, name }] of refs.entries()) {
    await world.apply({ kind: "Secret", apiVersion: "v1", metadata: { name }, stringData: { apiKey: keyOf(index) } });
    const rateLimit = { requestsPerSecond: 50, burst: 50 };
    const spec = { baseURL: world.simulator.url, apiKeySecretRef: { name, key: "apiKey" }, rateLimit };
    if (kind === "Account") await world.apply({ kind, metadata: { name }, spec });
    else await kube.create(clusterAccountResource, {}, clusterAccount(name, namespace, spec));
  }
  const accounts: Accounts = {
    refs,
    endpointRefs,
    list: async () => [
      ...(await world.list("Account")),
      await kube.get<AnyObject>(clusterAccountResource, { name: shared.name }),
    ],
    untilReady: async () => {
      await eventually("every account is Ready", async () =>
        (await accounts.list()).every((account) => condition(account, "Ready")?.status === "True"),
      );
    },
    close: () =>
      kube.delete(clusterAccountResource, { name: shared.name }).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      }),
  };
  return accounts;
}

function clusterAccount(name: string, namespace: string, spec: { apiKeySecretRef: object }): KubeObject {
  return {
    apiVersion: "mooring.dev/v1alpha1",
    kind: "ClusterAccount",
    metadata: { name },
    spec: { ...spec, apiKeySecretRef: { ...spec.apiKeySecretRef, namespace } },
  } as KubeObject;
}
