import { readFile } from "node:fs/promises";
import { type Command, Option } from "commander";
import { endpointGenerations } from "../api/v1alpha1/account.ts";
import type { AccountRef } from "../api/v1alpha1/meta.ts";
import { delay, systemClock } from "../base/clock.ts";
import { createKubeClient, type KubeClient } from "../kube/client.ts";
import { loadCredentials } from "../kube/credentials.ts";
import { isTooManyRequests } from "../kube/errors.ts";
import type { Environment } from "../kube/proxy.ts";
import type { Resource } from "../kube/resource.ts";
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
  return command
    .option(
      "--kubeconfig <path>",
      "path of the kubeconfig; default: KUBECONFIG, ~/.kube/config, or the pod's service account",
    )
    .option("-n, --namespace <name>", namespaceHelp);
}

/** The flags by which commands find an account and its key. The key itself is never one of them. */
export function addAccountOptions(command: Command): Command {
  addClusterOptions(command)
    .addOption(
      new Option(
        "--account <name>",
        "Account in the namespace; default: Account default, else ClusterAccount default",
      ).conflicts(["clusterAccount", "baseUrl"]),
    )
    .addOption(new Option("--cluster-account <name>", "ClusterAccount, instead of an Account").conflicts(["baseUrl"]));
  return addServiceOptions(command);
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

async function openCluster(flags: ClusterFlags, env: Environment): Promise<OpenCluster> {
  const kube = createKubeClient(await loadCredentials({ kubeconfig: flags.kubeconfig, env }));
  return { kube, namespace: flags.namespace ?? kube.defaultNamespace ?? "default" };
}

export type OpenCluster = { kube: KubeClient; namespace: string };
export type LazyCluster = {
  open(): Promise<OpenCluster>;
  close(): Promise<void>;
};

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
): Promise<T[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return (await kube.list<T>(resource, { namespace })).items;
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

function accountRef({ account, clusterAccount }: AccountFlags): AccountRef | undefined {
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
