import { IN_OUR_WORDS } from "../api/schema/wording.ts";
import { type Account, type AccountSpec, accountSpecSchema, type ClusterAccount } from "../api/v1alpha1/account.ts";
import { accountResource, clusterAccountResource } from "../api/v1alpha1/kinds.ts";
import type { AccountRef } from "../api/v1alpha1/meta.ts";
import { systemClock } from "../base/clock.ts";
import { createLogger } from "../base/log.ts";
import { notFound } from "../controllers/account/registry.ts";
import { billingSettings, sessionSettings } from "../controllers/account/session-settings.ts";
import { createValueReader, StalledError } from "../controllers/references.ts";
import type { KubeClient } from "../kube/client.ts";
import { isNotFound } from "../kube/errors.ts";
import { openPassiveSession } from "../provider/session.ts";
import type { AccountSession } from "../provider/types.ts";

/** An account as a command uses it, once and with the rights of the user who runs it: any address may be called. */
export type AccountConnection = {
  /** The account object; undefined when base URL and key were given. */
  ref: AccountRef | undefined;
  /** Not started: nothing runs but the calls that the command makes. */
  session: AccountSession;
};

type Settings = Omit<AccountSpec, "apiKeySecretRef">;
export type EndpointGeneration = AccountSpec["endpoints"]["generation"];

/**
 * The account that `ref` of an object in `namespace` resolves to, with the key from its Secret.
 * @param generation instead of the account's own
 * @throws Error when there is no such account; StalledError when its key cannot be read
 */
export async function connectAccount(
  kube: KubeClient,
  namespace: string,
  ref: AccountRef | undefined,
  generation?: EndpointGeneration,
): Promise<AccountConnection> {
  const found = await findAccount(kube, namespace, ref);
  const reader = createValueReader(kube, new AbortController().signal);
  const { keyNamespace, spec } = found;
  const apiKey = await reader.secretKey(keyNamespace, spec.apiKeySecretRef).catch((error: unknown) => {
    if (!(error instanceof StalledError) || error.reason !== "ReadForbidden") throw error;
    const place = `${keyNamespace}/${spec.apiKeySecretRef.name}`;
    throw new Error(`you may not read Secret ${place}: use a kubeconfig whose user may`);
  });
  return { ref: found.ref, session: sessionOf(found.spec, apiKey, generation) };
}

/** An account by its address and key alone. @throws Error of one line when the address is not one */
export function connectDirectly(baseURL: string, apiKey: string, generation?: EndpointGeneration): AccountConnection {
  const parsed = accountSpecSchema.omit({ apiKeySecretRef: true }).safeParse({ baseURL }, IN_OUR_WORDS);
  if (!parsed.success) throw new Error(parsed.error.issues.map(({ message }) => message).join("; "));
  return { ref: undefined, session: sessionOf(parsed.data, apiKey, generation) };
}

/** An account of the cluster, with the namespace of its key. */
export type FoundAccount = {
  ref: AccountRef;
  spec: (Account | ClusterAccount)["spec"];
  status: (Account | ClusterAccount)["status"] | undefined;
  keyNamespace: string;
};

/**
 * The account that `ref` of an object in `namespace` resolves to. `correction`: how its user names another one.
 * @throws Error when there is no such account
 */
export async function findAccount(
  kube: KubeClient,
  namespace: string,
  ref: AccountRef | undefined,
  correction = "name another account with --account or --cluster-account",
): Promise<FoundAccount> {
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
        const { spec, status } = await kube.get<Account>(accountResource, { namespace, name });
        return { spec, status, ref: candidate, keyNamespace: namespace };
      }
      const { spec, status } = await kube.get<ClusterAccount>(clusterAccountResource, { name });
      return { spec, status, ref: candidate, keyNamespace: spec.apiKeySecretRef.namespace };
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  throw new Error(notFound(ref, namespace, correction));
}

function sessionOf(spec: Settings, apiKey: string, generation = spec.endpoints.generation): AccountSession {
  const { connection, rate, endpoints } = sessionSettings(spec, () => apiKey, undefined);
  return openPassiveSession({
    connection,
    rate,
    endpoints: { ...endpoints, generation },
    billing: () => billingSettings(spec.billing),
    clock: systemClock,
    random: Math.random,
    log: createLogger({ logLevel: "warn", logFormat: "json" }),
  });
}
