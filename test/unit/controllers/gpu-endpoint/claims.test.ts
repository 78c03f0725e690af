import { describe, expect, it } from "vitest";
import type { GpuEndpoint } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { type AccountRegistry, createAccountRegistry } from "../../../../src/controllers/account/registry.ts";
import {
  type Claimant,
  type Claims,
  claimIndexers,
  createClaims,
  freesTargets,
  ranksBefore,
  type Standing,
  standingOf,
  type Target,
} from "../../../../src/controllers/gpu-endpoint/claims.ts";
import { appNameOf } from "../../../../src/controllers/gpu-endpoint/desired.ts";
import { createdBy, type OpenCreate } from "../../../../src/controllers/gpu-endpoint/memory.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { CLUSTER_UID, createOf, endpointOf } from "../../../support/endpoints.ts";
import type { Change } from "../../../support/manifests.ts";
import { accountAt } from "../../../support/service-account.ts";

const URL_1 = "https://api.example.com";
const URL_2 = "https://other.example.com";
const adopting = (mode = "Match"): Change => ({ adoption: { endpointID: "ep-1", mode } });
const submission = { id: "s", specHash: "h", attempt: 1, state: "Accepted", time: "2026-03-01T00:00:00Z" } as const;
type Told = {
  bound?: string;
  created?: boolean;
  at?: string;
  age?: number;
  paused?: boolean;
  deleted?: boolean;
};

/** The object `echo` in a namespace that is called as its UID; older with a lower `age`. */
function object(uid: string, change: Change = {}, told: Told = {}): GpuEndpoint {
  const { bound, created = false, at = URL_1, age = 0, paused = false, deleted = false } = told;
  const status = {
    conditions: [],
    account: { kind: "Account" as const, name: "default", baseURL: at },
    ...(bound === undefined ? {} : { endpointID: bound }),
    ...(created ? { submission } : {}),
  };
  return endpointOf(change, {
    uid,
    namespace: uid,
    creationTimestamp: `2026-03-01T00:00:0${age}Z`,
    status,
    ...(paused ? { annotations: { "mooring.dev/paused": "true" } } : {}),
    ...(deleted ? { deletionTimestamp: "2026-03-01T00:01:00Z" } : {}),
  });
}

/** Claims over these objects; each namespace has Account `default`, at `URL_1` unless `accounts` says otherwise. */
function claimsOver(objects: GpuEndpoint[], open: OpenCreate[] = [], urls: Record<string, string | undefined> = {}) {
  const store = createStore<GpuEndpoint>(claimIndexers(CLUSTER_UID));
  const accounts: AccountRegistry = createAccountRegistry(
    () => true,
    () => {},
  );
  for (const one of objects) {
    store.upsert(one);
    const { namespace = "" } = one.metadata;
    const baseURL = namespace in urls ? urls[namespace] : URL_1;
    accounts.set(
      `Account/${namespace}/default`,
      baseURL === undefined
        ? { state: { kind: "Held", reason: "Unauthorized", message: "" }, handle: undefined }
        : { state: { kind: "Ready" }, handle: accountAt(baseURL) },
    );
  }
  const peek = ({ metadata }: GpuEndpoint) => open.find(({ uid }) => uid === metadata.uid);
  const created = (id: string) => objects.filter((one) => createdBy(peek(one)) === id);
  return createClaims({ accounts, clusterUID: CLUSTER_UID }, { store }, { peek, created });
}

/** What each object is granted when they claim one after the other, each reconcile ended before the next. */
async function outcomes(claims: Claims, objects: GpuEndpoint[]): Promise<string[]> {
  const kinds: string[] = [];
  for (const one of objects) {
    kinds.push((await claims.claim(one, URL_1)).kind);
    claims.release(one.metadata.uid ?? "");
  }
  return kinds;
}

const chosen = { appName: "chat" };
const nameOfA = appNameOf(object("a"), CLUSTER_UID);

