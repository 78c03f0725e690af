import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { gpuEndpointResource, videoJobResource } from "../../../src/api/v1alpha1/kinds.ts";
import type { BoundAccount } from "../../../src/api/v1alpha1/meta.ts";
import type { VideoJobStatus } from "../../../src/api/v1alpha1/video-job.ts";
import { createKind } from "../../../src/controllers/controller-deps.ts";
import type { KubeObject } from "../../../src/kube/types.ts";
import { KIND_ROWS } from "../../../src/operator/kinds.ts";
import { createOwnership, dropUnread } from "../../../src/operator/ownership.ts";
import { dropUnreadMetadata, isPartial } from "../../../src/runtime/shortened.ts";
import { compact, createStore } from "../../../src/runtime/store.ts";
import { endpointOf } from "../../support/endpoints.ts";
import { videoJobOf } from "../../support/jobs.ts";
import { memoryKube } from "../../support/memory-kube.ts";

const row = { resource: videoJobResource, account: "Needs" } as const;
const baseURL = "https://api.example.com";

const OWN_DEFAULT = "Account/team/default";
const BOUND = "ClusterAccount/other";
const bound: BoundAccount = { kind: "ClusterAccount", name: "other", baseURL };
const submission = { id: "one", specHash: "0", attempt: 1, time: "2026-03-01T00:00:00Z" };

type Status = Partial<VideoJobStatus>;

type Given = Partial<Record<"exists" | "holds" | "serves" | "free", readonly string[]>> & { isFirst?: boolean };

/** `serves`: of what the process holds; default: all. */
function ownershipOf(given: Given = {}) {
  const { exists = [OWN_DEFAULT, BOUND], holds = [], serves = holds, free = [], isFirst = false } = given;
  return createOwnership({
    servers: {
      holds: (key) => holds.includes(key),
      serves: (key) => serves.includes(key),
      isFree: (key) => free.includes(key),
      cleansUp: () => false,
    },
    members: { isFirst: () => isFirst },
    exists: (key) => exists.includes(key),
  });
}

function jobWith(status: Status | undefined, deleted = false) {
  const job = videoJobOf("image", {}, status && { conditions: [], ...status });
  if (deleted) job.metadata.deletionTimestamp = "2026-03-01T00:00:00Z";
  return job;
}

describe("the account that serves a job without accountRef is", () => {
  it.each<{ name: string; status?: Status; exists?: string[]; deleted?: boolean; expected: string | undefined }>([
    { name: "the default account", expected: OWN_DEFAULT },
    { name: "none, when there is none", exists: [], expected: undefined },
    {
      name: "ClusterAccount default, without an Account",
      exists: ["ClusterAccount/default"],
      expected: "ClusterAccount/default",
    },
    {
      name: "the one it is bound to, whatever default account there is now",
      status: { account: bound, phase: "Pending" },
      expected: BOUND,
    },
    {
      name: "the one in its status, while a request is under way",
      status: { account: bound, phase: "Submitting", submission: { ...submission, state: "Intended" } },
      expected: BOUND,
    },
    {
      name: "the one it is bound to, also when the request was not sent",
      status: { account: bound, phase: "Pending", submission: { ...submission, state: "NotSent" } },
      expected: BOUND,
    },
    {
      name: "the one in its status, while its task runs",
      status: { account: bound, phase: "Running" },
      expected: BOUND,
    },
    { name: "the one in its status, at the end", status: { account: bound, phase: "Succeeded" }, expected: BOUND },
    {
      name: "the one in its status, when it is deleted",
      status: { account: bound, phase: "Pending" },
      deleted: true,
      expected: BOUND,
    },
  ])("$name", ({ status, exists, deleted, expected }) => {
    expect(ownershipOf(exists && { exists }).accountOf(row, jobWith(status, deleted))).toBe(expected);
  });
});

