import type { KubeClient } from "../kube/client.ts";
import type { Credentials } from "../kube/credentials.ts";
import { KubeError } from "../kube/errors.ts";
import type { TlsOptions } from "../kube/identity.ts";
import { apiVersionOf, type Resource } from "../kube/resource.ts";

/** The same API server, with the token of a user in place of everything that proves who this process is. */
export function asOwnerOf(token: string, credentials: Credentials): Credentials {
  const { server, namespace, proxy } = credentials;
  const headers = { authorization: `Bearer ${token}` };
  let last: { own: TlsOptions; tls: TlsOptions } | undefined;
  return {
    server,
    namespace,
    proxy,
    async identity() {
      const { tls: own } = await credentials.identity();
      if (last?.own !== own) {
        const { cert, key, ...tls } = own;
        last = { own, tls };
      }
      return { headers, tls: last.tls };
    },
  };
}

const selfSubjectReviews: Resource = {
  group: "authentication.k8s.io",
  version: "v1",
  plural: "selfsubjectreviews",
  kind: "SelfSubjectReview",
  namespaced: false,
};

/** Whether the API server accepts the client's token: every user may ask who they are. */
export async function isKnown(client: KubeClient): Promise<boolean> {
  const review = {
    apiVersion: apiVersionOf(selfSubjectReviews),
    kind: selfSubjectReviews.kind,
    metadata: { name: "" },
    spec: {},
  };
  try {
    await client.create(selfSubjectReviews, {}, review);
    return true;
  } catch (error) {
    if (error instanceof KubeError && error.status === 401) return false;
    throw error;
  }
}
