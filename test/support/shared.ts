import { randomUUID } from "node:crypto";
import { systemClock } from "../../src/base/clock.ts";
import { createPace } from "../../src/base/token-bucket.ts";
import { createAbandonedTasks, createTaskOwners } from "../../src/controllers/account/abandoned-tasks.ts";
import { createAccountRegistry } from "../../src/controllers/account/registry.ts";
import { createStoreRegistry } from "../../src/controllers/artifact-store/registry.ts";
import { ownerOfJob } from "../../src/controllers/billing/job-owner.ts";
import type { ControllerDeps } from "../../src/controllers/controller-deps.ts";
import { createCopies } from "../../src/controllers/jobs/copies.ts";
import type { JobWiring } from "../../src/controllers/jobs/deps.ts";
import { createRequestClaims } from "../../src/controllers/jobs/request-claims.ts";
import { createRunningRequests } from "../../src/controllers/jobs/running.ts";
import { readerWithout, type ValueReader } from "../../src/controllers/references.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import type { Resource } from "../../src/kube/resource.ts";
import { createObjectReader } from "../../src/runtime/object-reader.ts";
import { createEventRecorder } from "../../src/runtime/recorder.ts";
import { createReferencePoller } from "../../src/runtime/reference-poller.ts";
import { createSpendingAdmission } from "../../src/submission/admission.ts";
import { NO_ALLOWANCE } from "../../src/submission/allowance.ts";
import { callbacksBy } from "./callbacks.ts";
import { silentLog } from "./scripted-api-server.ts";

/** What every controller shares, over a client of a scripted API server; no account is known unless `change` brings some. */
export function sharedOf(client: KubeClient, events: Resource, change: Partial<ControllerDeps> = {}): ControllerDeps {
  const { clock = systemClock } = change;
  const random = () => 0.5;
  const parts = { client, clock, log: silentLog };
  const {
    accounts = createAccountRegistry(
      () => false,
      () => {},
    ),
    admission = createSpendingAdmission({ clock, allowance: () => NO_ALLOWANCE, inFlight: () => [] }),
  } = change;
  const polled = { ...parts, pace: createPace(clock, 10), intervalMs: 20_000, onChange: () => {} };
  const abandoned = createAbandonedTasks({ accounts, admission, clock });
  return {
    kube: client,
    clock,
    random,
    newID: randomUUID,
    log: silentLog,
    identity: "one",
    reader: createObjectReader({ kube: client, log: silentLog }),
    recorder: createEventRecorder({ ...parts, controller: "c", instance: "i", resourceOf: () => events }),
    accounts,
    references: createReferencePoller(polled),
    exports: createReferencePoller(polled),
    clusterUID: "cluster",
    admission,
    abandoned,
    taskOwners: createTaskOwners({ jobsWith: () => [], abandoned }),
    usage: {
      ownerOfJob: (kind, job) => ownerOfJob({ get: () => undefined }, kind, job),
      listed: () => {},
      accepted: () => {},
      unknown: () => {},
      forget: () => {},
    },
    shareCosts: {
      load: async () => {},
      add: () => {},
      spent: () => ({ day: 0n, month: 0n, unpriced: undefined }),
      forget: () => {},
    },
    ledger: { read: async () => [] },
    estimates: {
      collect: async () => undefined,
      get: () => undefined,
      entries: () => [],
      takeNew: () => false,
      priceOf: () => undefined,
      prices: () => undefined,
      restorePrices: () => {},
      forget: () => {},
    },
    servers: { confirm: async () => {}, assertServing: () => {}, assertConfirmed: () => {} },
    hasSenderEnded: () => true,
    heldByRestore: () => undefined,
    ...change,
  };
}

/** For jobs that refer to nothing. */
export const NOTHING_READ: ValueReader = readerWithout(new Error("nothing is read"));

/** What a reconciler of jobs keeps besides its objects. */
export function jobWiring(
  { clock, admission, random }: Pick<ControllerDeps, "clock" | "admission" | "random">,
  change: Partial<JobWiring> = {},
): JobWiring {
  return {
    running: createRunningRequests({ clock, random, admission }),
    copies: createCopies({ clock, random }),
    callbacks: callbacksBy(),
    stores: createStoreRegistry(() => false),
    claims: createRequestClaims(() => []),
    sources: { find: () => undefined, takers: () => [], now: () => clock.now() },
    ...change,
  };
}
