import { expect, it } from "vitest";
import type { GpuEndpoint } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { gpuEndpointResource, speechJobResource } from "../../../../src/api/v1alpha1/kinds.ts";
import { PENDING_STATUS } from "../../../../src/api/v1alpha1/meta.ts";
import { byAccount, byAccountWithVolumes, createDependants } from "../../../../src/controllers/account/dependants.ts";
import type { Job, JobStatus } from "../../../../src/controllers/jobs/types.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { endpointOf } from "../../../support/endpoints.ts";
import { speechJobOf } from "../../../support/jobs.ts";

const ACCOUNT = "ClusterAccount/default";
const NO_BATCHES = { get: () => undefined };

it("the users of an account are counted, and the first of them by kind and name are shown", () => {
  const endpoints = createStore<GpuEndpoint>({ account: byAccount });
  const jobs = createStore<Job>({ account: byAccount });
  const names = ["e", "b", "d", "a", "c"];
  for (const name of names) endpoints.upsert(endpointOf({}, { name, namespace: "team", uid: name }));
  for (const phase of ["Pending", "Succeeded", "Failed", "Running"] as const) {
    const job = speechJobOf("hd", {}, { ...PENDING_STATUS, phase });
    const name = phase.toLowerCase();
    jobs.upsert({ ...job, metadata: { ...job.metadata, name, namespace: "team", uid: name } });
  }
  const dependants = createDependants(
    {
      endpoints: { resource: gpuEndpointResource, store: endpoints },
      jobs: [{ resource: speechJobResource, store: jobs }],
      batches: NO_BATCHES,
    },
    () => ({ keyOf: () => ACCOUNT }),
  );
  expect(dependants.users(ACCOUNT)).toEqual({
    names: ["a", "b", "c"].map((name) => `GpuEndpoint team/${name}`),
    total: 7,
  });
  expect(dependants.users(ACCOUNT, 10).names).toEqual([
    ...names.toSorted().map((name) => `GpuEndpoint team/${name}`),
    "SpeechJob team/pending",
    "SpeechJob team/running",
  ]);
  expect(dependants.users("ClusterAccount/other")).toEqual({ names: [], total: 0 });
  expect([ACCOUNT, "ClusterAccount/other"].map(dependants.hasUsers)).toEqual([true, false]);
});

it("finished jobs do not use an account, and an unfinished one does", () => {
  const jobs = createStore<Job>({ account: byAccount });
  const endpoints = { resource: gpuEndpointResource, store: createStore<GpuEndpoint>({ account: byAccount }) };
  const kinds = { endpoints, jobs: [{ resource: speechJobResource, store: jobs }], batches: NO_BATCHES };
  const dependants = createDependants(kinds, () => ({ keyOf: () => ACCOUNT }));
  const put = (name: string, phase: "Succeeded" | "Pending") => {
    const job = speechJobOf("hd", {}, { ...PENDING_STATUS, phase });
    jobs.upsert({ ...job, metadata: { ...job.metadata, name, uid: name } });
  };
  put("done", "Succeeded");
  expect(dependants.hasUsers(ACCOUNT)).toBe(false);
  put("waiting", "Pending");
  expect(dependants.hasUsers(ACCOUNT)).toBe(true);
});

it("an account has endpoints, and volumes, as long as one of its endpoints is there and has some", () => {
  const store = createStore<GpuEndpoint>({ account: byAccount, volumes: byAccountWithVolumes });
  const kinds = { endpoints: { resource: gpuEndpointResource, store }, jobs: [], batches: NO_BATCHES };
  const dependants = createDependants(kinds, () => ({ keyOf: () => ACCOUNT }));
  const seen = () => [dependants.hasEndpoints(ACCOUNT), dependants.hasVolumes(ACCOUNT)];
  expect(seen()).toEqual([false, false]);
  const endpoint = endpointOf({}, { name: "plain", uid: "plain", namespace: "team" });
  store.upsert(endpoint);
  expect(seen()).toEqual([true, false]);
  const volumes = [{ type: "network", mountPath: "/data", id: "volume-1" } as const];
  const other = endpointOf({}, { name: "stored", uid: "stored", namespace: "team" });
  const stored = { ...other, spec: { ...other.spec, volumes: [...volumes] } };
  store.upsert(stored);
  expect(seen()).toEqual([true, true]);
  expect(dependants.hasEndpoints("Account/other/default")).toBe(false);
  store.remove(stored);
  store.remove(endpoint);
  expect(seen()).toEqual([false, false]);
});

it("after a start, jobs in flight are those whose statuses show a task, or a record without an outcome", () => {
  const jobs = createStore<Job>({ account: byAccount });
  const put = (name: string, status: Partial<JobStatus>) => {
    const job = speechJobOf("hd", {}, { ...PENDING_STATUS, ...status });
    jobs.upsert({ ...job, metadata: { ...job.metadata, name, namespace: "team", uid: name } });
  };
  const submission = { id: "one", specHash: "0", attempt: 1, sender: "ended", time: "2026-03-01T00:00:00Z" } as const;
  put("running", { phase: "Running" });
  put("waiting", { phase: "Pending" });
  put("recorded", { phase: "Pending", submission: { ...submission, state: "Intended" } });
  // The API server refused the rest of its status.
  put("accepted", { phase: "Pending", taskID: "task-1", submission: { ...submission, state: "Accepted" } });
  put("not-sent", { phase: "Pending", submission: { ...submission, state: "NotSent" } });
  put("reported", { phase: "Halted", submission: { ...submission, state: "Unknown" } });
  put("done", { phase: "Succeeded", submission: { ...submission, state: "Accepted" } });
  const kinds = {
    endpoints: { resource: gpuEndpointResource, store: createStore<GpuEndpoint>({ account: byAccount }) },
    jobs: [{ resource: speechJobResource, store: jobs }],
    batches: NO_BATCHES,
  };
  const dependants = createDependants(kinds, () => ({ keyOf: () => ACCOUNT }));
  const uids = dependants.inFlight(ACCOUNT).map(({ uid }) => uid);
  expect(uids.toSorted()).toEqual(["accepted", "recorded", "running"]);
});
