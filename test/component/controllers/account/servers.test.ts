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
import { FINALIZER, PENDING_STATUS } from "../../../../src/api/v1alpha1/meta.ts";
import { createProcessEnds } from "../../../../src/controllers/account/process-ends.ts";
import { createServers } from "../../../../src/controllers/account/servers.ts";
import { createKind } from "../../../../src/controllers/controller-deps.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { createFakeClock, settle } from "../../../support/fake-clock.ts";
import { manifest, merged } from "../../../support/manifests.ts";
import { capturedLog, failure, scriptedApi } from "../../../support/scripted-api-server.ts";
import { storedMeta } from "../../../support/stored-meta.ts";

const KEY = "Account/team/default";
const CLUSTER_KEY = "ClusterAccount/default";
const signal = new AbortController().signal;
const theirs = { namespace: "theirs", lease: "their-pod", since: "2020-01-01T00:00:00Z" };
const ours = { namespace: "ours", lease: "pod-1", since: "2026-03-01T00:00:00Z" };
/** Another process of this installation. */
const sibling = { namespace: "ours", lease: "pod-2", since: "2020-01-01T00:00:00Z" };
/** An operator has reconciled the account. */
const observed = { observedGeneration: 1 };

type AnyAccount = Account | ClusterAccount;
type LeaseState = { holder: string; version: string } | "Missing" | "Forbidden";

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

type Others = { load: number; knownMs?: number; ready?: boolean; excludes?: boolean }[];

/**
 * The process `pod-1` of the installation `ours`, over an API server that stores one account and the lease of a process of the installation
 * `theirs`. `others`: the other processes of `ours`, from `pod-2` on, with the number of accounts that they serve.
 */
