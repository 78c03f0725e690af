import { setTimeout as sleep } from "node:timers/promises";
import { type Assumptions, type AssumptionsInput, assumptions } from "./assumptions.ts";
import { type Audit, createAudit } from "./audit.ts";
import { createEndpoints, type SimulatedEndpoints } from "./endpoints.ts";
import { createFaults, type Faults } from "./faults.ts";
import { createFiles, type Files } from "./files.ts";
import { identityOf, type KeyIdentity } from "./keys.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { createRandom, type Random } from "./random.ts";
import { createTasks, type SimulatedTasks } from "./tasks.ts";
import { isRecord } from "./validate.ts";

/** The state of the simulated service, which the routes read and change. */
export type Service = {
  config(): Assumptions;
  /** Replaces the given values, and in a group the given fields. @throws ZodError for an invalid value */
  configure(changes: unknown): Assumptions;
  now(): number;
  /** Lets time pass while a request is served. */
  sleep(ms: number): Promise<void>;
  random: Random;
  endpoints: SimulatedEndpoints;
  tasks: SimulatedTasks;
  files: Files;
  ledger: Ledger;
  audit: Audit;
  faults: Faults;
  /** Charges finished tasks and running endpoints up to now. Call it before you read the ledger. */
  accrueAll(): void;
};

export type ServiceOptions = {
  config?: AssumptionsInput;
  seed?: number;
  now?: () => number;
  sleep?: (ms: number) => Promise<void>;
};

export function createService(options: ServiceOptions): Service {
  const random = createRandom(options.seed ?? 1);
  // Faults use their own sequence, so that a fault does not change the identifiers that follow.
  const faults = createFaults(createRandom((options.seed ?? 1) + 1));
  const now = options.now ?? (() => Date.now());
  let current = assumptions.parse(options.config ?? {});
  const config = () => current;

  const files = createFiles(random);
  const ledger = createLedger({ config, now, keyOf: (endpoint) => ownerOf(endpoint.memberID, current.apiKeys) });
  const endpoints = createEndpoints({ config, random, now, beforeChange: ledger.accrue });
  const tasks = createTasks({ config, random, now, files });
  return {
    config,
    configure: (changes) => {
      current = assumptions.parse(merged(current, changes));
      return current;
    },
    now,
    sleep: options.sleep ?? ((ms) => sleep(ms)),
    random,
    endpoints,
    tasks,
    files,
    ledger,
    audit: createAudit(),
    faults,
    accrueAll: () => {
      tasks.all();
      for (const endpoint of endpoints.all()) ledger.accrue(endpoint);
    },
  };
}

function merged(current: object, changes: unknown): unknown {
  if (!isRecord(changes)) return changes;
  const groups = Object.entries(current).map(([name, value]) => {
    const change = changes[name];
    return [
      name,
      isRecord(value) && isRecord(change) ? { ...value, ...change } : change === undefined ? value : change,
    ];
  });
  return { ...changes, ...Object.fromEntries(groups) };
}

function ownerOf(memberID: string, apiKeys: readonly string[]): KeyIdentity {
  const index = Math.max(0, Number(memberID.replace("member-", "")) - 1) || 0;
  return identityOf(apiKeys[index] ?? apiKeys[0] ?? "revoked", index);
}
