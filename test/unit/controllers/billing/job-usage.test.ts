import { expect, it, test } from "vitest";
import type { GpuEndpointStatus } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { mediaBatchResource } from "../../../../src/api/v1alpha1/kinds.ts";
import type { MediaBatch } from "../../../../src/api/v1alpha1/media-batch.ts";
import type { Submission } from "../../../../src/api/v1alpha1/meta.ts";
import { ownerOfJob } from "../../../../src/controllers/billing/job-owner.ts";
import { recordUsage } from "../../../../src/controllers/billing/object-cost.ts";
import type { AcceptedJob } from "../../../../src/controllers/billing/recorder.ts";
import { endpointOwner } from "../../../../src/controllers/billing/recorder.ts";
import { controllerReference } from "../../../../src/kube/resource.ts";
import type { NamespacedObject } from "../../../../src/kube/types.ts";
import { endpointOf } from "../../../support/endpoints.ts";
import { videoJobOf } from "../../../support/jobs.ts";
import { storedMeta } from "../../../support/stored-meta.ts";

const submission = (state: Submission["state"], id = "one"): Submission => ({
  id,
  specHash: "",
  attempt: 1,
  state,
  time: "2026-03-01T00:00:00Z",
});
const jobWith = (shown: Submission | undefined) =>
  videoJobOf(
    "image",
    {},
    {
      conditions: [],
      consumption: { unit: "Seconds", quantity: 5 },
      account: { kind: "ClusterAccount", name: "default", baseURL: "https://api.example.com" },
      ...(shown === undefined ? {} : { submission: shown }),
    },
  );

it.each([
  { name: "an accepted request counts", before: submission("Intended"), after: submission("Accepted"), count: 1 },
  {
    name: "a later status does not count it again",
    before: submission("Accepted"),
    after: submission("Accepted"),
    count: 0,
  },
  { name: "the next attempt counts", before: submission("Accepted"), after: submission("Accepted", "two"), count: 1 },
  { name: "an intent does not count", before: undefined, after: submission("Intended"), count: 0 },
  { name: "an unknown outcome does not count", before: submission("Intended"), after: submission("Unknown"), count: 0 },
])("$name", ({ before, after, count }) => {
  const accepted: AcceptedJob[] = [];
  const unknown: AcceptedJob[] = [];
  const usage = {
    ownerOfJob: (kind: string, job: Pick<NamespacedObject, "metadata">) =>
      ownerOfJob({ get: () => undefined }, kind, job),
    accepted: (job: AcceptedJob) => void accepted.push(job),
    unknown: (job: AcceptedJob) => void unknown.push(job),
  };
  recordUsage({ usage }, "VideoJob", { before: jobWith(before), after: jobWith(after) });
  const job = {
    account: "ClusterAccount/default",
    namespace: "team",
    object: expect.stringMatching(/^VideoJob\//),
    created: Date.parse(jobWith(undefined).metadata.creationTimestamp) / 1000,
    operation: "submitImageToVideo",
    quantity: 5,
  };
  expect(accepted).toEqual(Array.from({ length: count }, () => job));
  expect(unknown).toEqual(after?.state === "Unknown" ? [job] : []); // it counts for the share alone
});

it("the usage of a job of a batch counts for its batch, as long as that is there", () => {
  const batch = { metadata: storedMeta({ namespace: "team", name: "film", uid: "film" }) } as MediaBatch;
  const { creationTimestamp, ...metadata } = videoJobOf("image").metadata;
  const ownerReferences = [controllerReference(mediaBatchResource, batch.metadata)];
  const job = { ...videoJobOf("image"), metadata: { ...metadata, creationTimestamp, name: "film-7", ownerReferences } };
  const created = Date.parse(batch.metadata.creationTimestamp) / 1000;
  const ownerIn = (present: MediaBatch | undefined) => ownerOfJob({ get: () => present }, "VideoJob", job);
  expect(ownerIn(batch)).toEqual({ namespace: "team", object: "MediaBatch/film", created });
  const another = { ...batch, metadata: { ...batch.metadata, uid: "another" } };
  for (const none of [undefined, another]) expect(ownerIn(none)).toMatchObject({ object: "VideoJob/film-7" });
});

test.each([
  { name: "its GpuEndpoint", account: "ClusterAccount/default", bound: "ep-1", namespace: "team" },
  {
    name: "its GpuEndpoint in the namespace of the Account",
    account: "Account/team/default",
    bound: "ep-1",
    namespace: "team",
  },
  {
    name: "nobody for an Account of another namespace",
    account: "Account/other/default",
    bound: "ep-1",
    namespace: "",
  },
  { name: "nobody while no object is bound to it", account: "ClusterAccount/default", bound: "ep-2", namespace: "" },
])("the owner of an endpoint is $name", ({ account, bound, namespace }) => {
  const status: GpuEndpointStatus = { conditions: [], endpointID: bound };
  const store = { byIndex: () => [endpointOf({}, { status })] };
  expect(endpointOwner(store, account, "ep-1").namespace).toBe(namespace);
});
