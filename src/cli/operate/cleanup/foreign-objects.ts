import { type Account, type ClusterAccount, isProbedOnly } from "../../../api/v1alpha1/account.ts";
import { accountResource, clusterAccountResource } from "../../../api/v1alpha1/kinds.ts";
import type { AccountRef } from "../../../api/v1alpha1/meta.ts";
import type { Server } from "../../../controllers/account/other-servers.ts";
import { accountKey, possibleAccounts } from "../../../controllers/account/registry.ts";
import type { KubeClient } from "../../../kube/client.ts";
import type { Resource } from "../../../kube/resource.ts";
import type { KubeObject } from "../../../kube/types.ts";
import { listAll } from "./release-objects.ts";

type AccountUserObject = KubeObject<{ accountRef?: AccountRef } | undefined, { account?: AccountRef }>;

/** The namespace of another installation that serves an object; undefined: none does. */
export type ForeignObjects = (resource: Resource, object: KubeObject) => string | undefined;

/**
 * Finds what other installations serve: each account that is in use names its server. One that does not run any more counts too:
 * it may start again.
 * @param own namespace of the lease of the installation that is asked for
 */
export async function findForeignObjects(
  kube: KubeClient,
  own: string,
  namespaces: readonly string[],
): Promise<ForeignObjects> {
  const servers = new Map<string, Server | undefined>();
  for (const namespace of namespaces.length > 0 ? namespaces : [undefined]) {
    for await (const { metadata, status } of listAll<Account>(kube, accountResource, { namespace })) {
      servers.set(accountKey("Account", metadata.name, metadata.namespace), status?.server);
    }
  }
  for await (const { metadata, status } of listAll<ClusterAccount>(kube, clusterAccountResource, {
    namespace: undefined,
  })) {
    servers.set(accountKey("ClusterAccount", metadata.name, undefined), status?.server);
  }

  return ({ kind }, object) => {
    const { namespace, name } = object.metadata;
    const server = servers.get(servedKey(kind, object, servers) ?? "");
    if (server === undefined || server.namespace === own || isProbedOnly(server)) return undefined;
    const isAccount = kind === "Account" || kind === "ClusterAccount";
    const watches = isAccount || server.namespaces === undefined || server.namespaces.includes(namespace ?? name);
    return watches ? server.namespace : undefined;
  };
}

/** The account that an object is, is bound to, or would use. */
function servedKey(kind: string, object: KubeObject, known: ReadonlyMap<string, unknown>): string | undefined {
  const { namespace = "", name } = object.metadata;
  if (kind === "Account" || kind === "ClusterAccount") return accountKey(kind, name, namespace);
  const { spec, status }: AccountUserObject = object as AccountUserObject;
  return possibleAccounts(status?.account ?? spec?.accountRef, namespace).find((key) => known.has(key));
}