async function world<T extends AnyAccount>(object: T, { others = [] as Others } = {}) {
  const clock = createFakeClock();
  const { log, lines } = capturedLog();
  const cluster = object.metadata.namespace === undefined;
  const store = createStore<T>();
  store.upsert(object);
  const key = cluster ? CLUSTER_KEY : KEY;
  const name = cluster ? "default" : "team/default";
  let stored: AnyAccount = object;
  const second = accountOf({ server: ours });
  second.metadata.name = "second";
  let version = 10;
  let lease: LeaseState = { holder: "their-pod", version: "1" };
  const write = (status: object, method = "PATCH"): AnyAccount => {
    const metadata = { ...stored.metadata, resourceVersion: String(version++) };
    const next = method === "PUT" ? status : merged({ ...stored.status }, { ...status });
    stored = { ...stored, metadata, status: next } as AnyAccount;
    return stored;
  };
  const readLease = () => {
    if (lease === "Missing") return failure(404, "NotFound");
    if (lease === "Forbidden") return failure(403, "Forbidden");
    const { holder, version: resourceVersion } = lease;
    return { body: { metadata: { resourceVersion }, spec: { holderIdentity: holder } } };
  };
  const api = await scriptedApi(({ method, path, body }) => {
    if (path.includes("/leases/")) return readLease();
    if (path.includes("/second")) return { body: second };
    if (method === "GET") return { body: { metadata: {}, items: [stored] } };
    const { metadata, status } = body as { metadata: { resourceVersion: string }; status: AccountStatus };
    if (metadata.resourceVersion !== stored.metadata.resourceVersion) return failure(409, "Conflict");
    return { body: write(status, method) };
  });
  const kind = createKind(api.client, { resource: cluster ? clusterAccountResource : accountResource, store });
  const events: string[] = [];
  const lost: Error[] = [];
  const taken: string[] = [];
  const checks: string[] = [];
  const ended = new Set<string>();
  const begun = { at: clock.monotonic() };
  const lists: (() => void)[] = [];
  const underWay = { account: false };
  /** `needed`: an object belongs to a ClusterAccount. */
  const own = { held: true, ready: true, needed: false };
  const processes = others.map(({ knownMs = 3_600_000, ready = true, excludes = false }, index) => ({
    ...{ name: `pod-${index + 2}`, ready, excludes, since: "2027", knownMs },
  }));
  const members = {
    name: "pod-1",
    surelyHeld: () => own.held,
    isReady: () => own.ready,
    isFirst: () => true,
    list: () => processes.filter(({ name }) => !ended.has(name)),
    hasEnded: (name: string) => ended.has(name),
  };
  const options = { kube: api.client, clock, members, installation: "ours" };
  const loaded = others.flatMap(({ load }, index) =>
    Array.from({ length: load }, () => accountOf({ server: { ...sibling, lease: `pod-${index + 2}` } })),
  );
  const servers = createServers({
    ...options,
    isNeeded: () => own.needed,
    log,
    recorder: { warning: (_object, reason) => void events.push(`Warning ${reason}`) },
    ends: createProcessEnds(options),
    watchNamespaces: [],
    accounts: () => [...store.list(), ...loaded],
    lists: { begunAt: () => begun.at, renew: () => new Promise<void>((resolve) => void lists.push(resolve)) },
    work: { isUnderWay: () => underWay.account, forget: () => {} },
    onLost: (error) => void lost.push(error),
    onTaken: (reason) => void taken.push(reason),
    check: (one) => void checks.push(one),
  });
  servers.observeAll();
  return {
    servers,
    clock,
    events,
    lost,
    taken,
    checks,
    lines,
    key,
    ended,
    loaded,
    own,
    underWay,
    /** New lists are there. */
    listed: async () => {
      for (const resolve of lists.splice(0)) resolve();
      await settle();
    },
    writes: () => api.requests.filter(({ method }) => method !== "GET").length,
    reads: () => api.requests.filter(({ method }) => method === "GET").length,
    stored: () => stored,
    lease(state: LeaseState): void {
      lease = state;
    },
    /** This process serves one more account. */
    /** Another account, which is free or names this process. */
    async serveSecond({ free = false } = {}) {
      const present = (free ? { ...accountOf(), metadata: second.metadata } : second) as AnyAccount as T;
      await servers.serve("Account/team/second", { kind, object: present }, signal);
    },
    /** `meanwhile`: what happens in the first seconds. */
    async giveUp(meanwhile = () => {}) {
      const given = servers.giveUp(signal);
      meanwhile();
      await clock.advance(5_000);
      return given;
    },
    /** Somebody writes the status. `seen`: the watch shows it. */
    change(status: object, { uid = stored.metadata.uid, seen = true } = {}): void {
      stored = { ...stored, metadata: { ...stored.metadata, uid } } as AnyAccount;
      const changed = write(status) as T;
      if (seen) store.upsert(changed);
    },
    async serve(needed = false) {
      own.needed = needed;
      const present = store.get(name);
      if (present === undefined) throw new Error("no account");
      const served = await servers.serve(key, { kind, object: present }, signal);
      if (served.kind === "Unneeded") store.upsert(write({ ...observed, server: served.server }) as T);
      return served.kind;
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
    expect(() => w.servers.assertServing(KEY)).toThrow("does not surely name this process: nothing is sent");
    expect(await w.serve()).toBe("Ours");
    expect(w.stored().status?.server).toEqual(ours);
    expect(w.servers.requires(KEY)).toBe(true);
    expect(() => w.servers.assertServing(KEY)).not.toThrow();
    expect(await w.serve()).toBe("Ours");
    await w.clock.advance(3_600_000);
    expect(await w.serve()).toBe("Ours");
    expect(w.writes()).toBe(1);
  });

  it("is sent nothing while its server does not surely hold its own lease", async () => {
    const w = await world(accountOf());
    await w.serve();
    w.own.held = false;
    expect(() => w.servers.assertServing(KEY)).toThrow("nothing is sent");
    w.own.held = true;
    expect(() => w.servers.assertServing(KEY)).not.toThrow();
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
    expect([w.servers.requires(w.key), w.checks]).toEqual([true, [CLUSTER_KEY]]);
  });

  it("is served at once as a ClusterAccount that was probed before an object needed it, although its status was written", async () => {
    const w = await world(clusterAccountOf());
    expect(await w.serve()).toBe("Unneeded");
    await w.clock.advance(1_000);
    w.servers.requires(w.key);
    expect(await w.serve()).toBe("Ours");
    expect(w.stored().status?.server).toEqual({ ...ours, since: "2026-03-01T00:00:01Z" });
  });

  it("waits for new lists when another process probed it", async () => {
    const w = await world(clusterAccountOf(observed), { others: [{ load: 0 }] });
    await w.clock.advance(1_000);
    w.change({ server: { ...sibling, released: sibling.since } });
    expect(await w.serve(true)).toBe("Between");
    await w.listed();
    expect(await w.serve(true)).toBe("Ours");
  });

  it("waits for new lists when another process served it since the probe", async () => {
    const w = await world(clusterAccountOf());
    await w.serve();
    await w.clock.advance(1_000);
    w.change({ server: { ...sibling, released: "2026-03-01T00:00:01Z" } });
    expect(await w.serve(true)).toBe("Between");
  });

  it("counts for another 15 s when somebody removed the entry of the probe", async () => {
    const w = await world(clusterAccountOf());
    expect([await w.serve(), await w.serve()]).toEqual(["Unneeded", "Unneeded"]);
    w.change({ server: null });
    expect(await w.serve(true)).toBe("Other");
    await w.clock.advance(15_000);
    expect(await w.serve(true)).toBe("Between");
  });

  it("goes to the process that serves the fewest, whoever probed it", async () => {
    const probed = { server: { ...sibling, released: sibling.since }, ...observed };
    const w = await world(clusterAccountOf(probed), { others: [{ load: 0 }] });
    await w.serveSecond();
    expect(await w.serve(true)).toBe("Other");
    await w.clock.advance(2_000);
    expect(await w.serve(true)).toBe("Ours");
    expect(w.taken).toEqual(["New"]);
  });

  it("is served as a ClusterAccount only when an object needs it; before, the first process probes it", async () => {
    const w = await world(clusterAccountOf());
    expect(await w.serve()).toBe("Unneeded");
    expect(() => w.servers.assertServing(w.key)).not.toThrow();
    expect(() => w.servers.assertConfirmed(w.key)).toThrow("nothing is sent");
    expect([w.servers.requires(w.key), w.checks]).toEqual([false, [CLUSTER_KEY]]);
    expect(await w.serve()).toBe("Ours");
    expect(w.servers.requires(w.key)).toBe(true);
  });
});

