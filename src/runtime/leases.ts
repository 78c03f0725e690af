import type { Logger } from "pino";
import type { Clock } from "../base/clock.ts";
import type { KubeClient } from "../kube/client.ts";
import { isConflict, isNotFound } from "../kube/errors.ts";
import { ended, isExcluding, isHeld, isReady, LEASE_MS, LEASE_SELECTOR, type Lease, leaseResource } from "./lease.ts";

/** A process of the installation that lives, as the last look at its lease showed. */
export type Member = {
  /** Of its lease. */
  name: string;
  /** It has read all objects, and may take accounts. */
  ready: boolean;
  /** While it lives, no other process takes accounts. */
  excludes: boolean;
  /** RFC 3339. */
  since: string;
  /** For how long this process has seen it, ms. */
  knownMs: number;
};

export type LeasesOptions = {
  client: Pick<KubeClient, "list" | "update" | "delete">;
  namespace: string;
  /** Of the own lease, which is only read here. */
  own: string;
  clock: Pick<Clock, "monotonic">;
  log: Pick<Logger, "warn">;
};

/** Looks are more frequent in the last seconds before a lease is ended. Processes see its last renewal up to 2 s apart. */
const SUSPICIOUS_MS = LEASE_MS - 4_000;
/** A lease that ended so long ago is deleted. */
const REMOVE_MS = 10 * 60_000;

/** The leases of the installation, as this process has seen them. Times are monotonic ms. */
export function createLeases({ client, namespace, own, clock, log }: LeasesOptions) {
  let listed = new Map<string, Lease>();
  /** When this process first saw the process, and the version that its lease has now. */
  const seen = new Map<string, { at: number; version: string | undefined; versionAt: number }>();
  /** Names that somebody asked for and that have no lease. `since`: when a look first showed that. */
  const missing = new Map<string, { since: number | undefined; ended: boolean }>();

  function unchangedMs(lease: Lease): number {
    return clock.monotonic() - (seen.get(lease.metadata.name)?.versionAt ?? clock.monotonic());
  }

  function observe(lease: Lease, at: number): void {
    const { name, resourceVersion: version } = lease.metadata;
    const before = seen.get(name);
    if (before === undefined) seen.set(name, { at, version, versionAt: at });
    else if (before.version !== version) Object.assign(before, { version, versionAt: at });
  }

  /** @returns the lease as it is now; undefined: it is deleted */
  async function clean(lease: Lease, signal: AbortSignal): Promise<Lease | undefined> {
    const { name, uid, resourceVersion } = lease.metadata;
    const place = { namespace, name };
    try {
      if (isHeld(lease) && unchangedMs(lease) >= LEASE_MS) {
        const written = await client.update<Lease>(leaseResource, place, ended(lease), { signal });
        log.warn({ lease: `${namespace}/${name}` }, "ended the lease of a process that does not renew it");
        return written;
      }
      if (isHeld(lease) || unchangedMs(lease) < REMOVE_MS) return lease;
      await client.delete(leaseResource, place, { signal, body: { preconditions: { uid, resourceVersion } } });
      return undefined;
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
      return lease; // renewed, or ended by another process: the next look shows it
    }
  }

  return {
    async look(signal: AbortSignal): Promise<void> {
      const query = { labelSelector: LEASE_SELECTOR };
      const { items } = await client.list<Lease>(leaseResource, { namespace }, { signal, query });
      const at = clock.monotonic();
      for (const lease of items) observe(lease, at);
      const present = new Map<string, Lease>();
      for (const lease of items) {
        const kept = lease.metadata.name === own ? lease : await clean(lease, signal);
        if (kept !== undefined) present.set(kept.metadata.name, kept);
      }
      listed = present;
      for (const name of seen.keys()) if (!listed.has(name)) seen.delete(name);
      for (const [name, one] of missing) {
        if (listed.has(name)) missing.delete(name);
        else if (one.since === undefined) one.since = at;
        else if (at >= one.since + REMOVE_MS) missing.delete(name);
        else one.ended = at >= one.since + LEASE_MS;
      }
    },
    living(): Member[] {
      return [...listed.values()]
        .filter(isHeld)
        .map((lease) => ({
          name: lease.metadata.name,
          ready: isReady(lease),
          excludes: isExcluding(lease),
          since: lease.spec.acquireTime ?? "",
          knownMs: clock.monotonic() - (seen.get(lease.metadata.name)?.at ?? clock.monotonic()),
        }))
        .sort((a, b) => (a.since === b.since ? compare(a.name, b.name) : compare(a.since, b.since)));
    },
    hasEnded(name: string): boolean {
      const lease = listed.get(name);
      if (lease !== undefined) return !isHeld(lease);
      const known = missing.get(name) ?? { since: undefined, ended: false };
      missing.set(name, known);
      return known.ended;
    },
    /** Whether a lease can be about to expire. */
    mayExpire: () => [...listed.values()].some((lease) => isHeld(lease) && unchangedMs(lease) >= SUSPICIOUS_MS),
  };
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
