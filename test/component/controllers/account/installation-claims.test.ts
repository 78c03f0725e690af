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
import { createInstallationClaims } from "../../../../src/controllers/account/installation-claims.ts";
import { createKind } from "../../../../src/controllers/controller-deps.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { createFakeClock, until } from "../../../support/fake-clock.ts";
import { manifest, merged } from "../../../support/manifests.ts";
import { capturedLog, failure, scriptedApi } from "../../../support/scripted-api-server.ts";
import { storedMeta } from "../../../support/stored-meta.ts";

const KEY = "Account/team/default";
const CLUSTER_KEY = "ClusterAccount/default";
const signal = new AbortController().signal;
const theirs = (renewTime = "2026-03-01T00:00:00Z") => ({ installation: "theirs", renewTime });

type AnyAccount = Account | ClusterAccount;

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

/** The claims of the installation `ours`, over an API server that stores one account. */
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
  const write = (status: object): AnyAccount => {
    const metadata = { ...stored.metadata, resourceVersion: String(version++) };
    stored = { ...stored, metadata, status: merged({ ...stored.status }, { ...status }) } as AnyAccount;
    return stored;
  };
  let silent = false;
  const api = await scriptedApi(({ body }) => {
    if (silent) return "silence";
    const { metadata, status } = body as { metadata: { resourceVersion: string }; status: AccountStatus };
    if (metadata.resourceVersion !== stored.metadata.resourceVersion) return failure(409, "Conflict");
    return { body: write(status) };
  });
  const kind = createKind(api.client, { resource: cluster ? clusterAccountResource : accountResource, store });
  const events: string[] = [];
  const lost: Error[] = [];
  const checks: string[] = [];
  const claimed: string[] = [];
  const claims = createInstallationClaims({
    kube: api.client,
    clock,
    log,
    recorder: { warning: (_object, reason) => void events.push(`Warning ${reason}`) },
    installation: "ours",
    watchNamespaces: [],
    onLost: (error) => void lost.push(error),
    check: (one) => void checks.push(one),
  });
  claims.onClaimed((one) => void claimed.push(one));
  return {
    claims,
    clock,
    events,
    lost,
    checks,
    claimed,
    lines,
    key,
    writes: () => api.requests.length,
    stored: () => stored,
    /** Whether the API server gives no response. */
    silence(isSilent: boolean): void {
      silent = isSilent;
    },
    /** Another installation writes the status, and the watch shows it. */
    change(status: object, uid = stored.metadata.uid): void {
      stored = { ...stored, metadata: { ...stored.metadata, uid } } as AnyAccount;
      store.upsert(write(status) as T);
    },
    async claim(needed = false) {
      const object = store.get(name);
      if (object === undefined) throw new Error("no account");
      return (await claims.claim(key, { kind, object, isNeeded: () => needed }, signal)).kind;
    },
  };
}

describe("an account that no installation uses", () => {
  it("is claimed before it is used", async () => {
    const w = await world(accountOf());
    expect(() => w.claims.assertHeld(KEY)).toThrow("not surely held by this installation: nothing is sent");
    expect(await w.claim()).toBe("Ours");
    expect(w.stored().status?.claim).toEqual({ installation: "ours", renewTime: "2026-03-01T00:00:00Z" });
    expect(w.claimed).toEqual([KEY]);
    expect(w.claims.requires(KEY)).toBe(true);
    expect(() => w.claims.assertHeld(KEY)).not.toThrow();
    expect(await w.claim()).toBe("Ours");
    expect(w.writes()).toBe(1);
    w.clock.setWallClock(60_000); // the machine was suspended
    expect(() => w.claims.assertHeld(KEY)).toThrow("not surely held by this installation: nothing is sent");
    w.clock.setWallClock(-60_000);
  });

  it("is not claimed by the one whose write comes second", async () => {
    const w = await world(accountOf());
    const other = w.stored();
    const race = w.claim();
    Object.assign(other.metadata, { resourceVersion: "99" }); // the API server has a newer version by now
    await expect(race).rejects.toMatchObject({ status: 409 });
    expect(() => w.claims.assertHeld(KEY)).toThrow();
  });

  it("is claimed as a ClusterAccount at a start, before an object that needs it is reconciled", async () => {
    const w = await world(clusterAccountOf());
    expect(await w.claim(true)).toBe("Ours");
    expect([w.claims.requires(w.key), w.checks]).toEqual([true, []]);
  });

  it("is claimed as a ClusterAccount only when an object needs it", async () => {
    const w = await world(clusterAccountOf());
    expect(await w.claim()).toBe("Unclaimed");
    expect([w.claims.requires(w.key), w.checks]).toEqual([false, [CLUSTER_KEY]]);
    expect(await w.claim()).toBe("Ours");
    expect(w.claims.requires(w.key)).toBe(true);
  });
});

it("a restarted operator of the same installation has the account at once", async () => {
  const w = await world(accountOf({ claim: { installation: "ours", renewTime: "2026-02-28T23:59:50Z" } }));
  expect(await w.claim()).toBe("Ours");
});