it.each([
  { name: "the process that serves its account", options: { holds: [OWN_DEFAULT] }, expected: [true, 1] },
  { name: "no other one", options: { holds: [BOUND], isFirst: true }, expected: [false, 0] },
  { name: "the first process, when it has no account", options: { exists: [], isFirst: true }, expected: [true, 1] },
  { name: "no other one, when it has no account", options: { exists: [] }, expected: [true, 0] },
])("a job is counted by the metrics of $name", ({ options, expected }) => {
  const { mayOwn, reported } = ownershipOf(options);
  expect([mayOwn(row, jobWith(undefined)), reported(row, [jobWith(undefined)]).length]).toEqual(expected);
});

it.each<{ name: string; given: Given; expected: { stored: boolean; heard: boolean } }>([
  { name: "that this process serves", given: { holds: [OWN_DEFAULT] }, expected: { stored: true, heard: true } },
  {
    name: "that this process is about to serve",
    given: { holds: [OWN_DEFAULT], serves: [] },
    expected: { stored: true, heard: false },
  },
  { name: "that nobody serves", given: { free: [OWN_DEFAULT] }, expected: { stored: true, heard: true } },
  { name: "that another process serves", given: { free: [BOUND] }, expected: { stored: false, heard: false } },
])(
  "a job of an account $name is stored as a whole: $expected.stored, and is heard of: $expected.heard",
  ({ given, expected }) => {
    const { mayOwn, concerns } = ownershipOf(given);
    const job = jobWith(undefined);
    expect({ stored: mayOwn(row, job), heard: concerns(row, job) }).toEqual(expected);
  },
);

it("an ArtifactStore is reconciled by each process, and counted by the metrics of the first", () => {
  const store = { metadata: { name: "results", namespace: "team" }, spec: {} };
  const processes = [true, false].map((isFirst) => ownershipOf({ isFirst }));
  expect(processes.map(({ mayOwn }) => mayOwn(KIND_ROWS.artifactStores, store))).toEqual([true, true]);
  expect(processes.map(({ reported }) => reported(KIND_ROWS.artifactStores, [store]).length)).toEqual([1, 0]);
});

it("of an endpoint of another process, what tells its owner stays, and nothing else", () => {
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
  expect(isPartial(endpoint)).toBe(true);
});

it("a write of an object that is stored in part keeps the fields of its status that were dropped", async () => {
  const whole = () => ({
    metadata: { name: "a", namespace: "team", uid: "u", resourceVersion: "1" },
    spec: { image: "i" },
    status: { endpointID: "e-1", workers: ["w"], url: "u" },
  });
  const store = createStore<KubeObject<unknown, object>>();
  store.upsert(whole());
  const kind = createKind(memoryKube(store).client, { resource: gpuEndpointResource, store });
  const part = whole();
  dropUnread(part);
  const copy = { ...part, metadata: { ...part.metadata } };
  await kind.patchStatus(copy, { ...copy.status, endpointID: "e-2" }, new AbortController().signal);
  expect(store.get("team/a")?.status).toEqual({ endpointID: "e-2", workers: ["w"], url: "u" });
});

it("what a store keeps of an object takes less memory than the object: it is no hash table", () => {
  setFlagsFromString("--allow-natives-syntax");
  const isFast = runInNewContext("(object) => %HasFastProperties(object)") as (object: unknown) => boolean;
  const whole = (): KubeObject =>
    JSON.parse(JSON.stringify({ ...endpointOf(), status: { conditions: [], endpointID: "e-1", url: "u" } }));
  const object = whole();
  Object.assign(object.metadata, { labels: { app: "a" }, managedFields: [{}] });
  object.metadata.annotations = {
    "kubectl.kubernetes.io/last-applied-configuration": "{}",
    "mooring.dev/paused": "true",
    other: "o",
  };
  compact(object);
  dropUnreadMetadata(object);
  dropUnread(object);
  expect(object.metadata).toEqual({ ...whole().metadata, annotations: { "mooring.dev/paused": "true" } });
  const { metadata, spec, status } = object;
  expect([object, metadata, metadata.annotations, spec, status].map(isFast)).toEqual([true, true, true, true, true]);
});
