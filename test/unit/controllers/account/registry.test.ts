import { describe, expect, it } from "vitest";
import { type LabelSelector, matchesLabels } from "../../../../src/controllers/account/namespaces.ts";
import {
  type AccountEntry,
  type AccountHandle,
  accountKey,
  createAccountRegistry,
  notFound,
  possibleAccounts,
} from "../../../../src/controllers/account/registry.ts";
import { limitsOf } from "../../../support/endpoints.ts";
import { accountAt } from "../../../support/service-account.ts";

/** A handle that is never called. */
function handle(key: string, allows: (namespace: string) => boolean = () => true): AccountHandle {
  return accountAt("http://127.0.0.1:9", {
    key,
    refusal: async (namespace) => (allows(namespace) ? undefined : `not for ${namespace}`),
  });
}

const NAMED = "Account/team/named";
const DEFAULT = "Account/team/default";
const CLUSTER = "ClusterAccount/default";
const ready = (key: string, allows?: (namespace: string) => boolean): AccountEntry => ({
  state: { kind: "Ready" },
  handle: handle(key, allows),
});
const ref = (kind: "Account" | "ClusterAccount", name: string) => ({ kind, name });

function world(...keys: string[]) {
  const checks: string[] = [];
  const changes: string[] = [];
  const registry = createAccountRegistry(
    (key) => keys.includes(key),
    (key) => checks.push(key),
  );
  registry.onChange((key) => changes.push(key));
  for (const key of keys) registry.set(key, ready(key));
  changes.length = 0;
  return { registry, checks, changes };
}

describe("an account that is checked for the first time", () => {
  it("changes nothing for its dependants until it is usable", async () => {
    const changes: string[] = [];
    const registry = createAccountRegistry(
      () => true,
      () => {},
    );
    registry.onChange((key) => changes.push(key));
    const before = await registry.resolve(undefined, "team");
    registry.set(DEFAULT, { ...ready(DEFAULT), state: { kind: "Checking" } });
    expect([changes, await registry.resolve(undefined, "team")]).toEqual([[], before]);
    registry.set(DEFAULT, ready(DEFAULT));
    expect(changes).toEqual([DEFAULT]);
  });
});

describe("a 403, which concerns an operation", () => {
  it("asks for one check of the account until it is probed, and changes nothing for its dependants", async () => {
    const { registry, checks, changes } = world(DEFAULT);
    registry.doubt(DEFAULT);
    registry.doubt(DEFAULT);
    expect([checks, changes]).toEqual([[DEFAULT], []]);
    expect(await registry.resolve(undefined, "team")).toMatchObject({ kind: "Usable" });
    registry.set(DEFAULT, { ...ready(DEFAULT), handle: registry.get(DEFAULT)?.handle, doubted: false });
    registry.doubt(DEFAULT);
    expect([checks, changes]).toEqual([[DEFAULT, DEFAULT], []]);
  });

  it("asks for no check of an account that is held, or that nobody knows", () => {
    const { registry, checks } = world(DEFAULT);
    registry.unauthorized(DEFAULT, "401");
    registry.doubt(DEFAULT);
    registry.doubt("Account/team/unknown");
    expect(checks).toEqual([DEFAULT]);
  });
});

