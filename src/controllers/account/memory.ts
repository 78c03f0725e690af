import { type Account, type ClusterAccount, showsSpending } from "../../api/v1alpha1/account.ts";
import { isSameJSON } from "../../base/same-json.ts";
import type { Result } from "../../runtime/controller.ts";
import type { ControllerDeps, Kind } from "../controller-deps.ts";
import { createAccountHandle } from "./handle.ts";
import { keyVersionOf } from "./key-version.ts";
import type { AccountHandle, AccountKey } from "./registry.ts";
import { billingSettings, settingsOf, sharedFieldsOf, specVersion } from "./session-settings.ts";
import { type MutableSettings, observersOf, type SessionWiring, usageOf } from "./session-usage.ts";

/** An account that is gone is forgotten this long, at most, after its last endpoint. */
const DEPARTED_POLL_MS = 15_000;

export type Memory = {
  settings: string;
  facts: MutableSettings;
  handle: AccountHandle;
  /** The account object is gone; kept for cleaning up after its endpoints. */
  departed: boolean;
};

/** The accounts that this process knows: what it takes to call the service for each, and what was learned of it. */
export type AccountMemory = {
  get(key: AccountKey): Memory | undefined;
  /** Forgets what is known of other terms of this process. Undefined: it does not serve the account. */
  beginTerm(key: AccountKey, term: number | undefined): Promise<void>;
  /** The account as its spec says now; a changed spec replaces the handle, a changed key does not. */
  remember(
    key: AccountKey,
    object: Account | ClusterAccount,
    apiKey: string,
  ): Promise<{ memory: Memory; changed: boolean }>;
  /** Whether what is known of an account that lost its key, or is gone itself, may serve to clean up. */
  cleanupOf(key: AccountKey): { cleanup?: boolean };
  /**
   * The account object is gone. A namespace is deleted in any order, so what it takes to clean up after the account's
   * endpoints is kept, in memory, until the last of them is gone.
   */
  depart(key: AccountKey): Promise<Result>;
};

export function createAccountMemory(
  shared: ControllerDeps,
  store: Pick<Kind<Account | ClusterAccount>["store"], "get">,
  wiring: SessionWiring,
): AccountMemory {
  const { accounts, clock } = shared;
  const parts = { shared, store, wiring };
  const memories = new Map<AccountKey, Memory>();
  const terms = new Map<AccountKey, number>();

  async function forget(key: AccountKey): Promise<void> {
    const memory = memories.get(key);
    memories.delete(key);
    terms.delete(key);
    accounts.remove(key);
    shared.estimates.forget(key);
    shared.usage.forget(key);
    shared.shareCosts.forget(key);
    await memory?.handle.close();
  }

  async function beginTerm(key: AccountKey, term: number | undefined): Promise<void> {
    const before = terms.get(key);
    if (before === term) return;
    // While nobody needed the account, nothing was remembered of its objects.
    if (before !== undefined && (before !== 0 || term === undefined)) {
      await forget(key);
      shared.admission.forget(key);
      shared.abandoned.forget(key);
    }
    if (term !== undefined) terms.set(key, term);
  }

  function cleanupOf(key: AccountKey): { cleanup?: boolean } {
    const memory = memories.get(key);
    const state = accounts.get(key)?.state;
    const refused =
      memory?.facts.probe?.result.authenticated === "False" ||
      (state?.kind === "Held" && state.reason === "Unauthorized");
    return memory === undefined || refused ? {} : { cleanup: true };
  }

  async function depart(key: AccountKey): Promise<Result> {
    const memory = memories.get(key);
    if (memory === undefined || !wiring.dependants.hasEndpoints(key)) {
      await forget(key);
      return undefined;
    }
    memory.departed = true;
    await memory.handle.tasks.stop();
    const held = { kind: "Held", reason: "AccountNotFound", message: `${key} was deleted` } as const;
    accounts.set(key, { state: { ...held, ...cleanupOf(key) }, handle: memory.handle });
    return { requeueAfterMs: DEPARTED_POLL_MS };
  }

  async function remember(key: AccountKey, object: Account | ClusterAccount, apiKey: string) {
    const { spec } = object;
    const { spending, shares } = sharedFieldsOf(spec);
    const settings = settingsOf(spec);
    const keyVersion = keyVersionOf(apiKey, spec, `${shared.clusterUID}/${key}`);
    const known = memories.get(key);
    if (known?.settings === settings && !known.departed) {
      const changed = known.facts.apiKey !== apiKey;
      known.facts.version = specVersion(object);
      known.facts.apiKey = apiKey;
      known.facts.keyVersion = keyVersion;
      if (changed) known.handle.keyChanged();
      known.facts.billing = billingSettings(spec.billing);
      known.facts.budget = spec.budget;
      known.facts.spending = spending;
      if (!isSameJSON(known.facts.shares, shares)) known.facts.shares = shares;
      known.facts.showsSpending = showsSpending(spec);
      return { memory: known, changed };
    }
    const facts: MutableSettings = {
      version: specVersion(object),
      apiKey,
      keyVersion,
      billing: billingSettings(spec.billing),
      budget: spec.budget,
      spending,
      shares,
      showsSpending: showsSpending(spec),
      probe: undefined,
    };
    const handle = createAccountHandle({
      key,
      spec,
      live: facts,
      usage: usageOf(parts, key, object, facts),
      observers: observersOf(parts, key, facts),
      lookup: wiring.lookup,
      resultLookup: wiring.resultLookup(wiring.accountKind, spec),
      memory: wiring.memory,
      records: wiring.records,
      open: wiring.open,
      clock,
      random: shared.random,
      log: shared.log.child({ account: key }),
    });
    const memory: Memory = { settings, facts, handle, departed: false };
    memories.set(key, memory);
    accounts.set(key, { state: { kind: "Checking" }, handle });
    await known?.handle.close();
    handle.start();
    return { memory, changed: true };
  }

  return { get: (key) => memories.get(key), beginTerm, remember, cleanupOf, depart };
}