describe("an account that another installation uses", () => {
  it("is left alone, and the account, the log, an event and the readiness say so", async () => {
    const w = await world(accountOf({ claim: theirs() }));
    expect(await w.claim()).toBe("Foreign");
    expect(w.claims.isForeign(KEY)).toBe(true);
    expect([w.claims.requires(KEY), w.checks]).toEqual([false, []]);
    const contested = getCondition(w.stored().status?.conditions, "Contested");
    expect(contested).toMatchObject({ status: "True", reason: "ClaimedByAnotherInstallation" });
    expect(contested?.message).toContain("the one in namespace theirs uses it");
    expect(contested?.message).toMatch(
      /kubectl patch account -n team default --subresource=status --type=merge -p '\{"status":\{"claim":null\}\}'$/,
    );
    expect(w.events).toEqual(["Warning ClaimedByAnotherInstallation"]);
    expect(() => w.claims.assertUncontested()).toThrow("Two installations of Mooring serve this account");
    expect(w.stored().status?.claim).toEqual(theirs());

    await w.claim();
    expect([w.writes(), w.events.length, w.lines.length]).toEqual([1, 1, 1]);
  });

  it("is no conflict as a ClusterAccount that no object here needs", async () => {
    const w = await world(clusterAccountOf({ claim: theirs() }));
    expect([await w.claim(), w.writes()]).toEqual(["Foreign", 0]);
    expect(() => w.claims.assertUncontested()).not.toThrow();
    w.claims.requires(w.key);
    await w.claim();
    expect(() => w.claims.assertUncontested()).toThrow();
  });

  it("is taken over when its claim did not change for 90 s by the own clock, and not before", async () => {
    const w = await world(accountOf({ claim: theirs("2020-01-01T00:00:00Z") }));
    expect(await w.claim()).toBe("Foreign");
    await w.clock.advance(89_999);
    expect(await w.claim()).toBe("Foreign");
    await w.clock.advance(1);
    expect(w.claims.isForeign(KEY)).toBe(false);
    expect(await w.claim()).toBe("Ours");
    expect(w.stored().status?.claim?.installation).toBe("ours");
    expect(getCondition(w.stored().status?.conditions, "Contested")).toBeUndefined();
    expect(() => w.claims.assertUncontested()).not.toThrow();
  });

  it.each([
    ["all namespaces", undefined, false],
    ["the namespace of the object", ["team", "other"], false],
    ["other namespaces only", ["other"], true],
  ])("concerns the objects of this installation alone when it watches %s", async (_name, namespaces, expected) => {
    const claim = { ...theirs(), ...(namespaces === undefined ? {} : { namespaces }) };
    const w = await world(accountOf({ claim }));
    await w.claim();
    expect(w.claims.isForeignElsewhere(KEY, "team")).toBe(expected);
    await w.clock.advance(90_000);
    expect(w.claims.isForeignElsewhere(KEY, "team")).toBe(false);
  });

  it("stays theirs while they renew the claim", async () => {
    const w = await world(accountOf({ claim: theirs() }));
    for (let minute = 1; minute <= 5; minute++) {
      expect(await w.claim()).toBe("Foreign");
      await w.clock.advance(60_000);
      w.change({ claim: theirs(`2026-03-01T00:0${minute}:00Z`) });
    }
    expect(await w.claim()).toBe("Foreign");
  });
});

describe("a claim that this process holds", () => {
  it("is renewed, beside the reconciles", async () => {
    const w = await world(accountOf());
    await w.claim();
    w.claims.start();
    for (let renewals = 1; renewals <= 5; renewals++) {
      await until(() => w.writes() === 1 + renewals, { ...w, stepMs: 100 });
    }
    expect(() => w.claims.assertHeld(KEY)).not.toThrow();
    expect(w.stored().status?.claim?.renewTime).not.toBe("2026-03-01T00:00:00Z");
    w.claims.stop();
    const before = w.writes();
    await w.clock.advance(60_000);
    expect(w.writes()).toBe(before);
  });

  it("is renewed again when a renewal has no response for 20 s of the clock", async () => {
    const w = await world(accountOf());
    await w.claim();
    w.silence(true);
    w.claims.start();
    await until(() => w.writes() === 2, { ...w, stepMs: 100 });
    w.silence(false);
    // The real time is shorter than the 20 s, which pass on the fake clock only.
    await until(() => w.writes() === 3, { ...w, stepMs: 100, timeoutMs: 15_000 });
    expect(() => w.claims.assertHeld(KEY)).not.toThrow();
    expect(w.lines.some(({ msg }) => msg === "claim not renewed; trying again")).toBe(true);
    w.claims.stop();
  });

  it("sends nothing any more 60 s after its last renewal", async () => {
    const w = await world(accountOf());
    await w.claim();
    await w.clock.advance(59_999);
    expect(() => w.claims.assertHeld(KEY)).not.toThrow();
    await w.clock.advance(1);
    expect(() => w.claims.assertHeld(KEY)).toThrow("nothing is sent");
  });

  it("ends the process when another installation has taken the account", async () => {
    const w = await world(accountOf());
    await w.claim();
    w.change({ claim: theirs() });
    await expect(w.claim()).rejects.toThrow("namespace theirs has claimed Account/team/default");
    expect(w.lost).toHaveLength(1);
  });

  it("does not hold an account that is deleted and created again: it is claimed anew", async () => {
    const w = await world(accountOf());
    await w.claim();
    w.change({ claim: null }, "another-uid");
    expect(await w.claim()).toBe("Ours");
    expect([w.writes(), w.claimed.length]).toEqual([2, 2]);
  });

  it("is written again when somebody removes it", async () => {
    const w = await world(accountOf());
    await w.claim();
    w.claims.start();
    w.change({ claim: null });
    await until(() => w.stored().status?.claim !== undefined, { ...w, stepMs: 100 });
    expect(w.lost).toEqual([]);
    w.claims.stop();
  });
});
