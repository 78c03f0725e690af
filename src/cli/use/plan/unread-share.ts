import type { AccountUser } from "../../../controllers/account/binding.ts";
import { accountToUse } from "../../../controllers/account/binding.ts";
import { isForbidden } from "../../../kube/errors.ts";
import { configMapResource } from "../../../kube/resource.ts";
import type { KubeObject } from "../../../kube/types.ts";
import type { BlockerDeps } from "./blockers.ts";

type ShareConfigMap = KubeObject & { data?: Record<string, string> };

/** What the ConfigMap of `shares[].exportTo` tells of the object it was written for, and not of the share. */
const NOT_LIMITS = ["account", "share", "limitsHoldFor", "weight", "asOf"];

/**
 * What a plan says for a user who may not read the account of an object: that nobody checked the limits of its share, and what the operator
 * shows of them in the namespace.
 */
export async function unreadShare({ kube, signal }: BlockerDeps, object: AccountUser): Promise<string> {
  const unread = "not checked: the limits and lists of a share, because you may not read the account";
  const { namespace } = object.metadata;
  const account = accountToUse(object)?.name ?? "default";
  const isShown = ({ metadata, data }: ShareConfigMap) =>
    data?.["account"] === account && metadata.ownerReferences?.some(({ kind }) => kind === "ClusterAccount") === true;
  try {
    const { items } = await kube.list<ShareConfigMap>(configMapResource, { namespace }, { signal });
    const { metadata, data = {} } = items.find(isShown) ?? {};
    if (metadata === undefined) return unread;
    const limits = Object.entries(data).flatMap(([name, value]) =>
      NOT_LIMITS.includes(name) ? [] : [`${name} ${value}`],
    );
    return `${unread}; ConfigMap ${metadata.name} shows of share ${data["share"]} at ${data["asOf"]}: ${limits.join("; ")}`;
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return unread;
  }
}
