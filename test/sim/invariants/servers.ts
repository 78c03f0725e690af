import type { CoreRequest } from "../../../src/simulator/core.ts";
import { type Json, objectAt, textAt } from "../api-server/json.ts";
import type { Storage } from "../api-server/storage.ts";
import type { AnsweredRequest } from "../network/api-connections.ts";
import { OPERATOR_NAMESPACE } from "../operator/process.ts";
import { createsSomething, spareOf } from "../scenario/manifests.ts";
import type { Judge } from "./violation.ts";

/** Judges which process sends for which account. */
export type ServersWatch = {
  toApi(identity: string, request: AnsweredRequest): void;
  toService(identity: string, request: CoreRequest): void;
  /** The living process that each account names, by `COLLECTION KEY`; undefined: none. */
  present(): Map<string, string | undefined>;
  /** How often an account has named another process than before. */
  moves(): number;
};

const LEASES = "leases.coordination.k8s.io";
const ACCOUNTS = ["clusteraccounts.mooring.dev", "accounts.mooring.dev"];
const LISTED = ["gpuendpoints", "speechjobs", "videojobs"];
/** A watch that shows nothing is given up after 100 s. */
const PROBE_SEES_MS = 120_000;
/** A restored lease or account can show an earlier process. Its holder notices this within the time in which it has to renew the lease. */
const RENEWED_MS = 10_000;
/** A process sends nothing that costs something when it last read the account so long ago. */
const CONFIRMED_MS = 10_000;

export function createServersWatch(storage: Storage, now: () => number, judge: Judge): ServersWatch {
  /** When a process began to list a kind last, by `PROCESS KIND`. */
  const lists = new Map<string, number>();
  /** Since when nobody else could do anything for an account that names this process. */
  const free = new Map<string, { server: string | undefined; since: number }>();
  /** When an account had no living server last, or got one. */
  const unserved = new Map<string, number>();
  /** Accounts that are gone. Their servers see this with the next read, and what they send until then is theirs. */
  const deleted = new Map<string, { server: string | undefined; at: number }>();
  let moves = 0;
  let restoredAt = Number.NEGATIVE_INFINITY;
  storage.onRestore(() => {
    restoredAt = now();
    free.clear();
  });

  storage.onEvent((id, { object, type }) => {
    if (id === LEASES && !isHeld(object)) freed(textAt(object["metadata"], "name") ?? "");
    if (!ACCOUNTS.includes(id)) return;
    const key = keyOf(id, object);
    const server = serverIn(object);
    if (type === "DELETED") deleted.set(key, { server, at: now() });
    if (type === "DELETED") return;
    const before = free.get(key);
    if (server !== undefined && before?.server === undefined) unserved.set(key, now());
    if (before === undefined)
      free.set(key, { server, since: -1 }); // nobody has served it before
    else if (server === undefined && before.server !== undefined) Object.assign(before, { server, since: now() });
    else if (server !== undefined && server !== before.server) {
      if (before.server === undefined || !isLiving(before.server)) moves++;
      else judge.violated("OneServer", `${key} names ${server} although ${before.server} lives`);
      free.set(key, { server, since: before.server === undefined ? before.since : Math.min(before.since, now()) });
    }
  });

  /** The lease of a process has ended. */
  function freed(name: string): void {
    for (const one of free.values()) {
      if (one.server === name) Object.assign(one, { server: undefined, since: now() });
    }
  }

  function isLiving(name: string): boolean {
    const lease = storage.get(LEASES, `${OPERATOR_NAMESPACE}/${name}`);
    return lease !== undefined && isHeld(lease);
  }

  function accounts(): { key: string; object: Json }[] {
    return ACCOUNTS.flatMap((id) =>
      [...storage.collection(id).objects.values()].map((object) => ({ key: keyOf(id, object), object })),
    );
  }

  function present(): Map<string, string | undefined> {
    return new Map(
      accounts().map(({ key, object }) => {
        const server = serverIn(object);
        return [key, server !== undefined && isLiving(server) ? server : undefined];
      }),
    );
  }

  /** The accounts whose key a request has. */
  const ofRequest = (key: string, spare: string | undefined) =>
    spare === undefined ? !key.includes("/spare-") : key.endsWith(`/${spare}`);

  return {
    present,
    moves: () => moves,
    toApi(identity, { method, path, query }) {
      const kind = LISTED.find((one) => path.endsWith(`/${one}`));
      const isList = query.get("watch") === null || query.get("sendInitialEvents") !== null;
      if (method === "GET" && kind !== undefined && isList) lists.set(`${identity} ${kind}`, now());
    },
    toService(identity, request) {
      if (now() - restoredAt < RENEWED_MS) return;
      const spare = spareOf(request.authorization);
      const servers = [...present()].filter(([key]) => ofRequest(key, spare));
      for (const [key, server] of servers) if (server === undefined) unserved.set(key, now());
      // Until a process sees that another one serves an account that nobody needed, it reads for it.
      const isProbe =
        request.method === "GET" && servers.some(([key]) => now() - (unserved.get(key) ?? -1e9) < PROBE_SEES_MS);
      const own = servers.filter(([, server]) => server === identity);
      const isDeparted = [...deleted].some(
        ([key, { server, at }]) => server === identity && now() - at < CONFIRMED_MS && ofRequest(key, spare),
      );
      if (own.length === 0 && !isProbe && !isDeparted) {
        const what = `${identity} sends ${request.method} ${request.path}`;
        judge.violated(
          "OneServer",
          `${what}, but accounts are served by ${servers.map(([, server]) => server).join(", ")}`,
        );
      }
      if (!createsSomething(request)) return;
      for (const [key] of own) {
        const since = free.get(key)?.since ?? 0;
        const late = LISTED.filter((kind) => (lists.get(`${identity} ${kind}`) ?? -1) < since);
        if (late.length === 0) continue;
        judge.violated(
          "TermFresh",
          `${identity} sends ${request.path} for ${key} with lists of ${late} from before ${since} ms`,
        );
      }
    },
  };
}

const isHeld = (lease: Json): boolean => (textAt(lease["spec"], "holderIdentity") ?? "") !== "";

const keyOf = (id: string, { metadata }: Json): string =>
  `${id} ${textAt(metadata, "namespace") ?? ""}/${textAt(metadata, "name")}`;

/** The process that an account names, unless that one has released it. */
function serverIn(account: Json): string | undefined {
  const server = objectAt(objectAt(account, "status"), "server");
  return server["released"] === undefined ? textAt(server, "lease") : undefined;
}
