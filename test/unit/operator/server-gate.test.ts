import { describe, expect, it } from "vitest";
import { speechJobResource, videoJobResource } from "../../../src/api/v1alpha1/kinds.ts";
import type { VideoJob, VideoJobStatus } from "../../../src/api/v1alpha1/video-job.ts";
import { byAccount } from "../../../src/controllers/account/dependants.ts";
import { createOwnership, dropUnread } from "../../../src/operator/ownership.ts";
import { createServerGate } from "../../../src/operator/server-gate.ts";
import { createStore } from "../../../src/runtime/store.ts";
import { videoJobOf } from "../../support/jobs.ts";
import { silentLog } from "../../support/scripted-api-server.ts";

const context = { signal: new AbortController().signal, log: silentLog };
const row = { resource: videoJobResource, account: "Needs" } as const;
const request = { key: "team/sea", namespace: "team", name: "sea" };
const OWN = "Account/team/default";
const OTHER = "ClusterAccount/other";
const bound = { kind: "ClusterAccount", name: "other", baseURL: "https://api.example.com" } as const;

type Given = {
  need?: "Serving" | "NoOther";
  accounts?: string[];
  /** The accounts that this process and other installations serve. */
  held?: string[];
  foreign?: string[];
  /** Deleted accounts that this process served. */
  deleted?: string[];
  /** The other installation does not watch the namespace. */
  elsewhere?: boolean;
  isFirst?: boolean;
  underWay?: "Request" | "Outcome" | "Copy";
  status?: VideoJobStatus;
  partial?: boolean;
};

function gateOf({ need = "Serving", accounts = [OWN], held = [], foreign = [], isFirst = false, ...given }: Given) {
  const kind = { resource: videoJobResource, store: createStore<VideoJob>({ account: byAccount }) };
  const job = videoJobOf("image", {}, given.status);
  if (given.partial) dropUnread(job);
  kind.store.upsert(job);
  const seen: string[] = [];
  const members = { isFirst: () => isFirst };
  const cleansUp = (key: string) => given.deleted?.includes(key) ?? false;
  const gate = createServerGate({
    servers: () => ({
      requires: (key) => held.includes(key),
      serves: (key) => held.includes(key),
      isElsewhere: (key) => foreign.includes(key),
      cleansUp,
      isUnwatchedElsewhere: () => given.elsewhere ?? false,
    }),
    members,
    ownership: () =>
      createOwnership({
        servers: { holds: () => true, serves: () => true, isFree: () => false, cleansUp },
        members,
        exists: (key) => accounts.includes(key),
      }),
    renewLists: () => void seen.push("lists"),
  });
  const running = Promise.withResolvers<undefined>();
  const reconcile = gate.whileServed({ ...row, submits: need === "Serving" }, kind, {
    async reconcile() {
      seen.push("reconciled");
      return running.promise;
    },
    underWay: () => given.underWay,
    forget: (key) => void seen.push(`forgot ${key}`),
  });
  return {
    gate,
    seen,
    held,
    reconcile: () => reconcile(request, context),
    end: () => running.resolve(undefined),
    fail: () => running.reject(new Error("nothing is sent")),
  };
}

async function seenBy(given: Given): Promise<string[]> {
  const { seen, reconcile, end } = gateOf(given);
  end();
  await reconcile();
  return seen;
}

describe("an object is reconciled", () => {
  it.each<{ name: string; given: Given }>([
    { name: "by the process that serves its account", given: { held: [OWN] } },
    { name: "by the first process when there is no account, to say so", given: { accounts: [], isFirst: true } },
    {
      name: "by the first process when another installation serves its account and does not watch its namespace, to say so",
      given: { foreign: [OWN], elsewhere: true, isFirst: true },
    },
    { name: "by the process that served its account until that was deleted", given: { accounts: [], deleted: [OWN] } },
    {
      name: "by the first process when nobody serves its account and it only reads",
      given: { need: "NoOther", isFirst: true },
    },
    { name: "by the process that sent its request, whoever serves its account by now", given: { underWay: "Outcome" } },
  ])("$name", async ({ given }) => {
    expect(await seenBy(given)).toEqual(["reconciled"]);
  });
});

