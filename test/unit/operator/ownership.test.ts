import { describe, expect, it } from "vitest";
import { videoJobResource } from "../../../src/api/v1alpha1/kinds.ts";
import type { BoundAccount } from "../../../src/api/v1alpha1/meta.ts";
import type { VideoJobStatus } from "../../../src/api/v1alpha1/video-job.ts";
import { KIND_ROWS } from "../../../src/operator/kinds.ts";
import { createOwnership, dropUnread } from "../../../src/operator/ownership.ts";
import { shardOf } from "../../../src/operator/shard.ts";
import { videoJobOf } from "../../support/jobs.ts";

const row = { resource: videoJobResource, account: "Needs" } as const;
const baseURL = "https://api.example.com";

/** Names of two ClusterAccounts in different shards of 2, and the account that Account `default` of the namespace is. */
const OWN_DEFAULT = "Account/team/default";
const other = Array.from({ length: 20 }, (_, index) => `cluster-${index}`).find(
  (name) => shardOf(`ClusterAccount/${name}`, 2) !== shardOf(OWN_DEFAULT, 2),
);
if (other === undefined) throw new Error("one of 20 accounts is in the other shard");
const bound: BoundAccount = { kind: "ClusterAccount", name: other, baseURL };
const submission = { id: "one", specHash: "0", attempt: 1, time: "2026-03-01T00:00:00Z" };

type Status = Partial<VideoJobStatus>;

/** The shards of 2 that have the job. */
function ownersOf(status: Status | undefined, { exists = [OWN_DEFAULT], deleted = false } = {}): number[] {
  const job = videoJobOf("image", {}, status && { conditions: [], ...status });
  if (deleted) job.metadata.deletionTimestamp = "2026-03-01T00:00:00Z";
  return [0, 1].filter((index) => createOwnership({ index, count: 2 }, (key) => exists.includes(key)).owns(row, job));
}

describe("a job without accountRef belongs to exactly one shard:", () => {
  const meant = [shardOf(OWN_DEFAULT, 2)];
  const shown = [shardOf(`ClusterAccount/${other}`, 2)];
  it.each<{ name: string; status?: Status; options?: Parameters<typeof ownersOf>[1]; expected: number[] }>([
    { name: "that of the default account", expected: meant },
    { name: "one that tells that there is no account", options: { exists: [] }, expected: meant },
    {
      name: "that of ClusterAccount default, without an Account",
      options: { exists: ["ClusterAccount/default"] },
      expected: [shardOf("ClusterAccount/default", 2)],
    },
    {
      name: "that of the account it is bound to, whatever default account there is now",
      status: { account: bound, phase: "Pending" },
      expected: shown,
    },
    {
      name: "that of the account in its status, while a request is under way",
      status: { account: bound, phase: "Submitting", submission: { ...submission, state: "Intended" } },
      expected: shown,
    },
    {
      name: "that of the account it is bound to, also when the request was not sent",
      status: { account: bound, phase: "Pending", submission: { ...submission, state: "NotSent" } },
      expected: shown,
    },
    {
      name: "that of the account in its status, while its task runs",
      status: { account: bound, phase: "Running" },
      expected: shown,
    },
    {
      name: "that of the account in its status, at the end",
      status: { account: bound, phase: "Succeeded" },
      expected: shown,
    },
    {
      name: "that of the account in its status, when it is deleted",
      status: { account: bound, phase: "Pending" },
      options: { deleted: true },
      expected: shown,
    },
  ])("$name", ({ status, options, expected }) => {
    expect(ownersOf(status, options)).toEqual(expected);
  });
});

it("an ArtifactStore is reconciled by each shard, and counted by the metrics of shard 0", () => {
  const store = { metadata: { name: "results", namespace: "team" }, spec: {} };
  const shards = [0, 1].map((index) => createOwnership({ index, count: 2 }, () => true));
  expect(shards.map(({ owns }) => owns(KIND_ROWS.artifactStores, store))).toEqual([true, true]);
  expect(shards.map(({ reported }) => [...reported(KIND_ROWS.artifactStores, [store])].length)).toEqual([1, 0]);
});

it("of an endpoint of another shard, what tells its owner stays, and nothing else", () => {
  const endpoint = {
    metadata: { name: "llm", namespace: "team", uid: "1" },
    spec: {
      accountRef: { kind: "Account", name: "a" },
      appName: "llm",
      image: "registry.example.com/llm",
      env: [{ name: "A", value: "b" }],
    },
    status: { conditions: [], account: bound, endpointID: "e-1", workers: [], submission },
  };
  const indexed = (object: typeof endpoint) => [
    object.metadata,
    object.spec.accountRef,
    object.spec.appName,
    object.status.endpointID,
  ];
  const before = structuredClone(indexed(endpoint));
  dropUnread(endpoint);
  expect(indexed(endpoint)).toEqual(before);
  expect(Object.keys(endpoint.spec)).toEqual(["accountRef", "appName"]);
  expect(Object.keys(endpoint.status)).toEqual(["account", "endpointID", "submission"]);
});