describe("an account that another process of the installation serves", () => {
  it("is left alone, without a word, while that process lives", async () => {
    const w = await world(accountOf({ server: sibling, ...observed }), { others: [{ load: 1 }] });
    for (let minute = 0; minute < 5; minute++) {
      expect(await w.serve()).toBe("Other");
      await w.clock.advance(60_000);
    }
    expect([w.servers.requires(KEY), w.servers.isElsewhere(KEY), w.lines, w.writes()]).toEqual([false, false, [], 0]);
  });

  it.each([
    { when: "that process has released it", released: "2026-03-01T00:00:00Z", ended: [] },
    { when: "that process has ended", ended: ["pod-2"] },
  ])("is taken at once when $when, and served when lists have begun since then", async ({ released, ended }) => {
    const w = await world(accountOf({ server: sibling, ...observed }), { others: [{ load: 1 }] });
    expect(await w.serve()).toBe("Other");
    await w.clock.advance(1_000);
    for (const one of ended) w.ended.add(one);
    if (released !== undefined) w.change({ server: { ...sibling, released } });
    expect(await w.serve()).toBe("Between");
    expect(w.stored().status?.server).toMatchObject({ lease: "pod-1" });
    expect([w.servers.holds(KEY), w.servers.serves(KEY)]).toEqual([true, false]);
    expect(() => w.servers.assertServing(KEY)).toThrow("nothing is sent");
    await w.listed();
    expect(await w.serve()).toBe("Ours");
    expect(() => w.servers.assertConfirmed(KEY)).not.toThrow();
  });

  it("is served with the present lists when it was free before they began", async () => {
    const w = await world(accountOf({ server: { ...sibling, released: "2026-03-01T00:00:00Z" }, ...observed }));
    expect(await w.serve()).toBe("Ours");
  });

  it("goes to the process that serves the fewest, but not back; one that serves more waits 2 s for each of those", async () => {
    const free = accountOf({ server: { ...sibling, released: "2026-03-01T00:00:00Z" }, ...observed });
    const w = await world(free, {
      others: [{ load: 0 }, { load: 0 }, { load: 0 }, { load: 0, ready: false }, { load: 1 }],
    });
    await w.serveSecond();
    expect(await w.serve()).toBe("Other");
    await w.clock.advance(3_999);
    expect(await w.serve()).toBe("Other");
    await w.clock.advance(1);
    expect(await w.serve()).toBe("Ours");
  });

  it("counts while it is being taken: one of two free accounts goes to the process that serves fewer", async () => {
    const w = await world(accountOf(), { others: [{ load: 0 }] });
    await Promise.all([w.serve(), w.serveSecond({ free: true })]);
    expect(w.servers.count()).toBe(1);
  });

  it("is not taken by a process that has not read all objects", async () => {
    const w = await world(accountOf());
    w.own.ready = false;
    expect(await w.serve()).toBe("Other");
    w.own.ready = true;
    expect(await w.serve()).toBe("Ours");
  });

  it("is not taken while a process lives that excludes all others, such as a cleanup", async () => {
    const w = await world(accountOf(), { others: [{ load: 0, excludes: true }] });
    await w.clock.advance(60_000);
    expect(await w.serve()).toBe("Other");
    w.ended.add("pod-2");
    expect(await w.serve()).toBe("Ours");
  });
});

