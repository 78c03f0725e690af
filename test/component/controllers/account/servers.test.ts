import { describe, expect, it } from "vitest";
import {
  type Account,
  type AccountStatus,
  accountSpecSchema,
  type ClusterAccount,
  clusterAccountSpecSchema,
} from "../../../../src/api/v1alpha1/account.ts";
import { getCondition } from "../../../../src/api/v1alpha1/conditions.ts";
import { accountResource, clusterAccountResource } from "../../../../src/api/v1alpha1/kinds.ts";
import { PENDING_STATUS } from "../../../../src/api/v1alpha1/meta.ts";
import { createServers } from "../../../../src/controllers/account/servers.ts";
import { createKind } from "../../../../src/controllers/controller-deps.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { manifest, merged } from "../../../support/manifests.ts";
import { capturedLog, failure, scriptedApi } from "../../../support/scripted-api-server.ts";
import { storedMeta } from "../../../support/stored-meta.ts";

const KEY = "Account/team/default";
const CLUSTER_KEY = "ClusterAccount/default";
const signal = new AbortController().signal;
const theirs = { namespace: "theirs", lease: "mooring-operator", leaseUID: "lease-2", since: "2020-01-01T00:00:00Z" };
const ours = { namespace: "ours", lease: "mooring-operator", leaseUID: "lease-1", since: "2026-03-01T00:00:00Z" };
/** An operator has reconciled the account. */
const observed = { observedGeneration: 1 };

type AnyAccount = Account | ClusterAccount;
type LeaseState = { uid: string; holder: string; version: string } | "Missing" | "Forbidden";

function accountOf(status?: Partial<AccountStatus>): Account {
  const spec = accountSpecSchema.parse(manifest("account").spec);
  const metadata = storedMeta({ name: "default" });
  return { kind: "Account", metadata, spec, status: { conditions: [], ...status } };
}

function clusterAccountOf(status?: Partial<AccountStatus>): ClusterAccount {
  const spec = clusterAccountSpecSchema.parse(manifest("clusterAccount").spec);
  const { namespace: _namespace, ...metadata } = storedMeta({ name: "default" });
  return { kind: "ClusterAccount", metadata, spec, status: { conditions: [], ...status } };
}

/** The installation `ours`, over an API server that stores one account and the lease of the installation `theirs`. */
async function world<T extends AnyAccount>(object: T) {
  const clock = createFakeClock();
  const { log, lines } = capturedLog();
  const cluster = object.metadata.namespace === undefined;
  const store = createStore<T>();
  store.upsert(object);
  const key = cluster ? CLUSTER_KEY : KEY;
  const name = cluster ? "default" : "team/default";
  let stored: AnyAccount = object;
  let version = 10;
  let lease: LeaseState = { uid: "lease-2", holder: "pod-2", version: "1" };
  const write = (status: object): AnyAccount => {
    const metadata = { ...stored.metadata, resourceVersion: String(version++) };
    stored = { ...stored, metadata, status: merged({ ...stored.status }, { ...status }) } as AnyAccount;
    return stored;
  };
  const readLease = () => {
    if (lease === "Missing") return failure(404, "NotFound");
    if (lease === "Forbidden") return failure(403, "Forbidden");
    const { uid, holder, version: resourceVersion } = lease;
    return { body: { metadata: { uid, resourceVersion }, spec: { holderIdentity: holder } } };
  };
  const api = await scriptedApi(({ method, path, body }) => {
    if (path.includes("/leases/")) return readLease();
    if (method === "GET") return { body: { metadata: {}, items: [stored] } };
    const { metadata, status } = body as { metadata: { resourceVersion: string }; status: AccountStatus };
    if (metadata.resourceVersion !== stored.metadata.resourceVersion) return failure(409, "Conflict");
    return { body: write(status) };
  });
  const kind = createKind(api.client, { resource: cluster ? clusterAccountResource : accountResource, store });
  const events: string[] = [];
  const lost: Error[] = [];
  const checks: string[] = [];
  const servers = createServers({
    kube: api.client,
    clock,
    log,
    recorder: { warning: (_object, reason) => void events.push(`Warning ${reason}`) },
    installation: "ours",
    lease: () => ({ name: "mooring-operator", uid: "lease-1" }),
    watchNamespaces: [],
    onLost: (error) => void lost.push(error),
    check: (one) => void checks.push(one),
  });
  return {
    servers,
    clock,
    events,
    lost,
    checks,
    lines,
    key,
    count: (method: string) => api.requests.filter((one) => one.method === method).length,
    stored: () => stored,
    lease(state: LeaseState): void {
      lease = state;
    },
    /** Somebody writes the status. `seen`: the watch shows it. */
    change(status: object, { uid = stored.metadata.uid, seen = true } = {}): void {
      stored = { ...stored, metadata: { ...stored.metadata, uid } } as AnyAccount;
      const changed = write(status) as T;
      if (seen) store.upsert(changed);
    },
    async serve(needed = false) {
      const present = store.get(name);
      if (present === undefined) throw new Error("no account");
      return (await servers.serve(key, { kind, object: present, isNeeded: () => needed }, signal)).kind;
    },
  };
}

