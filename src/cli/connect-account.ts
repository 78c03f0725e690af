import { type Account, type AccountSpec, accountSpecSchema, type ClusterAccount } from "../api/v1alpha1/account.ts";
import { parseDuration } from "../api/v1alpha1/duration.ts";
import { accountResource, clusterAccountResource } from "../api/v1alpha1/kinds.ts";
import type { AccountRef } from "../api/v1alpha1/meta.ts";
import { systemClock } from "../clock.ts";
import { callSettings } from "../controllers/account/call-settings.ts";
import { notFound } from "../controllers/account/registry.ts";
import { createValueReader } from "../controllers/references.ts";
import type { KubeClient } from "../kube/client.ts";
import { isNotFound } from "../kube/errors.ts";
import { createServiceClient, type ServiceClient } from "../provider/client.ts";
import { createLimiter } from "../provider/http/limiter.ts";
import { createTransport } from "../provider/http/transport.ts";

/** An account as a command uses it, once and by the rights of whoever runs it: any address may be called. */
export type AccountConnection = {
  /** The account object; undefined when base URL and key were given. */
  ref: AccountRef | undefined;
  baseURL: string;
  generation: AccountSpec["endpoints"]["generation"];
  billing: AccountSpec["billing"];
  client: ServiceClient;
  close(): Promise<void>;
};

type Settings = Omit<AccountSpec, "apiKeySecretRef">;

/**
 * The account that an object in `namespace` means by `ref` (api.md: accountRef), with its key from its Secret.
 * @throws Error when there is no such account; MissingReferenceError when its key cannot be read
 */
export async function connectAccount(
  kube: KubeClient,
  namespace: string,
  ref: AccountRef | undefined,
): Promise<AccountConnection> {
  const found = await findAccount(kube, namespace, ref);
  const reader = createValueReader(kube, new AbortController().signal);
  const apiKey = await reader.secretKey(found.keyNamespace, found.spec.apiKeySecretRef);
  return connection(found.spec, apiKey, found.ref);
}

/** An account by its address and key alone. @throws Error of one line when the address is not one */
export function connectDirectly(baseURL: string, apiKey: string): AccountConnection {
  const parsed = accountSpecSchema.omit({ apiKeySecretRef: true }).safeParse({ baseURL });
  if (!parsed.success) throw new Error(parsed.error.issues.map(({ message }) => message).join("; "));
  return connection(parsed.data, apiKey, undefined);
}

async function findAccount(kube: KubeClient, namespace: string, ref: AccountRef | undefined) {
  const candidates: AccountRef[] =
    ref === undefined
      ? [
          { kind: "Account", name: "default" },
          { kind: "ClusterAccount", name: "default" },
        ]
      : [ref];
  for (const candidate of candidates) {
    const { kind, name } = candidate;
    try {
      if (kind === "Account") {
        const { spec } = await kube.get<Account>(accountResource, { namespace, name });
        return { spec, ref: candidate, keyNamespace: namespace };
      }
      const { spec } = await kube.get<ClusterAccount>(clusterAccountResource, { name });
      return { spec, ref: candidate, keyNamespace: spec.apiKeySecretRef.namespace };
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  throw new Error(notFound(ref, namespace));
}

function connection(spec: Settings, apiKey: string, ref: AccountRef | undefined): AccountConnection {
  const { paths, requestsPerMinute } = callSettings(spec);
  const transport = createTransport({
    baseURL: spec.baseURL,
    apiKey: () => apiKey,
    requestTimeoutMs: parseDuration(spec.requestTimeout),
  });
  const limiter = createLimiter({ clock: systemClock, random: Math.random, ...spec.rateLimit, requestsPerMinute });
  return {
    ref,
    baseURL: spec.baseURL,
    generation: spec.endpoints.generation,
    billing: spec.billing,
    client: createServiceClient({ transport, limiter, paths }),
    close: () => transport.close(),
  };
}
