import { type Account, type ClusterAccount, isClusterAccount } from "../api/v1alpha1/account.ts";
import { isTrue } from "../api/v1alpha1/conditions.ts";
import { gpuEndpointResource, KINDS } from "../api/v1alpha1/kinds.ts";
import { createSharedPools } from "../artifacts/handle.ts";
import { createWebhookSender } from "../base/webhook.ts";
import { createDependants } from "../controllers/account/dependants.ts";
import { createNamespaces } from "../controllers/account/namespaces.ts";
import { createProcessEnds } from "../controllers/account/process-ends.ts";
import { createServers } from "../controllers/account/servers.ts";
import type { AccountWiring } from "../controllers/account/session-usage.ts";
import type { Lists } from "../controllers/account/terms.ts";
import { createStoreRegistry } from "../controllers/artifact-store/registry.ts";
import { maySend } from "../controllers/batch/progress.ts";
import { createUsageLedger } from "../controllers/billing/ledger.ts";
import { isCostOutdated } from "../controllers/billing/object-cost.ts";
import type { ControllerDeps } from "../controllers/controller-deps.ts";
import { endpointsKnownTo, findOrphans } from "../controllers/gpu-endpoint/orphans.ts";
import { batchOf } from "../controllers/jobs/batch-owner.ts";
import { createCallbacks } from "../controllers/jobs/callback.ts";
import { createCopies } from "../controllers/jobs/copies.ts";
import { createRequestClaims } from "../controllers/jobs/request-claims.ts";
import { createRunningRequests } from "../controllers/jobs/running.ts";
import type { Job } from "../controllers/jobs/types.ts";
import { keyOf } from "../kube/types.ts";
import { createRecordBudget } from "../provider/endpoints/record-budget.ts";
import { createResponseMemory } from "../provider/response-memory.ts";
import { createEventRecorder, type EventRecorder } from "../runtime/recorder.ts";
import type { AccountAccess, Enqueue } from "./account-access.ts";
import { createAddresses } from "./addresses.ts";
import { registerShowbackMetrics } from "./billing-metrics.ts";
import { createDeps } from "./deps.ts";
import { type Informers, jobInformersOf, kindsOf } from "./informers.ts";
import { createKindMetrics } from "./kind-metrics.ts";
import type { OperatorContext } from "./kinds.ts";
import type { AssembleOptions } from "./options.ts";
import { createOwnership } from "./ownership.ts";
import { createServiceMetrics } from "./provider-metrics.ts";
import { registerReferenceMetrics } from "./reference-metrics.ts";
import { createServerGate } from "./server-gate.ts";
import { registerServerMetrics } from "./server-metrics.ts";

/** Everything that reconcilers share. Starts nothing. */
export function createContext(
  options: AssembleOptions,
  informers: Informers,
  access: AccountAccess,
  enqueue: Enqueue,
): OperatorContext {
  const { clock, random, metrics, members } = options;
  const recorder = createRecorder(options);
  const ends = createProcessEnds(options);
  const lists = listsOf(informers);
  const gate = createServerGate({
    servers: () => servers,
    ownership: () => ownership,
    members,
    renewLists: () => void lists.renew(),
  });
  const accountObjects = () => [...informers.accounts.store.list(), ...informers.clusterAccounts.store.list()];
  const dependants = createDependants(usersOfAccounts(informers), () => deps.accounts);
  const servers = createServers({
    ...options,
    recorder,
    ends,
    lists,
    work: gate,
    accounts: accountObjects,
    isNeeded: gate.isNeeded,
    onLost: options.end,
    onTaken: registerServerMetrics(metrics.registry, {
      accounts: accountObjects,
      count: () => servers.count(),
      ends,
      isNeeded: gate.isNeeded,
    }),
    check: access.checkAccount,
  });
  const ownership = createOwnership({ servers, members, exists: (key) => access.accountObject(key) !== undefined });
  const place = { client: options.kube, namespace: options.installation };
  const ledger = createUsageLedger({ ...options, ...place, identity: members.name });
  const deps = createDeps({ ...options, recorder, servers, ends, ledger, dependants }, informers, access, enqueue);
  const { accounts, admission } = deps;
  const stores = createStoreRegistry((key) => informers.artifactStores.store.get(key) !== undefined);
  const { endpointMetrics, jobMetrics } = createKindMetrics(options, informers, { ...access, accounts, ownership });
  if (options.showsSpending === true) registerShowbackMetrics(metrics.registry, () => deps.estimates);
  registerReferenceMetrics(metrics.registry, { References: deps.references, Exports: deps.exports });
  const addresses = createAddresses(options);
  return {
    deps,
    account: { ...createAccountWiring(options, informers, deps, { ...access, enqueue }), servers, dependants },
    stores,
    jobs: {
      running: createRunningRequests({ clock, random, admission }),
      copies: createCopies({ clock, random }),
      callbacks: createCallbacks({
        send: options.sendWebhook ?? createWebhookSender(clock),
        lookups: { public: addresses.results("Account", {}), service: addresses.clusterServices },
      }),
      stores,
      claims: createRequestClaims((key) =>
        jobInformersOf(informers).flatMap(({ store }) => store.byIndex("request", key)),
      ),
      sources: {
        find: (namespace, { kind, name }) =>
          jobInformersOf(informers)
            .find(({ resource }) => resource.kind === kind)
            ?.store.get(`${namespace}/${name}`),
        takers: (index) => jobInformersOf(informers).flatMap(({ store }) => store.byIndex("source", index)),
        now: () => clock.now(),
      },
      mayStart: (job) => mayStart(informers, job),
      metrics: jobMetrics,
    },
    batches: {
      jobsOf: (uid) => jobInformersOf(informers).flatMap(({ store }) => store.byIndex("batch", uid)),
      turn: () => options.slices?.end(),
    },
    endpointMetrics,
    copies: { clock, ...createSharedPools(), ...options.storage },
    ledger,
    artifactRoot: options.artifactRoot,
    allowAmbientCredentials: options.allowAmbientCredentials,
    addresses,
    enqueue,
    gate,
    ownership,
  };
}