describe("a new account", () => {
  it("is served at once, with the status that the API server gives it", async () => {
    const w = await world(accountOf(PENDING_STATUS));
    expect(await w.serve()).toBe("Ours");
  });

  it("names its server before it is used, and is not written again", async () => {
    const w = await world(accountOf());
    expect(() => w.servers.assertServing(KEY)).toThrow("does not surely name this installation: nothing is sent");
    expect(await w.serve()).toBe("Ours");
    expect(w.stored().status?.server).toEqual(ours);
    expect(w.servers.requires(KEY)).toBe(true);
    expect(() => w.servers.assertServing(KEY)).not.toThrow();
    expect(await w.serve()).toBe("Ours");
    await w.clock.advance(3_600_000);
    expect(await w.serve()).toBe("Ours");
    expect(w.count("PATCH")).toBe(1);
  });

  it("is not served by the one whose write comes second", async () => {
    const w = await world(accountOf());
    w.change({}, { seen: false });
    await expect(w.serve()).rejects.toMatchObject({ status: 409 });
    expect(() => w.servers.assertServing(KEY)).toThrow();
  });

  it("is served as a ClusterAccount at a start, before an object that needs it is reconciled", async () => {
    const w = await world(clusterAccountOf());
    expect(await w.serve(true)).toBe("Ours");
    expect([w.servers.requires(w.key), w.checks]).toEqual([true, []]);
  });

  it("is served as a ClusterAccount only when an object needs it", async () => {
    const w = await world(clusterAccountOf());
    expect(await w.serve()).toBe("Unneeded");
    expect([w.servers.requires(w.key), w.checks]).toEqual([false, [CLUSTER_KEY]]);
    expect(await w.serve()).toBe("Ours");
    expect(w.servers.requires(w.key)).toBe(true);
  });
});

it("a restarted operator of the same installation has the account at once", async () => {
  const w = await world(accountOf({ server: { ...ours, since: theirs.since }, ...observed }));
  expect(await w.serve()).toBe("Ours");
  expect(w.servers.requires(KEY)).toBe(true);
});

describe("an account that another installation serves", () => {
  it("is left alone, and the account, the log, an event and the readiness say so", async () => {
    const w = await world(accountOf({ server: theirs }));
    expect(await w.serve()).toBe("Other");
    expect(w.servers.isElsewhere(KEY)).toBe(true);
    expect([w.servers.requires(KEY), w.checks]).toEqual([false, []]);
    const contested = getCondition(w.stored().status?.conditions, "Contested");
    expect(contested).toMatchObject({ status: "True", reason: "ServedByAnotherInstallation" });
    expect(contested?.message).toContain("the one in namespace theirs uses it");
    expect(contested?.message).toMatch(
      /kubectl patch account -n team default --subresource=status --type=merge -p '\{"status":\{"server":null\}\}'$/,
    );
    expect(w.events).toEqual(["Warning ServedByAnotherInstallation"]);
    expect(() => w.servers.assertUncontested()).toThrow("Two installations of Mooring serve this account");
    expect(w.stored().status?.server).toEqual(theirs);

    await w.serve();
    expect([w.count("PATCH"), w.events.length, w.lines.length]).toEqual([1, 1, 1]);
  });

  it("is no conflict as a ClusterAccount that no object here needs", async () => {
    const w = await world(clusterAccountOf({ server: theirs }));
    expect([await w.serve(), w.count("PATCH")]).toEqual(["Other", 0]);
    expect(() => w.servers.assertUncontested()).not.toThrow();
    w.servers.requires(w.key);
    await w.serve();
    expect(() => w.servers.assertUncontested()).toThrow();
  });

  it.each<{ given: string; state: LeaseState; afterMs: number }>([
    { given: "nobody holds their lease", state: { uid: "lease-2", holder: "", version: "2" }, afterMs: 0 },
    { given: "their lease is missing", state: "Missing", afterMs: 15_000 },
    { given: "another lease has its name", state: { uid: "new", holder: "pod-3", version: "9" }, afterMs: 15_000 },
    { given: "their lease does not change", state: { uid: "lease-2", holder: "pod-2", version: "1" }, afterMs: 30_000 },
  ])("is taken over when $given for $afterMs ms by the own clock, and not before", async ({ state, afterMs }) => {
    const w = await world(accountOf({ server: theirs, ...observed }));
    w.lease(state);
    if (afterMs > 0) {
      expect(await w.serve()).toBe("Other");
      await w.clock.advance(afterMs - 2_000);
      expect(await w.serve()).toBe("Other");
      await w.clock.advance(2_000);
    }
    expect(await w.serve()).toBe("Ours");
    expect(w.servers.isElsewhere(KEY)).toBe(false);
    expect(w.stored().status?.server?.namespace).toBe("ours");
    expect(getCondition(w.stored().status?.conditions, "Contested")).toBeUndefined();
    expect(() => w.servers.assertUncontested()).not.toThrow();
  });

  it.each<{ given: string; server: typeof theirs | { namespace: string; since: string }; state: LeaseState }>([
    { given: "without the right to read their lease", server: theirs, state: "Forbidden" },
    { given: "without a lease of theirs", server: { namespace: "theirs", since: theirs.since }, state: "Missing" },
  ])("stays theirs $given", async ({ server, state }) => {
    const w = await world(accountOf({ server, ...observed }));
    w.lease(state);
    for (let minute = 0; minute < 5; minute++) {
      expect(await w.serve()).toBe("Other");
      await w.clock.advance(60_000);
    }
  });

  it("costs one read of their lease in 2 s, however many accounts they serve", async () => {
    const w = await world(accountOf({ server: theirs }));
    for (let look = 0; look < 20; look++) {
      expect(await w.serve()).toBe("Other");
      await w.clock.advance(200);
    }
    expect(w.count("GET")).toBe(2);
  });

  it("stays theirs while their lease is renewed", async () => {
    const w = await world(accountOf({ server: theirs }));
    for (let renewal = 1; renewal <= 5; renewal++) {
      expect(await w.serve()).toBe("Other");
      await w.clock.advance(29_000);
      w.lease({ uid: "lease-2", holder: "pod-2", version: `r${renewal}` });
    }
    expect(await w.serve()).toBe("Other");
  });

  it.each([
    ["all namespaces", undefined, false],
    ["the namespace of the object", ["team", "other"], false],
    ["other namespaces only", ["other"], true],
  ])("concerns the objects of this installation alone when it watches %s", async (_name, namespaces, expected) => {
    const server = { ...theirs, ...(namespaces === undefined ? {} : { namespaces }) };
    const w = await world(accountOf({ server }));
    await w.serve();
    expect(w.servers.isUnwatchedElsewhere(KEY, "team")).toBe(expected);
    w.lease({ uid: "lease-2", holder: "", version: "2" });
    await w.clock.advance(2_000);
    await w.serve();
    expect(w.servers.isUnwatchedElsewhere(KEY, "team")).toBe(false);
  });
});

