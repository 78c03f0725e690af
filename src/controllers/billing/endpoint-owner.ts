import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { Store } from "../../runtime/store.ts";
import type { AccountKey } from "../account/registry.ts";
import { NOBODY, type Owner } from "./recorder.ts";
import { createdOf } from "./usage.ts";

/**
 * The GpuEndpoint that is bound to a remote endpoint. A namespaced Account knows objects of its own namespace only, so that its
 * reports name no other namespace.
 */
export function endpointOwner(
  store: Pick<Store<GpuEndpoint>, "byIndex">,
  account: AccountKey,
  endpointID: string,
): Owner {
  const [kind, accountNamespace] = account.split("/");
  const owner = store
    .byIndex("endpointID", endpointID)
    .find(
      ({ status, metadata }) =>
        status?.endpointID === endpointID && (kind === "ClusterAccount" || metadata.namespace === accountNamespace),
    );
  if (owner === undefined) return NOBODY;
  const { namespace, name } = owner.metadata;
  return { namespace, object: `GpuEndpoint/${name}`, created: createdOf(owner.metadata) };
}
