import { describe, expect, it } from "vitest";
import { videoJobResource } from "../../../src/api/v1alpha1/kinds.ts";
import type { VideoJob, VideoJobStatus } from "../../../src/api/v1alpha1/video-job.ts";
import { createAccountRegistry } from "../../../src/controllers/account/registry.ts";
import { whileServed } from "../../../src/operator/server-gate.ts";
import { createStore } from "../../../src/runtime/store.ts";
import { videoJobOf } from "../../support/jobs.ts";
import { silentLog } from "../../support/scripted-api-server.ts";

const context = { signal: new AbortController().signal, log: silentLog };
const OWN = "Account/team/default";
const OTHER = "ClusterAccount/other";
const bound = { kind: "ClusterAccount", name: "other", baseURL: "https://api.example.com" } as const;

/** Whether a job is reconciled; `held` and `foreign` are the accounts that this and another installation serve. */
async function isReconciled(options: {
  need: "Serving" | "NoOther";
  accounts: string[];
  held?: string[];
  foreign?: string[];
  /** The other installation does not watch the namespace. */
  elsewhere?: boolean;
  status?: VideoJobStatus;
}) {
  const { need, accounts, held = [], foreign = [], elsewhere = false, status } = options;
  const kind = { resource: videoJobResource, store: createStore<VideoJob>() };
  kind.store.upsert(videoJobOf("image", {}, status));
  const registry = createAccountRegistry(
    (key) => accounts.includes(key),
    () => {},
  );
  let reconciled = false;
  const servers = {
    requires: (key: string) => held.includes(key),
    isElsewhere: (key: string) => foreign.includes(key),
    isUnwatchedElsewhere: () => elsewhere,
  };
  const reconcile = whileServed({ servers, accounts: registry }, kind, need, async () => {
    reconciled = true;
    return undefined;
  });
  const result = await reconcile({ key: "team/sea", namespace: "team", name: "sea" }, context);
  expect(result?.requeueAfterMs !== undefined).toBe(!reconciled);
  return reconciled;
}

describe("an object is reconciled", () => {
  it.each<{ name: string; options: Parameters<typeof isReconciled>[0]; expected: boolean }>([
    { name: "when its account is ours", options: { need: "Serving", accounts: [OWN], held: [OWN] }, expected: true },
    { name: "not before its account is served", options: { need: "Serving", accounts: [OWN] }, expected: false },
    {
      name: "not while another installation serves its account",
      options: { need: "NoOther", accounts: [OWN], foreign: [OWN] },
      expected: false,
    },
    {
      name: "when another installation serves its account and does not watch its namespace, to say so",
      options: { need: "Serving", accounts: [OWN], foreign: [OWN], elsewhere: true },
      expected: true,
    },
    {
      name: "when nobody serves its account and it only reads",
      options: { need: "NoOther", accounts: [OWN] },
      expected: true,
    },
    { name: "when there is no account, to say so", options: { need: "Serving", accounts: [] }, expected: true },
    {
      name: "by the account that it is bound to, not by the default account of now",
      options: {
        need: "Serving",
        accounts: [OWN, OTHER],
        held: [OWN],
        status: { conditions: [], account: bound },
      },
      expected: false,
    },
  ])("$name", async ({ options, expected }) => {
    expect(await isReconciled(options)).toBe(expected);
  });
});