/** A job of a batch sends nothing before its batch has recorded that the job exists, and after it has recorded its end. */
function mayStart({ mediaBatches }: Informers, { metadata }: Job): boolean {
  const of = batchOf(metadata);
  if (of === undefined) return true;
  const batch = mediaBatches.store.get(`${metadata.namespace}/${of.name}`);
  return batch?.metadata.uid === of.uid && maySend(batch.status, of.index);
}

/** The lists of every kind that uses an account. */
function listsOf(informers: Informers): Lists {
  const lists = kindsOf(informers, "").flatMap(({ row, informer }) => (row.account === undefined ? [] : [informer]));
  return {
    begunAt: () => Math.min(...lists.map(({ listedAt }) => listedAt())),
    renew: async () => void (await Promise.all(lists.map(({ renew }) => renew()))),
  };
}

function createRecorder({ kube, clock, log, members }: AssembleOptions): EventRecorder {
  return createEventRecorder({
    client: kube,
    clock,
    log,
    controller: "mooring.dev/operator",
    instance: members.name,
    resourceOf: (object) =>
      KINDS.find(({ resource }) => resource.kind === object.kind)?.resource ?? gpuEndpointResource,
  });
}

function createAccountWiring(
  { kube, clock, metrics, openService, ...settings }: AssembleOptions,
  informers: Informers,
  { accounts, admission, estimates }: ControllerDeps,
  { accountObject, checkAccount, enqueue }: AccountAccess & { enqueue: Enqueue },
): Omit<AccountWiring, "accountKind" | "lookup" | "servers" | "dependants"> {
  const { endpoints } = informers;
  const { onCall } = createServiceMetrics(
    metrics.registry,
    () => accounts,
    () => admission,
    settings.showsSpending ?? false,
  );
  return {
    namespaces: createNamespaces(kube, clock),
    orphansAmong: (records) => findOrphans(records, endpointsKnownTo(endpoints.store)),
    onEndpoint: (_account, id, appName) => {
      const found = [...endpoints.store.byIndex("endpointID", id), ...endpoints.store.byIndex("appName", appName)];
      for (const endpoint of found) enqueue(gpuEndpointResource, keyOf(endpoint));
    },
    onEndpointsShown: (account) => {
      for (const endpoint of endpoints.store.byIndex("account", account)) {
        if (!isTrue(endpoint.status?.conditions, "Ready")) enqueue(gpuEndpointResource, keyOf(endpoint));
      }
    },
    onTask: (_account, taskID) => {
      for (const { store, resource } of jobInformersOf(informers)) {
        for (const job of store.byIndex("task", taskID)) enqueue(resource, keyOf(job));
      }
    },
    onCall,
    onMoney: (account) => {
      checkAccount(account);
      if (!estimates.takeNew(account) || !showsCosts(accountObject(account))) return;
      for (const endpoint of endpoints.store.byIndex("account", account)) {
        if (isCostOutdated(endpoint.status, clock.now())) enqueue(gpuEndpointResource, keyOf(endpoint));
      }
    },
    memory: createResponseMemory(),
    records: createRecordBudget(),
    resultLookup: createAddresses(settings).results,
    open: openService,
  };
}

/** Whether endpoints of some namespace show what they cost (visibleCosts). */
function showsCosts(account: Account | ClusterAccount | undefined): boolean {
  if (account === undefined || !isClusterAccount(account)) return true;
  return (account.spec.spending?.reports ?? []).length > 0;
}

function usersOfAccounts(informers: Informers) {
  const { endpoints, mediaBatches } = informers;
  return { endpoints, jobs: jobInformersOf(informers), batches: mediaBatches.store };
}