describe("which account an object means", () => {
  it.each<[string, string[], Parameters<typeof possibleAccounts>[0], string]>([
    ["the one it names", [NAMED, DEFAULT, CLUSTER], ref("Account", "named"), "Usable Account named"],
    [
      "the ClusterAccount it names",
      [DEFAULT, CLUSTER],
      ref("ClusterAccount", "default"),
      "Usable ClusterAccount default",
    ],
    [
      "without a name, the Account default of its namespace",
      [NAMED, DEFAULT, CLUSTER],
      undefined,
      "Usable Account default",
    ],
    ["without one, the ClusterAccount default", [NAMED, CLUSTER], undefined, "Usable ClusterAccount default"],
    ["none when there is no default", [NAMED], undefined, "Held AccountNotFound"],
    [
      "none when the named one is missing: not the default instead",
      [DEFAULT, CLUSTER],
      ref("Account", "named"),
      "Held AccountNotFound",
    ],
    ["none of another namespace", ["Account/other/named"], ref("Account", "named"), "Held AccountNotFound"],
  ])("%s", async (_name, keys, wanted, expected) => {
    const resolved = await world(...keys).registry.resolve(wanted, "team");
    expect(
      resolved.kind === "Usable"
        ? `Usable ${resolved.ref.kind} ${resolved.ref.name}`
        : resolved.kind === "Held"
          ? `Held ${resolved.reason}`
          : resolved.kind,
    ).toBe(expected);
  });

  it("says what to create or change when there is none", async () => {
    const { registry } = world();
    expect(await registry.resolve(undefined, "team")).toMatchObject({
      message:
        'no Account "default" in namespace team and no ClusterAccount "default": create one, or create this object again with another accountRef. To list the accounts: kubectl get accounts,clusteraccounts -n team',
    });
    expect(await registry.resolve(ref("Account", "named"), "team")).toMatchObject({
      message:
        "Account team/named does not exist: create it, or create this object again with another accountRef. To list the accounts: kubectl get accounts,clusteraccounts -n team",
    });
  });

  it("offers a command that mooring explain shows", () => {
    const message = notFound(undefined, "team", "create this object again");
    expect(message).toMatch(/kubectl get accounts,clusteraccounts -n team$/);
  });

  it("is found by every key that it may come to mean", () => {
    expect(possibleAccounts(undefined, "team")).toEqual([DEFAULT, CLUSTER]);
    expect(possibleAccounts(ref("ClusterAccount", "x"), "team")).toEqual(["ClusterAccount/x"]);
    expect(accountKey("Account", "named", "team")).toBe(NAMED);
  });
});

describe("an account that cannot be used", () => {
  const NOT_KNOWN = { kind: "Checking" };
  const held = { kind: "Held", reason: "AccountNotReady", message: "Account default is not ready: no Secret" };
  it.each<[string, AccountEntry["state"] | undefined, object]>([
    ["was not looked at yet", undefined, NOT_KNOWN],
    ["is being checked", { kind: "Checking" }, NOT_KNOWN],
    [
      "is held",
      { kind: "Held", reason: "SecretNotFound", message: "no Secret" },
      { ...held, ref: ref("Account", "default") },
    ],
  ])("%s", async (_name, state, expected) => {
    const registry = createAccountRegistry(
      (key) => key === DEFAULT,
      () => {},
    );
    if (state !== undefined) registry.set(DEFAULT, { state, handle: handle(DEFAULT) });
    expect(await registry.resolve(undefined, "team")).toEqual(expected);
  });

  it("does not allow the namespace", async () => {
    const { registry } = world(CLUSTER);
    registry.set(
      CLUSTER,
      ready(CLUSTER, (namespace) => namespace === "allowed"),
    );
    expect(await registry.resolve(undefined, "team")).toMatchObject({ kind: "Held", reason: "NamespaceNotAllowed" });
    expect(await registry.resolve(undefined, "allowed")).toMatchObject({ kind: "Usable" });
  });

  it("met a refusal of its key: it is held at once, told, and checked once", async () => {
    const { registry, checks, changes } = world(DEFAULT);
    for (let i = 0; i < 500; i++) registry.unauthorized(DEFAULT, "401");
    expect(await registry.resolve(undefined, "team")).toMatchObject({
      kind: "Held",
      message: "Account default is not ready: 401",
    });
    expect([checks, changes]).toEqual([[DEFAULT], [DEFAULT]]);
  });

  it("is nobody's business when it is not known", () => {
    const { registry, checks, changes } = world();
    registry.unauthorized(DEFAULT, "401");
    expect([checks, changes]).toEqual([[], []]);
  });
});