describe("an account that this process serves and another one could", () => {
  it.each([
    { name: "is released when the other one serves two fewer", other: { load: 0 }, released: true },
    { name: "stays when the other one serves one fewer", other: { load: 1 }, released: false },
    {
      name: "stays when the other one lives for less than 5 minutes",
      other: { load: 0, knownMs: 299_999 },
      released: false,
    },
    { name: "stays when the other one has not read all objects", other: { load: 0, ready: false }, released: false },
  ])("$name", async ({ other, released }) => {
    const w = await world(accountOf(), { others: [other] });
    await w.serve();
    await w.clock.advance(5_000);
    await w.serve();
    await w.serveSecond();
    expect(w.servers.count()).toBe(2);
    expect(await w.giveUp()).toBe(released ? KEY : undefined);
    expect([w.servers.serves(KEY), w.stored().status?.server?.released !== undefined]).toEqual([!released, released]);
  });

  it("stays while something is under way for it", async () => {
    const w = await world(accountOf(), { others: [{ load: 0 }] });
    w.underWay.account = true;
    await w.clock.advance(5_000);
    await w.serve();
    await w.serveSecond();
    expect([await w.giveUp(), w.servers.serves(KEY)]).toEqual([undefined, true]);
  });

  it("stays when the other one, which serves none, stops", async () => {
    const w = await world(accountOf(), { others: [{ load: 0 }] });
    await w.clock.advance(5_000);
    await w.serve();
    await w.serveSecond();
    expect([await w.giveUp(() => void w.ended.add("pod-2")), w.servers.serves(KEY)]).toEqual([undefined, true]);
  });

  it.each([
    ["leaves with its objects", true],
    ["stays when nothing is left that needs it, because nobody would take it", false],
  ])("of the cluster %s", async (_name, needed) => {
    const w = await world(clusterAccountOf(), { others: [{ load: 0 }] });
    await w.clock.advance(5_000);
    await w.serve(true);
    await w.serveSecond();
    w.own.needed = needed;
    const given = await w.giveUp();
    expect([given === CLUSTER_KEY, w.servers.serves(CLUSTER_KEY)]).toEqual([needed, !needed]);
  });

  it("stays when the one that served fewer has got some, and another one stops", async () => {
    const w = await world(accountOf(), { others: [{ load: 0 }, { load: 2 }] });
    await w.clock.advance(5_000);
    await w.serve();
    await w.serveSecond();
    await w.listed();
    const given = w.giveUp(() => {
      for (const { status } of w.loaded) Object.assign(status?.server ?? {}, { lease: "pod-2" });
    });
    expect([await given, w.servers.serves(KEY)]).toEqual([undefined, true]);
  });

  it("is released at a stop: from the call on, nothing is sent, and nothing is taken", async () => {
    const w = await world(accountOf());
    await w.serve();
    w.servers.stop();
    expect(() => w.servers.assertServing(KEY)).toThrow("nothing is sent");
    await w.servers.release(signal);
    expect(w.stored().status?.server).toMatchObject({ lease: "pod-1", released: "2026-03-01T00:00:01Z" });
    w.change({});
    expect(await w.serve()).toBe("Between");
  });

  it("is released as well when it was being taken at the stop", async () => {
    const w = await world(accountOf());
    const taken = w.serve();
    w.servers.stop();
    await w.servers.release(signal);
    await taken;
    expect(w.stored().status?.server).toMatchObject({ lease: "pod-1", released: "2026-03-01T00:00:01Z" });
  });

  it("is not released when another process has it by now", async () => {
    const w = await world(accountOf());
    await w.serve();
    w.change({ server: sibling }, { seen: false });
    w.servers.stop();
    await w.servers.release(signal);
    expect(w.stored().status?.server).toEqual(sibling);
  });
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
    expect([w.writes(), w.events.length, w.lines.length]).toEqual([1, 1, 1]);
  });

  it("is no conflict as a ClusterAccount that no object here needs", async () => {
    const w = await world(clusterAccountOf({ server: theirs }));
    expect([await w.serve(), w.writes()]).toEqual(["Other", 0]);
    expect(() => w.servers.assertUncontested()).not.toThrow();
    w.servers.requires(w.key);
    await w.serve();
    expect(() => w.servers.assertUncontested()).toThrow();
  });

  it.each<{ given: string; state: LeaseState; afterMs: number }>([
    { given: "nobody holds their lease", state: { holder: "", version: "2" }, afterMs: 0 },
    { given: "their lease is missing", state: "Missing", afterMs: 15_000 },
    { given: "their lease does not change", state: { holder: "their-pod", version: "1" }, afterMs: 30_000 },
  ])("is taken over when $given for $afterMs ms by the own clock, and not before", async ({ state, afterMs }) => {
    const w = await world(accountOf({ server: theirs, ...observed }));
    w.lease(state);
    if (afterMs > 0) {
      expect(await w.serve()).toBe("Other");
      await w.clock.advance(afterMs - 2_000);
      expect(await w.serve()).toBe("Other");
      await w.clock.advance(2_000);
    }
    // Without a wait, it was free before the lists began.
    expect(await w.serve()).toBe(afterMs > 0 ? "Between" : "Ours");
    await w.listed();
    expect(await w.serve()).toBe("Ours");
    expect(w.servers.isElsewhere(KEY)).toBe(false);
    expect(w.stored().status?.server?.namespace).toBe("ours");
    expect(getCondition(w.stored().status?.conditions, "Contested")).toBeUndefined();
    expect(() => w.servers.assertUncontested()).not.toThrow();
  });

  it("stays theirs without the right to read their lease", async () => {
    const w = await world(accountOf({ server: theirs, ...observed }));
    w.lease("Forbidden");
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
    expect(w.reads()).toBe(2);
  });

  it("stays theirs while their lease is renewed", async () => {
    const w = await world(accountOf({ server: theirs }));
    for (let renewal = 1; renewal <= 5; renewal++) {
      expect(await w.serve()).toBe("Other");
      await w.clock.advance(29_000);
      w.lease({ holder: "their-pod", version: `r${renewal}` });
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
    w.lease({ holder: "", version: "2" });
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
    expect(await w.serve()).toBe("Between");
    await w.listed();
    expect(await w.serve()).toBe("Ours");
  });

  it("counts as well when the whole status is gone, of an account that an object needed", async () => {
    const account = accountOf();
    account.metadata.finalizers = [FINALIZER];
    const w = await world(account);
    expect(await w.serve()).toBe("Other");
    await w.clock.advance(15_000);
    expect(await w.serve()).toBe("Between");
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
    expect(() => w.servers.assertConfirmed(KEY)).not.toThrow();
    await w.clock.advance(5_000);
    await expect(w.servers.confirm(KEY, signal)).rejects.toThrow("nothing is sent");
    await w.clock.advance(5_000);
    expect(() => w.servers.assertConfirmed(KEY)).toThrow("nothing is sent");
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
    expect(w.reads()).toBe(2);
  });

  it("ends the process when another installation serves it, as the watch shows", async () => {
    const w = await world(accountOf());
    await w.serve();
    w.change({ server: theirs });
    await expect(w.serve()).rejects.toThrow("theirs/their-pod serves Account/team/default");
    expect(w.lost).toHaveLength(1);
  });

  it("ends the process when another installation serves it, as a read before a request shows", async () => {
    const w = await world(accountOf());
    await w.serve();
    w.change({ server: theirs }, { seen: false });
    await w.clock.advance(5_000);
    await expect(w.servers.confirm(KEY, signal)).rejects.toThrow("theirs/their-pod serves Account/team/default");
    expect(w.lost).toHaveLength(1);
  });

  it("does not serve an account that is deleted and created again: that one is served anew", async () => {
    const w = await world(accountOf());
    await w.serve();
    w.change({ server: null }, { uid: "another-uid" });
    expect(await w.serve()).toBe("Ours");
    expect(w.writes()).toBe(2);
  });

  it("cleans up after an account that is deleted, pays nothing for it, and ends this with the next account of the name", async () => {
    const w = await world(accountOf());
    await w.serve();
    w.servers.depart(KEY);
    w.servers.depart(KEY); // while endpoints are left
    expect([w.servers.cleansUp(KEY), w.servers.serves(KEY)]).toEqual([true, false]);
    expect(() => w.servers.assertServing(KEY)).not.toThrow();
    expect(() => w.servers.assertConfirmed(KEY)).toThrow("nothing is sent");
    w.change({ server: theirs }, { uid: "another-uid" });
    expect(await w.serve()).toBe("Other");
    expect(w.servers.cleansUp(KEY)).toBe(false);
    expect(() => w.servers.assertServing(KEY)).toThrow("nothing is sent");
  });

  it("does not clean up after an account that another process served when it was deleted", async () => {
    const w = await world(accountOf({ server: theirs }));
    await w.serve();
    w.servers.depart(KEY);
    expect(() => w.servers.assertServing(KEY)).toThrow("nothing is sent");
  });
});
