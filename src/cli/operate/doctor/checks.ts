import { isDeepStrictEqual } from "node:util";
import { customResourceDefinition } from "../../../api/schema/crd.ts";
import type { KindDefinition } from "../../../api/schema/definition.ts";
import type { Account, ClusterAccount } from "../../../api/v1alpha1/account.ts";
import { COMMANDS } from "../../../api/v1alpha1/commands.ts";
import { getCondition } from "../../../api/v1alpha1/conditions.ts";
import { accountResource, clusterAccountResource, KINDS } from "../../../api/v1alpha1/kinds.ts";
import type { AccountRef } from "../../../api/v1alpha1/meta.ts";
import { probeAccount } from "../../../controllers/account/probe.ts";
import type { KubeClient } from "../../../kube/client.ts";
import { isNotFound } from "../../../kube/errors.ts";
import type { Resource } from "../../../kube/resource.ts";
import type { Condition, KubeObject } from "../../../kube/types.ts";
import { NAMESPACE_RIGHTS, OPERATOR_RIGHTS, type Right, rightText } from "../../../operator/rights.ts";
import { OPERATIONS } from "../../../provider/operations.ts";
import { type AccountConnection, connectAccount, type EndpointGeneration } from "../../connect-account.ts";

/** One thing that was looked at. `bad` stops Mooring or a part of it; `warn` may be meant so. `message` says what to do. */
export type Finding = { level: "ok" | "warn" | "bad"; message: string };

const review = (group: string, plural: string, kind: string): Resource => ({
  group,
  version: "v1",
  plural,
  kind,
  namespaced: false,
});
const selfReview = review("authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview");
const accessReview = review("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview");
const crdResource = review("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition");

const APPLY_CRDS = COMMANDS.installKinds();

type UserReview = KubeObject<unknown, { userInfo?: { username?: string } }>;

/** Whether the API server answers, and who we are to it. */
export async function checkServer(kube: KubeClient, server: string): Promise<Finding> {
  try {
    const { status } = await kube.create<UserReview>(selfReview, {}, { metadata: { name: "" }, spec: undefined });
    return { level: "ok", message: `API server ${server} answers; we are ${status?.userInfo?.username ?? "nobody"}` };
  } catch (error) {
    return { level: "bad", message: `API server ${server}: ${messageOf(error)}` };
  }
}

type Crd = KubeObject<{ versions: { name: string; schema?: unknown }[] }, { conditions?: Condition[] }>;

/** Whether each kind is installed, served, and the one that this version of Mooring knows. */
export function checkKinds(kube: KubeClient): Promise<Finding[]> {
  return Promise.all(KINDS.map((kind) => checkKind(kube, kind)));
}

async function checkKind(kube: KubeClient, kind: KindDefinition): Promise<Finding> {
  const { group, plural, version } = kind.resource;
  const name = `${plural}.${group}`;
  try {
    const stored = await kube.get<Crd>(crdResource, { name });
    if (!stored.status?.conditions?.some(({ type, status }) => type === "Established" && status === "True")) {
      return { level: "bad", message: `${name} is not served yet: kubectl describe crd ${name}` };
    }
    const served = stored.spec.versions.find((one) => one.name === version);
    if (served === undefined) return { level: "bad", message: `${name} has no version ${version}: ${APPLY_CRDS}` };
    return isDeepStrictEqual(served.schema, schemaOf(kind))
      ? { level: "ok", message: `${name} is installed as this version of Mooring has it` }
      : { level: "warn", message: `${name} is of another version of Mooring: ${APPLY_CRDS}` };
  } catch (error) {
    if (isNotFound(error)) return { level: "bad", message: `${name} is not installed: ${APPLY_CRDS}` };
    return { level: "warn", message: `${name}: ${messageOf(error)}` };
  }
}

function schemaOf(kind: KindDefinition): unknown {
  const { spec } = customResourceDefinition(kind) as { spec: { versions: { schema: unknown }[] } };
  return JSON.parse(JSON.stringify(spec.versions[0]?.schema)); // as it travels: without what is undefined
}

/** Whether the service takes the key of each account; a call that costs nothing is made for each. */
export async function checkAccounts(kube: KubeClient, namespace: string | undefined): Promise<Finding[]> {
  const accounts = await Promise.all([
    accountsOf<Account>(kube, accountResource, "Account", namespace),
    accountsOf<ClusterAccount>(kube, clusterAccountResource, "ClusterAccount", undefined),
  ]);
  const findings = await Promise.all(accounts.flat().map((one) => ("level" in one ? one : checkAccount(kube, one))));
  if (findings.length > 0) return findings;
  const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
  return [{ level: "warn", message: `there is no Account${where} and no ClusterAccount: nothing can be sent` }];
}

type NamedAccount = { ref: AccountRef; namespace: string; conditions: readonly Condition[] };

async function accountsOf<T extends Account | ClusterAccount>(
  kube: KubeClient,
  resource: Resource,
  kind: AccountRef["kind"],
  namespace: string | undefined,
): Promise<(NamedAccount | Finding)[]> {
  try {
    const { items } = await kube.list<T>(resource, { namespace });
    return items.map(({ metadata, status }) => ({
      ref: { kind, name: metadata.name },
      namespace: metadata.namespace ?? "",
      conditions: status?.conditions ?? [],
    }));
  } catch (error) {
    return isNotFound(error) ? [] : [{ level: "warn", message: messageOf(error) }]; // a missing kind is told already
  }
}

