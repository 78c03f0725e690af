import type { AccountStatus } from "../../api/v1alpha1/account.ts";
import { removeCondition } from "../../api/v1alpha1/conditions.ts";
import { type Clock, delay, rfc3339, stopwatch } from "../../base/clock.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isNotFound } from "../../kube/errors.ts";
import type { Place, Resource } from "../../kube/resource.ts";
import type { AnyAccount, ServeRequest, Server } from "./other-servers.ts";

/** `status.server` of accounts, as this process writes and reads it. Each write has the account's version as the lock. */
export type ServerEntry = {
  /** Whether the entry names this process. */
  isSelf(server: Server | undefined): boolean;
  /** What the status names when this process has probed the account and nobody has served it. */
  probedOnly(): Server;
  /** Names this process. `age`: ms since the begin of the write. @throws KubeError 409 when the account changed meanwhile */
  write<T extends AnyAccount>(request: ServeRequest<T>, signal: AbortSignal): Promise<{ object: T; age: () => number }>;
  /** The entry as the API server has it now. Undefined: there is none, or another account has the name. */
  read(account: AccountPlace, signal: AbortSignal): Promise<Server | undefined>;
  /** Says that this process has released the account, until it is written or the signal aborts. */
  release(account: AccountPlace, signal: AbortSignal): Promise<void>;
};

/** `uid`: of the account object. One that is deleted and created again has no server. `patchStatus`: the store has the response. */
export type AccountPlace = {
  resource: Resource;
  place: Place;
  uid: string;
  patchStatus(body: object, signal: AbortSignal): Promise<void>;
};

type ServerEntryOptions = {
  kube: Pick<KubeClient, "list">;
  clock: Clock;
  /** Namespace of the leases. */
  installation: string;
  members: { readonly name: string };
  /** The namespaces that this installation watches; empty for all. */
  watchNamespaces: readonly string[];
};

/** The status shows at most so many namespaces. */
const SHOWN_NAMESPACES = 256;
const RETRY_MS = 200;

export function createServerEntry(options: ServerEntryOptions): ServerEntry {
  const { kube, clock, installation, members, watchNamespaces } = options;
  const isShown = watchNamespaces.length > 0 && watchNamespaces.length <= SHOWN_NAMESPACES;
  const namespaces = isShown ? { namespaces: [...watchNamespaces] } : {};

  /** Its right is `list`: the operator watches accounts, and reads none by name. */
  async function find({ resource, place, uid }: AccountPlace, signal: AbortSignal) {
    const query = { fieldSelector: `metadata.name=${place.name}` };
    const { items } = await kube.list<AnyAccount>(resource, { namespace: place.namespace }, { signal, query });
    return items.find(({ metadata }) => metadata.uid === uid);
  }

  const isSelf = (server: Server | undefined) => server?.namespace === installation && server.lease === members.name;

  async function releaseOnce(account: AccountPlace, signal: AbortSignal): Promise<void> {
    const found = await find(account, signal);
    const server = found?.status?.server;
    if (found === undefined || server === undefined || !isSelf(server) || server.released !== undefined) return;
    const { resourceVersion } = found.metadata;
    // Times are whole seconds, and the same time for both means that nobody has served the account (isProbedOnly).
    const released = rfc3339(Math.max(clock.now(), (Date.parse(server.since) || 0) + 1_000));
    const body = { metadata: { resourceVersion }, status: { server: { released } } };
    await account.patchStatus(body, signal);
  }

  const own = () => ({ namespace: installation, lease: members.name, ...namespaces, since: rfc3339(clock.now()) });

  return {
    isSelf,
    probedOnly() {
      const server = own();
      return { ...server, released: server.since };
    },
    async write({ kind, object }, signal) {
      const age = stopwatch(clock); // counted from before the request
      const { conditions, ...status }: AccountStatus = object.status ?? { conditions: [] };
      const next = { ...status, server: own(), conditions: removeCondition(conditions, "Contested") };
      return { object: await kind.patchStatus(object, next, signal), age };
    },
    read: async (account, signal) => (await find(account, signal))?.status?.server,
    async release(account, signal) {
      for (;;) {
        try {
          return await releaseOnce(account, signal);
        } catch (error) {
          if (isNotFound(error)) return;
          signal.throwIfAborted();
        }
        await delay(clock, RETRY_MS, signal);
        signal.throwIfAborted();
      }
    },
  };
}
