import { createPace } from "../base/token-bucket.ts";
import { createAbandonedTasks, createTaskOwners } from "../controllers/account/abandoned-tasks.ts";
import type { Dependants } from "../controllers/account/dependants.ts";
import { type ProcessEnds, senderOf } from "../controllers/account/process-ends.ts";
import { type AccountKey, createAccountRegistry } from "../controllers/account/registry.ts";
import type { Servers } from "../controllers/account/servers.ts";
import { restoredTasks } from "../controllers/account/unbilled.ts";
import { createCostEstimates } from "../controllers/billing/estimates.ts";
import { ownerOfJob } from "../controllers/billing/job-owner.ts";
import type { UsageLedger } from "../controllers/billing/ledger.ts";
import { readNamespaceCreated } from "../controllers/billing/open-split.ts";
import { createUsageRecorder, endpointOwner } from "../controllers/billing/recorder.ts";
import { createShareCosts } from "../controllers/billing/share-costs.ts";
import type { ControllerDeps } from "../controllers/controller-deps.ts";
import { createObjectReader } from "../runtime/object-reader.ts";
import type { EventRecorder } from "../runtime/recorder.ts";
import { createReferencePoller } from "../runtime/reference-poller.ts";
import { createSpendingAdmission } from "../submission/admission.ts";
import { NO_ALLOWANCE } from "../submission/allowance.ts";
import type { AccountAccess, Enqueue } from "./account-access.ts";
import { type Informers, jobInformersOf } from "./informers.ts";
import type { AssembleOptions } from "./options.ts";

/** A changed Secret reaches the remote within a minute, with up to 500 of them. */
const REFERENCE_POLL_MS = 20_000;
/** A changed export is restored within two minutes, with up to 500 of them. */
const EXPORT_POLL_MS = 60_000;
/** Referenced objects and exports that are read in a second, in all: 10,000 of them are read in about 17 minutes. */
const REFERENCE_READS_PER_SECOND = 10;

type Parts = {
  dependants: Dependants;
  recorder: EventRecorder;
  servers: Servers;
  ends: ProcessEnds;
  ledger: UsageLedger;
};

/** What every reconciler has. Starts nothing. */
export function createDeps(
  options: AssembleOptions & Parts,
  informers: Informers,
  { accountObject, checkAccount }: AccountAccess,
  enqueue: Enqueue,
): ControllerDeps {
  const { kube, restore, clock, random, newID, log, members, installation, clusterUID } = options;
  const { recorder, servers, ends, ledger, dependants } = options;
  const accounts = createAccountRegistry((key) => accountObject(key) !== undefined, checkAccount);
  const onChange = (key: string): void => {
    const colon = key.indexOf(":");
    enqueue({ plural: key.slice(0, colon) }, key.slice(colon + 1));
  };
  const pace = createPace(clock, REFERENCE_READS_PER_SECOND);
  const polled = { client: kube, clock, pace, log, onChange };
  const admission = createSpendingAdmission({
    clock,
    allowance: (key) => accounts.get(key)?.handle?.allowance() ?? NO_ALLOWANCE,
    inFlight: (key) => dependants.inFlight(key),
    onBalance: checkAccount,
    ended: (key) => {
      const object = accountObject(key);
      return object === undefined ? [] : restoredTasks(object, (since) => dependants.ended(key, since), clock.now());
    },
  });
  const abandoned = createAbandonedTasks({ accounts, admission, clock });
  const jobsWith = (taskID: string) =>
    jobInformersOf(informers).flatMap(({ resource: { kind }, store }) =>
      store.byIndex("task", taskID).map(({ metadata }) => ({ kind, metadata })),
    );
  const estimates = createCostEstimates({ ledger, namespaceCreated: readNamespaceCreated(kube), clock, log });
  const timeZoneOf = (account: AccountKey) => accounts.get(account)?.handle?.money.settings().timeZone ?? "UTC";
  const shareCosts = createShareCosts({ ledger, estimates, timeZoneOf, clock });
  return {
    kube,
    clock,
    random,
    newID,
    log,
    identity: senderOf({ namespace: installation, lease: members.name }),
    hasSenderEnded: ends.hasSenderEnded,
    reader: createObjectReader({ kube, log }),
    recorder,
    accounts,
    admission,
    abandoned,
    taskOwners: createTaskOwners({ jobsWith, abandoned }),
    ledger,
    estimates,
    shareCosts,
    usage: createUsageRecorder({
      ledger,
      shareCosts,
      ownerOfJob: (kind, job) => ownerOfJob(informers.mediaBatches.store, kind, job),
      ownerOf: (account, endpointID) => endpointOwner(informers.endpoints.store, account, endpointID),
      timeZoneOf,
      clock,
    }),
    references: createReferencePoller({ ...polled, intervalMs: REFERENCE_POLL_MS }),
    exports: createReferencePoller({ ...polled, intervalMs: EXPORT_POLL_MS }),
    clusterUID,
    servers,
    heldByRestore: (object) => restore.heldBy(object),
  };
}
