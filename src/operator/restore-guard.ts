import type { Logger } from "pino";
import { GROUP } from "../api/v1alpha1/meta.ts";
import { aborted, type Clock, delay, rfc3339, withDeadline } from "../base/clock.ts";
import { findObject, type KubeClient } from "../kube/client.ts";
import { isAlreadyExists, isNotFound } from "../kube/errors.ts";
import { createEtcdHistory, type RestoredError } from "../kube/etcd-history.ts";
import { configMapResource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";
import { leaseResource } from "../runtime/lease.ts";

/** The ConfigMap that marks a restore of etcd, in the namespace of the lease. While it exists, nothing is sent for older objects. */
export const RESTORE_MARKER = "mooring-etcd-restored";

/** `evidence`: how the restore was noticed; undefined when an admin made the ConfigMap. */
export type RestoreMark = { time: number; evidence: string | undefined };

type MarkerMap = KubeObject & { data?: { time?: string; evidence?: string } };

/** What the marker says; undefined: there is none. `time`: the later one of its creation and its data, ms since the epoch. */
export async function readRestoreMark(
  kube: Pick<KubeClient, "get">,
  namespace: string,
  signal?: AbortSignal,
): Promise<RestoreMark | undefined> {
  const found = await findObject<MarkerMap>(kube, configMapResource, { namespace, name: RESTORE_MARKER }, { signal });
  if (found === undefined) return undefined;
  const times = [found.metadata.creationTimestamp, found.data?.time].map((time) => Date.parse(time ?? "") || 0);
  return { time: Math.max(...times), evidence: found.data?.evidence };
}

/** Whether the object may be of the time before the restore. */
export function isBefore({ time }: RestoreMark, { metadata }: Pick<KubeObject, "metadata">): boolean {
  return !(Date.parse(metadata.creationTimestamp ?? "") > time);
}

/**
 * After a restore of etcd, statuses do not show requests that were sent and paid for since the backup. The guard notices a restore, marks it
 * in the cluster, and holds the first request of each older object until an admin deletes the mark (`mooring confirm-restore`).
 *
 * # Expected flow
 * 1. All requests to the API server go through `kube`, whose answers show a restore (etcd-history.ts).
 * 2. `open` reads the mark before the process acts.
 * 3. `heldBy` is called when a request is planned, and again right before its first byte.
 * 4. When a restore is noticed, every object is held at once. When the mark is stored, `end` is called: what the process has read before is
 *    wrong. The next process reads the mark.
 */
export type RestoreGuard = {
  kube: KubeClient;
  /** Why nothing is sent for the object that creates or costs something; undefined: it may be sent. */
  heldBy(object: Pick<KubeObject, "metadata">): string | undefined;
  /** Reads the mark, until the API server answers or the signal aborts. */
  open(signal: AbortSignal): Promise<void>;
  /**
   * Reads what the process has written, until the API server answers or the signal aborts. A restore is then noticed and marked.
   * @param signal default: aborts at the stop
   */
  look(signal?: AbortSignal): Promise<void>;
  /** Called when the mark was made or deleted. */
  onChange(listener: () => void): void;
  start(): void;
  /** Waits up to 5 s until a restore that was noticed is marked. */
  stop(): Promise<void>;
};

export type RestoreGuardOptions = {
  client: KubeClient;
  /** Of the lease and the mark. */
  namespace: string;
  clock: Clock;
  log: Pick<Logger, "error" | "warn" | "info">;
  /** Whether objects are held. */
  onHold?: (held: boolean) => void;
  end: (error: Error) => void;
};

const RETRY_MS = 2_000;
const HELD_POLL_MS = 5_000;
const POLL_MS = 30_000;
const LAST_WRITE_MS = 5_000;

export function createRestoreGuard(options: RestoreGuardOptions): RestoreGuard {
  const { namespace, clock, log, end } = options;
  const history = createEtcdHistory({ ...options, group: GROUP, onRestored: notice });
  const kube = history.client;
  const listeners: (() => void)[] = [];
  const stopping = new AbortController();
  const ending = new AbortController();
  let mark: RestoreMark | undefined;
  let marking: Promise<void> | undefined;

  function notice(error: RestoredError): void {
    if (marking !== undefined) return;
    log.error({ reason: error.message }, "etcd was restored from a backup: nothing is sent for older objects");
    const noticed = { time: clock.now(), evidence: error.message };
    setMark(noticed);
    const written = async () => {
      await write(noticed);
      for (const name of error.leases) await remove(name);
    };
    marking = untilDone(written, ending.signal).then(() => end(error));
  }

  function setMark(next: RestoreMark | undefined): void {
    const changed = (mark === undefined) !== (next === undefined);
    mark = next;
    options.onHold?.(mark !== undefined);
    if (changed) for (const listener of listeners) listener();
  }

  /** The restored etcd can have the mark of an earlier restore. */
  async function write({ time, evidence = "" }: RestoreMark): Promise<void> {
    const data = { time: rfc3339(time), evidence };
    const metadata = { namespace, name: RESTORE_MARKER, labels: { "app.kubernetes.io/managed-by": "mooring" } };
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata, spec: undefined, data };
    try {
      await kube.create(configMapResource, { namespace }, body);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      await kube.mergePatch(configMapResource, { namespace, name: RESTORE_MARKER }, { data });
    }
  }

  /** The Lease of an earlier process would show the restore again to the next one. */
  async function remove(name: string): Promise<void> {
    try {
      await kube.delete(leaseResource, { namespace, name });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async function read(signal: AbortSignal): Promise<void> {
    const found = await readRestoreMark(kube, namespace, signal);
    if (marking === undefined) setMark(found);
  }

  /** Repeats what fails. Resolves also when the signal aborts. */
  async function untilDone(step: () => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        return await step();
      } catch (error) {
        if (!signal.aborted)
          log.warn({ reason: String(error) }, "restore of etcd: the API server does not answer; trying again");
      }
      await delay(clock, RETRY_MS, signal);
    }
  }

  async function poll(): Promise<void> {
    while (!stopping.signal.aborted) {
      await delay(clock, mark === undefined ? POLL_MS : HELD_POLL_MS, stopping.signal);
      await untilDone(() => read(stopping.signal), stopping.signal);
    }
  }

  return {
    kube,
    heldBy(object) {
      if (mark === undefined || (marking === undefined && !isBefore(mark, object))) return undefined;
      return messageOf(mark, namespace);
    },
    open: (signal) => untilDone(() => read(signal), signal),
    async look(signal = stopping.signal) {
      await untilDone(() => history.look(signal), signal);
      await Promise.race([marking, aborted(signal)]);
    },
    onChange: (listener) => void listeners.push(listener),
    start: () => void poll(),
    async stop() {
      stopping.abort(new Error("the operator is stopping"));
      if (marking === undefined) return;
      await withDeadline(clock, LAST_WRITE_MS, (deadline) => Promise.race([marking, aborted(deadline)]));
      ending.abort(stopping.signal.reason);
    },
  };
}

function messageOf({ time, evidence }: RestoreMark, namespace: string): string {
  const how = evidence === undefined || evidence === "" ? "" : ` (${evidence})`;
  return `etcd was restored from a backup${how}. Its request may have been sent since the backup, so nothing is sent for objects created before ${rfc3339(time)}. Compare the jobs with the records of the service, then run: mooring confirm-restore --namespace ${namespace}`;
}