describe("an object is not reconciled, and what the process remembers of it is forgotten,", () => {
  it.each<{ name: string; given: Given }>([
    { name: "before its account is served", given: { isFirst: true } },
    { name: "when there is no account, by another process than the first", given: { accounts: [] } },
    {
      name: "while another installation serves its account",
      given: { need: "NoOther", foreign: [OWN], isFirst: true },
    },
    {
      name: "while its request is under way and another process serves its account by now",
      given: { underWay: "Request" },
    },
    { name: "while it is copied and another process serves its account by now", given: { underWay: "Copy" } },
    {
      name: "when this process serves the default account, and not the one that it is bound to",
      given: { accounts: [OWN, OTHER], held: [OWN], status: { conditions: [], account: bound } },
    },
  ])("$name", async ({ given }) => {
    expect(await seenBy(given)).toEqual(["forgot team/sea"]);
  });
});

describe("a reconcile that fails", () => {
  it("is retried while this process serves the account", async () => {
    const { reconcile, fail } = gateOf({ held: [OWN] });
    const failed = reconcile();
    fail();
    await expect(failed).rejects.toThrow("nothing is sent");
  });

  it("is none any more, and the object is forgotten, when this process does not serve the account any more", async () => {
    const { seen, held, reconcile, fail } = gateOf({ held: [OWN] });
    const left = reconcile();
    held.pop();
    fail();
    expect(await left).toBeUndefined();
    expect(seen).toEqual(["reconciled", "forgot team/sea"]);
  });

  it("is retried by the process that sent the request of the object, whoever serves its account by now", async () => {
    const { seen, reconcile, fail } = gateOf({ underWay: "Outcome" });
    const failed = reconcile();
    fail();
    await expect(failed).rejects.toThrow("nothing is sent");
    expect(seen).toEqual(["reconciled"]);
  });
});

it("an object that is stored in part is listed anew before it is reconciled", async () => {
  expect(await seenBy({ held: [OWN], partial: true })).toEqual(["lists"]);
});

it("an account has something under way while an object is reconciled, and while a request or a copy runs", async () => {
  const { gate, reconcile, end } = gateOf({ held: [OWN] });
  expect(gate.isUnderWay(OWN)).toBe(false);
  const running = reconcile();
  expect(gate.isUnderWay(OWN)).toBe(true);
  end();
  await running;
  expect(gate.isUnderWay(OWN)).toBe(false);
  for (const underWay of ["Request", "Copy"] as const) expect(gateOf({ underWay }).gate.isUnderWay(OWN)).toBe(true);
});

it("what the process remembers of the objects of an account is forgotten at once", () => {
  const { gate, seen } = gateOf({});
  gate.forget(OWN);
  expect(seen).toEqual(["forgot team/sea"]);
});

it("a process needs all of an object for which it has something under way, whoever serves its account by now", () => {
  const job = videoJobOf("image", {}, undefined);
  const isBusy = (given: Given) => gateOf(given).gate.isBusy(row, job);
  expect([isBusy({ underWay: "Outcome" }), isBusy({ underWay: "Request" }), isBusy({})]).toEqual([true, true, false]);
  expect(gateOf({ underWay: "Outcome" }).gate.isBusy({ resource: speechJobResource, account: "Needs" }, job)).toBe(
    false,
  );
});

it.each<{ name: string; given: Given; needed: boolean }>([
  { name: "that an unfinished job uses", given: {}, needed: true },
  { name: "that a finished job used", given: { status: { conditions: [], phase: "Succeeded" } }, needed: true },
  { name: "whose object sends nothing", given: { need: "NoOther" }, needed: false },
  { name: "that is not the one of the job", given: { accounts: [OTHER] }, needed: false },
])("an account $name: needs a process: $needed", ({ given, needed }) => {
  expect(gateOf(given).gate.isNeeded(OWN)).toBe(needed);
});