describe("the account that cleans up after a deleted object", () => {
  const gone = (cleanup: boolean): AccountEntry => ({
    state: { kind: "Held", reason: "SecretNotFound", message: "no Secret", ...(cleanup ? { cleanup } : {}) },
    handle: handle(DEFAULT),
  });
  const bound = ref("Account", "default");

  it.each<[string, boolean, (() => AccountEntry) | undefined, string]>([
    ["works", true, () => ready(DEFAULT, () => false), "Usable"],
    ["lost its Secret", true, () => gone(true), "Usable"],
    ["is gone, its key known", false, () => gone(true), "Usable"],
    ["had its key refused", true, () => gone(false), "Held SecretNotFound"],
    ["is gone, its key not known", false, undefined, "Held AccountNotFound"],
    ["was not looked at yet", true, undefined, "Checking"],
  ])("%s", (_name, exists, entry, expected) => {
    const registry = createAccountRegistry(
      (key) => exists && key === DEFAULT,
      () => {},
    );
    if (entry !== undefined) registry.set(DEFAULT, entry());
    const resolved = registry.resolveCleanup(bound, "team");
    expect(resolved.kind === "Held" ? `Held ${resolved.reason}` : resolved.kind).toBe(expected);
  });

  it("is the one the object is bound to, not the one it would find now", () => {
    const { registry } = world(DEFAULT, CLUSTER);
    expect(registry.resolveCleanup(ref("ClusterAccount", "default"), "team")).toMatchObject({
      account: { key: CLUSTER },
    });
    expect(registry.resolveCleanup(undefined, "team")).toMatchObject({ account: { key: DEFAULT } });
  });

  it("is held by a refusal even while only that is left of it", async () => {
    const { registry, changes } = world(DEFAULT);
    registry.set(DEFAULT, gone(true));
    changes.length = 0;
    expect(await registry.resolve(undefined, "team")).toMatchObject({ kind: "Held" });
    registry.unauthorized(DEFAULT, "401");
    expect(registry.resolveCleanup(bound, "team")).toMatchObject({ kind: "Held", reason: "Unauthorized" });
    expect(changes).toEqual([DEFAULT]);
  });
});

describe("dependants hear", () => {
  const held = (message: string): AccountEntry["state"] => ({ kind: "Held", reason: "Unauthorized", message });
  it.each<[string, (before: AccountEntry) => AccountEntry, boolean]>([
    ["that it became held", (before) => ({ ...before, state: held("401") }), true],
    ["of a new handle", () => ready(DEFAULT), true],
    ["of other limits", (before) => ({ ...before, limits: limitsOf({ maxWorkerNum: 3 }) }), true],
    ["of another visibility of its bills", (before) => ({ ...before, spending: { showInStatus: true } }), true],
    ["nothing when nothing changed", (before) => ({ ...before, state: { kind: "Ready" } }), false],
  ])("%s", (_name, change, told) => {
    const { registry, changes } = world(DEFAULT);
    const before = registry.get(DEFAULT);
    if (before === undefined) throw new Error("no entry");
    registry.set(DEFAULT, change(before));
    expect(changes).toEqual(told ? [DEFAULT] : []);
  });

  it("of another message, and of its end, once", () => {
    const { registry, changes } = world(DEFAULT);
    const entry = { handle: undefined };
    registry.set(DEFAULT, { ...entry, state: held("one") });
    registry.set(DEFAULT, { ...entry, state: held("one") });
    registry.set(DEFAULT, { ...entry, state: held("two") });
    registry.remove(DEFAULT);
    expect(changes).toEqual([DEFAULT, DEFAULT, DEFAULT]);
    registry.remove(DEFAULT);
    expect(changes).toHaveLength(3);
  });
});

describe("a label selector", () => {
  const labels = { team: "red", tier: "gold" };
  const expression = (
    key: string,
    operator: "In" | "NotIn" | "Exists" | "DoesNotExist",
    values?: string[],
  ): LabelSelector => ({
    matchExpressions: [{ key, operator, ...(values === undefined ? {} : { values }) }],
  });
  it.each<[LabelSelector, boolean]>([
    [{}, true],
    [{ matchLabels: {} }, true],
    [{ matchLabels: { team: "red" } }, true],
    [{ matchLabels: { team: "red", tier: "silver" } }, false],
    [{ matchLabels: { other: "red" } }, false],
    [expression("team", "In", ["red", "blue"]), true],
    [expression("team", "In", ["blue"]), false],
    [expression("other", "In", ["red"]), false],
    [expression("team", "NotIn", ["blue"]), true],
    [expression("team", "NotIn", ["red"]), false],
    [expression("other", "NotIn", ["red"]), true],
    [expression("team", "Exists"), true],
    [expression("other", "Exists"), false],
    [expression("other", "DoesNotExist"), true],
    [expression("team", "DoesNotExist"), false],
    [{ matchLabels: { team: "red" }, ...expression("tier", "In", ["silver"]) }, false],
    [{ matchLabels: { team: "red" }, ...expression("tier", "In", ["gold"]) }, true],
  ])("%o", (selector, expected) => {
    expect(matchesLabels(selector, labels)).toBe(expected);
  });
});
