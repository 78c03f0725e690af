import { expect, it } from "vitest";
import { type MediaBatch, mediaBatchSpecSchema } from "../../../../../src/api/v1alpha1/media-batch.ts";
import { plannedBatch } from "../../../../../src/cli/use/plan/batch-plan.ts";
import type { KubeClient } from "../../../../../src/kube/client.ts";
import { KubeError } from "../../../../../src/kube/errors.ts";
import type { Place, Resource } from "../../../../../src/kube/resource.ts";
import { type Change, manifest } from "../../../../support/manifests.ts";
import { storedMeta } from "../../../../support/stored-meta.ts";

const ready = { conditions: [{ type: "Ready", status: "True", reason: "R", message: "", lastTransitionTime: "" }] };
const asOf = "2026-02-28T00:00:00Z";
const prices = [{ name: "speech-2.6-turbo", unit: "ThousandCharacters", price: "2", asOf }] as const;
const account = { spec: { speech: { maxCharacters: 50_000 } }, status: { prices: [...prices] } };

const cluster: Record<string, object> = {
  "Account/default": { ...manifest("account"), status: ready },
  "ArtifactStore/results": { ...manifest("volumeStore"), status: ready },
  "ConfigMap/book": { metadata: { name: "book" }, data: { items: `${'{"text":"0123456789"}\n'.repeat(50)}` } },
  "Secret/key": { metadata: { name: "key" }, data: { apiKey: "a2V5" } },
};

function planned(change: Change, objects = cluster) {
  const get = async ({ kind }: Resource, { name = "" }: Place) => {
    const found = objects[`${kind}/${name}`];
    if (found === undefined) throw new KubeError(`no ${kind} ${name}`, { status: 404, reason: "NotFound" });
    return found;
  };
  const kube = { get } as Pick<KubeClient, "get"> as KubeClient;
  const batch: MediaBatch = {
    apiVersion: "mooring.dev/v1alpha1",
    kind: "MediaBatch",
    metadata: storedMeta({ name: "book" }),
    spec: mediaBatchSpecSchema.parse(manifest("batch", change).spec),
  };
  return plannedBatch({ kube, signal: new AbortController().signal }, batch, account);
}
const configMap = { items: { inline: null, configMapKeyRef: { name: "book", key: "items" } } };

it("a batch shows how many requests it sends, and what they cost", async () => {
  expect(await planned(configMap)).toEqual({
    action: "Submit",
    message: "send 50 paid requests (synthesizeSpeech)",
    changes: [],
    estimatedCost: "1",
    per: "Batch",
  });
});

it("items of a store are left to the operator", async () => {
  const object = { storeRef: { name: "results" }, key: "in.csv" };
  expect(await planned({ items: { inline: null, object } })).toMatchObject({
    action: "Submit",
    message: expect.stringContaining("each item of in.csv"),
  });
});

it.each<{ given: string; change: Change; objects?: Record<string, object>; says: string }>([
  {
    given: "a bad item",
    change: { items: { inline: [{ txt: "a" }] } },
    says: "InvalidItems: line 1: txt: unknown field",
  },
  {
    given: "a missing ConfigMap",
    change: configMap,
    objects: { ...cluster, "ConfigMap/book": {} },
    says: "SecretKeyMissing",
  },
  {
    given: "a missing store",
    change: { output: { storeRef: { name: "other" } } },
    says: "StoreNotReady: ArtifactStore team/other does not exist",
  },
])("is a conflict with $given", async ({ change, objects, says }) => {
  const { action, message, problems = [] } = await planned(change, objects);
  expect(action).toBe("Conflict");
  expect([message, ...problems].join("\n")).toContain(says);
});