describe("of two objects", () => {
  it.each<[what: string, a: GpuEndpoint, b: GpuEndpoint, expected: string[]]>([
    [
      "that adopt it, the older",
      object("a", adopting(), { age: 2 }),
      object("b", adopting(), { age: 1 }),
      ["Denied", "Granted"],
    ],
    [
      "that adopt it, of the same age, that with the lower UID",
      object("a", adopting()),
      object("b", adopting()),
      ["Granted", "Denied"],
    ],
    [
      "the one that is bound, though it is younger",
      object("a", adopting()),
      object("b", {}, { bound: "ep-1", age: 9 }),
      ["Denied", "Granted"],
    ],
    [
      "that are bound, the one that created it",
      object("a", adopting(), { bound: "ep-1" }),
      object("b", {}, { bound: "ep-1", created: true, age: 9 }),
      ["Denied", "Granted"],
    ],
    [
      "that are bound and adopted it, the older",
      object("a", adopting(), { bound: "ep-1", age: 1 }),
      object("b", adopting(), { bound: "ep-1" }),
      ["Denied", "Granted"],
    ],
    [
      "the bound one, also while it is deleted",
      object("a", adopting()),
      object("b", {}, { bound: "ep-1", deleted: true }),
      ["Denied", "Granted"],
    ],
    [
      "the bound one, also while it is paused",
      object("a", adopting()),
      object("b", {}, { bound: "ep-1", paused: true }),
      ["Denied", "Granted"],
    ],
    [
      "of which one is bound at another service, both",
      object("a", adopting()),
      object("b", {}, { bound: "ep-1", at: URL_2 }),
      ["Granted", "Granted"],
    ],
    [
      "at another spelling of the base URL, the bound one",
      object("a", adopting()),
      object("b", {}, { bound: "ep-1", at: `${URL_1}//` }),
      ["Denied", "Granted"],
    ],
    ["with the same app name, the older", object("a", chosen, { age: 1 }), object("b", chosen), ["Denied", "Granted"]],
    [
      "with the same app name, the bound one",
      object("a", chosen),
      object("b", chosen, { bound: "ep-1", age: 9 }),
      ["Denied", "Granted"],
    ],
    [
      "of which one chooses the generated app name of the other, that one",
      object("a", {}, { age: 9 }),
      object("b", { appName: nameOfA }),
      ["Granted", "Denied"],
    ],
    [
      "that adopts it under the app name of one to be created, both",
      object("a", { ...adopting(), ...chosen }),
      object("b", chosen),
      ["Granted", "Granted"],
    ],
  ])("%s has the endpoint", async (_what, a, b, expected) => {
    expect(await outcomes(claimsOver([a, b]), [a, b])).toEqual(expected);
  });

  it.each<[what: string, a: GpuEndpoint, urls: Record<string, string | undefined>]>([
    ["is paused", object("a", adopting(), { paused: true }), {}],
    ["is being deleted", object("a", adopting(), { deleted: true }), {}],
    ["may use no account", object("a", adopting()), { a: undefined }],
    ["has an account of another service", object("a", adopting()), { a: URL_2 }],
  ])("an older one keeps no younger one out when it %s", async (_what, a, urls) => {
    const b = object("b", adopting(), { age: 5 });
    expect(await outcomes(claimsOver([a, b], [], urls), [b])).toEqual(["Granted"]);
  });
});

describe("an open create of an object", () => {
  const older = object("a", chosen);
  const younger = object("b", chosen, { age: 5 });

  it("keeps an app name, when its outcome is unknown", async () => {
    expect(await outcomes(claimsOver([older, younger], [createOf({ uid: "b" })]), [older, younger])).toEqual([
      "Denied",
      "Granted",
    ]);
  });

  it("keeps an endpoint that the status does not show yet", async () => {
    const entry = { ...createOf({ uid: "b" }), outcome: { endpointID: "ep-1" } };
    const rival = object("a", adopting());
    expect(await outcomes(claimsOver([rival, younger], [entry]), [rival, younger])).toEqual(["Denied", "Granted"]);
  });
});

