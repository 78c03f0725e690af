import type { Clock } from "../../base/clock.ts";
import { findObject, type KubeClient } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";
import { isHeld, LEASE_MS, type Lease, leaseResource } from "../../runtime/lease.ts";
import type { Members } from "../../runtime/members.ts";

/** A process of any installation, by its lease. */
export type Process = { namespace: string; lease: string };

/** As records name the process that sends their request. */
export const senderOf = ({ namespace, lease }: Process): string => `${namespace}/${lease}`;

/** Whether processes have ended: they send nothing any more, and what they sent has no other response. */
export type ProcessEnds = {
  hasEnded(process: Process, signal: AbortSignal): Promise<boolean>;
  /**
   * The same of a sender, by what is known now. A sender of another installation is read for the next call. One whose lease may not be
   * read has ended: an administrator said so when the account was released.
   */
  hasSenderEnded(sender: string): boolean;
};

type ProcessEndsOptions = {
  kube: Pick<KubeClient, "get">;
  clock: Clock;
  members: Pick<Members, "hasEnded" | "name">;
  /** Namespace of the own lease. */
  installation: string;
};

/** Only its own installation ends a lease. From outside, a lease that is unchanged for this long counts as ended. */
export const UNCHANGED_MS = 2 * LEASE_MS;
/** Who asks for the same process shares a read. */
const READ_AGAIN_MS = 2_000;
/** Processes of other installations that are remembered. */
const MAX_KNOWN = 1_000;

/** `at`: when this process first saw the version, monotonic ms. A missing lease has none. */
type Known = { version: string | undefined; at: number; readAt: number; ended: Promise<boolean>; last: Look };
/** `Unreadable`: the operator may not read it. */
type Look = "Lives" | "Ended" | "Unreadable";

/**
 * The processes of the own installation are known from `members`. The lease of another one is read. Without the right to read it, the
 * process lives until an administrator removes `status.server` of the account.
 */
export function createProcessEnds({ kube, clock, members, installation }: ProcessEndsOptions): ProcessEnds {
  const known = new Map<string, Known>();

  async function read({ namespace, lease: name }: Process, one: Known, signal: AbortSignal): Promise<boolean> {
    try {
      const lease = await findObject<Lease>(kube, leaseResource, { namespace, name }, { signal });
      const version = lease?.metadata.resourceVersion ?? "missing";
      if (one.version !== version) Object.assign(one, { version, at: clock.monotonic() });
      const unchangedMs = clock.monotonic() - one.at;
      const ended = lease === undefined ? unchangedMs >= LEASE_MS : !isHeld(lease) || unchangedMs >= UNCHANGED_MS;
      one.last = ended ? "Ended" : "Lives";
    } catch (error) {
      Object.assign(one, { version: undefined, last: isForbidden(error) ? "Unreadable" : "Lives" });
    }
    return one.last === "Ended";
  }

  function look(process: Process, signal: AbortSignal): Known {
    const sender = senderOf(process);
    const before = known.get(sender);
    if (before !== undefined && clock.monotonic() < before.readAt + READ_AGAIN_MS) return before;
    const next = before ?? {
      version: undefined,
      at: 0,
      readAt: 0,
      ended: Promise.resolve(false),
      last: "Lives" as Look,
    };
    next.readAt = clock.monotonic();
    next.ended = read(process, next, signal);
    known.delete(sender);
    known.set(sender, next);
    const [oldest] = known.keys();
    if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
    return next;
  }

  return {
    hasEnded(process, signal) {
      if (process.namespace === installation) return Promise.resolve(members.hasEnded(process.lease));
      return look(process, signal).ended;
    },
    hasSenderEnded(sender) {
      const separator = sender.indexOf("/");
      if (separator < 0) return true; // of no process that ever had a lease
      const process = { namespace: sender.slice(0, separator), lease: sender.slice(separator + 1) };
      if (process.namespace === installation) return members.hasEnded(process.lease);
      return look(process, NEVER).last !== "Lives";
    },
  };
}

const NEVER = new AbortController().signal;