async function checkAccount(kube: KubeClient, { ref, namespace, conditions }: NamedAccount): Promise<Finding> {
  const what = `${ref.kind} ${namespace === "" ? "" : `${namespace}/`}${ref.name}`;
  const own = await checkKeyOf(() => connectAccount(kube, namespace, ref));
  const seen = `${what}: ${own.message}`;
  const ready = getCondition(conditions, "Ready");
  if (own.level === "ok") return problemOf(conditions, seen) ?? { level: "ok", message: seen };
  // The operator's reason is the one that objects show: its address guard, key and network are not ours.
  if (ready?.status !== "False" || ready.message === own.message) return { level: own.level, message: seen };
  return { level: "bad", message: `${what}: ${ready.reason}: ${ready.message} (from this machine: ${own.message})` };
}

/**
 * Whether a service fits, without a cluster: it takes the key, and lists endpoints in a generation. Free calls only.
 * @param open connects; with the generation in which endpoints are listed
 */
export async function checkService(open: (generation: EndpointGeneration) => AccountConnection): Promise<Finding[]> {
  const key = await checkKeyOf(async () => open("Current"));
  if (key.level === "bad") return [key];
  return [key, await checkList(open("Current"), "Current"), await checkList(open("Earlier"), "Earlier")];
}

async function checkKeyOf(open: () => Promise<AccountConnection>): Promise<Finding> {
  try {
    const { session } = await open();
    try {
      const { state, message, authenticated } = await probeAccount(session, AbortSignal.timeout(PROBE_MS));
      if (state.kind === "Held") return { level: "bad", message: state.message };
      if (authenticated !== "True") return { level: "warn", message };
      return { level: "ok", message: `${session.baseURL} takes the key` };
    } finally {
      await session.close();
    }
  } catch (error) {
    return { level: "bad", message: messageOf(error) };
  }
}

async function checkList({ session }: AccountConnection, generation: EndpointGeneration): Promise<Finding> {
  const operation = generation === "Current" ? "listEndpoints" : "listEndpointsEarlier";
  const what = `generation ${generation} (${OPERATIONS[operation].path})`;
  try {
    const { length } = await session.endpoints.list("", AbortSignal.timeout(PROBE_MS));
    return { level: "ok", message: `${what}: ${length} endpoint${length === 1 ? "" : "s"}` };
  } catch (error) {
    const action = `use the other one (spec.endpoints.generation), or correct spec.paths.${operation}`;
    return { level: "warn", message: `${what}: ${messageOf(error)}: ${action}` };
  } finally {
    await session.close();
  }
}

/** Conditions of an account that are a problem, with the status that is one. The operator connects from another place. */
const PROBLEMS = [
  { type: "Ready", status: "False", level: "bad" },
  { type: "Contested", status: "True", level: "bad" },
  { type: "EndpointsListed", status: "False", level: "warn" },
  { type: "BudgetExceeded", status: "True", level: "warn" },
] as const;

/** What the operator reports, although the user's call has succeeded. */
export function problemOf(conditions: readonly Condition[], taken: string): Finding | undefined {
  for (const { type, status, level } of PROBLEMS) {
    const found = getCondition(conditions, type);
    if (found?.status !== status) continue;
    return { level, message: `${taken}, but the operator reports ${found.reason}: ${found.message}` };
  }
  return undefined;
}

const PROBE_MS = 30_000;

type SelfAccessReview = KubeObject<{ resourceAttributes: object }, { allowed?: boolean }>;

/**
 * Which of the operator's rights we have. An operator that runs as us needs OPERATOR_RIGHTS. It needs NAMESPACE_RIGHTS only for
 * objects that refer to a Secret or ConfigMap, or export to one.
 */
export async function checkRights(kube: KubeClient, namespace: string | undefined): Promise<Finding[]> {
  const needed = OPERATOR_RIGHTS.map((right) => ({ right, need: "an operator must" }));
  const perNamespace = Object.entries(NAMESPACE_NEEDS).flatMap(([role, need]) =>
    NAMESPACE_RIGHTS[role as keyof typeof NAMESPACE_NEEDS].map((right) => ({ right, need })),
  );
  // Reading and exporting both need `get`: it is told once.
  const rights = [...needed, ...perNamespace].filter(
    ({ right }, index, all) => all.findIndex((other) => rightText(other.right) === rightText(right)) === index,
  );
  try {
    const allowed = await Promise.all(rights.map(({ right }) => may(kube, right, namespace)));
    const missing = rights.filter((_, index) => allowed[index] === false);
    if (missing.length === 0) {
      return [{ level: "ok", message: `we have all ${rights.length} rights of the operator` }];
    }
    return missing.map(({ right, need }) => ({ level: "warn", message: `we may not ${rightText(right)}: ${need}` }));
  } catch (error) {
    return [{ level: "warn", message: `our rights cannot be looked up: ${messageOf(error)}` }];
  }
}

const NAMESPACE_NEEDS = {
  "secret-reader":
    "an operator must, where an object refers to a Secret or ConfigMap (rbac.secretNamespaces of the chart)",
  "configmap-exporter":
    "an operator must, where exportTo names a ConfigMap (rbac.exportNamespaces.configMaps of the chart)",
  "secret-exporter": "an operator must, where exportTo names a Secret (rbac.exportNamespaces.secrets of the chart)",
} as const;

async function may(kube: KubeClient, right: Right, namespace: string | undefined): Promise<boolean> {
  const { group, resource, subresource, verb } = right;
  const clusterScoped = resource === "clusteraccounts" || resource === "namespaces";
  const resourceAttributes = {
    group,
    resource,
    verb,
    ...(subresource === undefined ? {} : { subresource }),
    ...(namespace === undefined || clusterScoped ? {} : { namespace }),
  };
  const body: SelfAccessReview = { metadata: { name: "" }, spec: { resourceAttributes } };
  return (await kube.create(accessReview, {}, body)).status?.allowed === true;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
