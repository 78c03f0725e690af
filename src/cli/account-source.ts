import { readFile } from "node:fs/promises";
import { type Command, Option } from "commander";
import { endpointGenerations } from "../api/v1alpha1/account.ts";
import type { AccountRef } from "../api/v1alpha1/meta.ts";
import { delay, systemClock } from "../base/clock.ts";
import { createKubeClient, type KubeClient, type KubeQuery } from "../kube/client.ts";
import { loadCredentials } from "../kube/credentials.ts";
import { isForbidden, isNotFound, isTooManyRequests } from "../kube/errors.ts";
import type { Environment } from "../kube/proxy.ts";
import { namespaceResource, type Resource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";
import { type AccountConnection, connectAccount, connectDirectly, type EndpointGeneration } from "./connect-account.ts";

export type ClusterFlags = { kubeconfig?: string; namespace?: string };
export type ServiceFlags = ClusterFlags & { baseUrl?: string; apiKeyFile?: string };
export type AccountFlags = ServiceFlags & {
  account?: string;
  clusterAccount?: string;
  generation?: EndpointGeneration;
};

const KEY_VARIABLE = "MOORING_API_KEY";

export function addClusterOptions(
  command: Command,
  namespaceHelp = "the namespace; default: the namespace of the kubeconfig's context",
): Command {
  return addKubeconfigOption(command).option("-n, --namespace <name>", namespaceHelp);
}

export function addKubeconfigOption(command: Command): Command {
  return command.option(
    "--kubeconfig <path>",
    "path of the kubeconfig; default: KUBECONFIG, ~/.kube/config, or the pod's service account",
  );
}

/** The flags by which commands find an account and its key. The key itself is never one of them. */
export function addAccountOptions(command: Command): Command {
  return addServiceOptions(addAccountNames(addClusterOptions(command), ["baseUrl"]));
}

/** The flags that name an account of the cluster. `instead`: other flags that exclude them. */
export function addAccountNames(command: Command, instead: string[] = []): Command {
  return command
    .addOption(
      new Option(
        "--account <name>",
        "Account in the namespace; default: Account default, else ClusterAccount default",
      ).conflicts(["clusterAccount", ...instead]),
    )
    .addOption(new Option("--cluster-account <name>", "ClusterAccount, instead of an Account").conflicts(instead));
}

/** The flags that name a service without an account in the cluster. */
export function addServiceOptions(command: Command): Command {
  return command
    .option(
      "--base-url <url>",
      `base URL of the service, instead of an account in the cluster; the key comes from $${KEY_VARIABLE} or --api-key-file`,
    )
    .option("--api-key-file <path>", "file with the API key, for --base-url");
}

/** For commands that read endpoints. */
export function addGenerationOption(command: Command): Command {
  return command.addOption(
    new Option(
      "--generation <name>",
      "generation of the service's list and read operations; default: that of the account",
    ).choices(endpointGenerations),
  );
}

async function openCluster({ kubeconfig, namespace }: ClusterFlags, env: Environment): Promise<OpenCluster> {
  const kube = createKubeClient(await loadCredentials({ kubeconfig, env }));
  if (namespace !== undefined) {
    await assertNamespace(kube, namespace).catch(async (error: unknown) => {
      await kube.close();
      throw error;
    });
  }
  return { kube, namespace: namespace ?? kube.defaultNamespace ?? "default" };
}

/** The API server lists nothing in a namespace that does not exist, without an error. @throws Error of one line */
export async function assertNamespace(kube: KubeClient, name: string): Promise<void> {
  try {
    await kube.get(namespaceResource, { name });
  } catch (error) {
    if (isForbidden(error)) return; // most users may not read it
    if (!isNotFound(error)) throw error;
    throw new Error(`-n ${name}: there is no such namespace. To list all: kubectl get namespaces`, { cause: error });
  }
}

export type OpenCluster = { kube: KubeClient; namespace: string };
export type LazyCluster = {
  open(): Promise<OpenCluster>;
  close(): Promise<void>;
};

/** Runs a command with the cluster that its flags name, and closes the connections. */
export async function withCluster<T>(flags: ClusterFlags, run: (cluster: OpenCluster) => Promise<T>): Promise<T> {
  const cluster = await openCluster(flags, process.env);
  try {
    return await run(cluster);
  } finally {
    await cluster.kube.close();
  }
}

/** The cluster, looked for when it is first needed: with --base-url there need not be one. */
export function lazyCluster(flags: ClusterFlags, env: Environment): LazyCluster {
  let opened: ReturnType<typeof openCluster> | undefined;
  return {
    open: () => {
      opened ??= openCluster(flags, env);
      return opened;
    },
    close: async () => {
      const cluster = await opened?.catch(() => undefined);
      await cluster?.kube.close();
    },
  };
}

const ATTEMPTS = 10;

/** Lists as kubectl does: an API server that is busy, or makes a new kind ready, says when to come again. */
export async function listPatiently<T extends KubeObject>(
  kube: KubeClient,
  resource: Resource,
  namespace?: string,
  query: KubeQuery = {},
): Promise<T[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return (await kube.list<T>(resource, { namespace }, { query })).items;
    } catch (error) {
      if (!isTooManyRequests(error) || attempt === ATTEMPTS) throw error;
      await delay(systemClock, 1_000);
    }
  }
}

/** The account that the flags name. @throws Error of one line: what is missing */
export async function openAccount(
  flags: AccountFlags,
  env: Environment,
  cluster: LazyCluster["open"],
): Promise<AccountConnection> {
  const { baseUrl, generation } = flags;
  if (baseUrl !== undefined) return connectDirectly(baseUrl, await readKey(flags, env), generation);
  if (flags.apiKeyFile !== undefined)
    throw new Error("--api-key-file goes with --base-url: an account has its own key");
  const { kube, namespace } = await cluster();
  return connectAccount(kube, namespace, accountRef(flags), generation);
}

export function accountRef({
  account,
  clusterAccount,
}: Pick<AccountFlags, "account" | "clusterAccount">): AccountRef | undefined {
  if (account !== undefined) return { kind: "Account", name: account };
  return clusterAccount === undefined ? undefined : { kind: "ClusterAccount", name: clusterAccount };
}

/** The key for --base-url. @throws Error of one line: what is missing */
export async function readKey({ apiKeyFile }: ServiceFlags, env: Environment): Promise<string> {
  if (apiKeyFile !== undefined) {
    const key = await readFile(apiKeyFile, "utf8");
    if (key.trim() === "") throw new Error(`--api-key-file ${apiKeyFile}: the file is empty`);
    return key;
  }
  const key = env[KEY_VARIABLE];
  if (!key) throw new Error(`--base-url needs a key: set ${KEY_VARIABLE} or --api-key-file`);
  return key;
}