describe("an entry that somebody removes", () => {
  it("counts for another 15 s where it is not ours", async () => {
    const w = await world(accountOf({ ...observed }));
    expect(await w.serve()).toBe("Other");
    expect(w.events).toEqual([]);
    await w.clock.advance(14_999);
    expect(await w.serve()).toBe("Other");
    await w.clock.advance(1);
    expect(await w.serve()).toBe("Ours");
  });

  it("is written again by its server", async () => {
    const w = await world(accountOf());
    await w.serve();
    w.change({ server: null, ...observed });
    expect(await w.serve()).toBe("Ours");
    expect([w.stored().status?.server, w.lost]).toEqual([ours, []]);
  });

  it("stops its server within 10 s, although no watch shows it", async () => {
    const w = await world(accountOf());
    await w.serve();
    w.change({ server: null, ...observed }, { seen: false });
    await w.servers.confirm(KEY, signal);
    expect(() => w.servers.assertServing(KEY)).not.toThrow();
    await w.clock.advance(5_000);
    await expect(w.servers.confirm(KEY, signal)).rejects.toThrow("nothing is sent");
    await w.clock.advance(5_000);
    expect(() => w.servers.assertServing(KEY)).toThrow("nothing is sent");
  });
});

describe("an account that this process serves", () => {
  it("is read at most every 5 s while it sends", async () => {
    const w = await world(accountOf());
    await w.serve();
    for (let request = 0; request < 100; request++) {
      await w.clock.advance(100);
      await Promise.all([w.servers.confirm(KEY, signal), w.servers.confirm(KEY, signal)]);
      expect(() => w.servers.assertServing(KEY)).not.toThrow();
    }
    expect(w.count("GET")).toBe(2);
  });

  it("ends the process when another installation serves it, as the watch shows", async () => {
    const w = await world(accountOf());
    await w.serve();
    w.change({ server: theirs });
    await expect(w.serve()).rejects.toThrow("namespace theirs serves Account/team/default");
    expect(w.lost).toHaveLength(1);
  });

  it("ends the process when another installation serves it, as a read before a request shows", async () => {
    const w = await world(accountOf());
    await w.serve();
    w.change({ server: theirs }, { seen: false });
    await w.clock.advance(5_000);
    await expect(w.servers.confirm(KEY, signal)).rejects.toThrow("namespace theirs serves Account/team/default");
    expect(w.lost).toHaveLength(1);
  });

  it("does not serve an account that is deleted and created again: that one is served anew", async () => {
    const w = await world(accountOf());
    await w.serve();
    w.change({ server: null }, { uid: "another-uid" });
    expect(await w.serve()).toBe("Ours");
    expect(w.count("PATCH")).toBe(2);
  });
});