describe("while a reconcile is under way", () => {
  it("an older object waits for a younger one that came first", async () => {
    const a = object("a", adopting());
    const b = object("b", adopting(), { age: 5 });
    const claims = claimsOver([b, a], [], { a: undefined });
    expect((await claims.claim(b, URL_1)).kind).toBe("Granted");
    expect((await claims.claim(a, URL_1)).kind).toBe("Busy");
    expect((await claims.claim(b, `${URL_1}/`)).kind).toBe("Granted");
    claims.release("b");
    expect((await claims.claim(a, URL_1)).kind).toBe("Granted");
  });

  it("of many that claim at the same time one is granted", async () => {
    const all = ["a", "b", "c", "d"].map((uid) => object(uid, adopting()));
    const claims = claimsOver(all);
    const kinds = (await Promise.all(all.map((one) => claims.claim(one, URL_1)))).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "Granted")).toHaveLength(1);
  });
});

describe("an endpoint that is found by an app name", () => {
  it("is denied when another object is bound to it, and the message names no ID", async () => {
    const a = object("a", chosen);
    const claims = claimsOver([a, object("b", adopting(), { bound: "ep-1" })]);
    const claimed = await claims.claimFound(a, URL_1, "ep-1");
    expect(claimed).toMatchObject({ kind: "Denied", message: expect.stringMatching(/^appName chat is already used/) });
    expect(JSON.stringify(claimed)).not.toContain("ep-1");
    expect((await claims.claimFound(a, URL_1, "ep-2")).kind).toBe("Granted");
  });
});

describe("an object that is deleted", () => {
  const creator = object("b", {}, { bound: "ep-1", created: true, age: 9 });
  it.each<[what: string, one: GpuEndpoint, other: GpuEndpoint, expected: boolean]>([
    ["leaves the endpoint of another one alone", object("a", adopting(), { bound: "ep-1" }), creator, true],
    ["cleans up after its own", creator, object("a", adopting(), { bound: "ep-1" }), false],
    ["cleans up after its own though another one waits for it", creator, object("a", adopting()), false],
    ["cleans up at another service", object("a", adopting(), { bound: "ep-1", at: URL_2 }), creator, false],
    ["that is not bound leaves alone what another one is bound to", object("a", chosen), creator, true],
  ])("%s", (_what, one, other, expected) => {
    expect(claimsOver([one, other]).belongsToAnother(one, "ep-1")).toBe(expected);
  });
});

it("standings are ordered, then age, then UID", () => {
  const of = (standing: Standing, created = "2026-03-01T00:00:00Z", uid = "m"): Claimant => ({
    standing,
    created,
    uid,
  });
  const sorted = [
    of("Generated"),
    of("Created"),
    of("Bound"),
    of("Submitting"),
    of("Waiting", "2026-02-01T00:00:00Z", "z"),
    of("Waiting", "2026-03-01T00:00:00Z", "a"),
    of("Waiting", "2026-03-01T00:00:00Z", "b"),
  ];
  for (const [i, one] of sorted.entries()) {
    for (const [j, other] of sorted.entries()) expect(ranksBefore(one, other)).toBe(i < j);
  }
});

it.each<[what: string, one: GpuEndpoint, target: Target, expected: Standing | undefined]>([
  ["bound to another endpoint", object("a", {}, { bound: "ep-2" }), { kind: "EndpointID", value: "ep-1" }, undefined],
  ["to adopt it, unbound", object("a", adopting()), { kind: "EndpointID", value: "ep-1" }, "Waiting"],
  [
    "to adopt, as a claim to a name",
    object("a", { ...adopting(), ...chosen }),
    { kind: "AppName", value: "chat" },
    undefined,
  ],
  ["with an empty ID", object("a", chosen, { bound: "" }), { kind: "AppName", value: "chat" }, "Waiting"],
])("the standing of an object %s", (_what, one, target, expected) => {
  expect(standingOf(one, target, undefined)).toBe(expected);
});

it.each<[what: string, next: GpuEndpoint, expected: boolean]>([
  ["is unbound", object("a"), true],
  ["is deleted", object("a", {}, { bound: "ep-1", deleted: true }), true],
  ["is paused", object("a", {}, { bound: "ep-1", paused: true }), true],
  ["is made anew", object("b", {}, { bound: "ep-1" }), true],
  ["has another spec", object("a", { port: 9 }, { bound: "ep-1" }), false],
])("whether others hear of an object that %s", (_what, next, expected) => {
  expect(freesTargets(object("a", {}, { bound: "ep-1" }), next)).toBe(expected);
});
