import { expect, it } from "vitest";
import { eventResource } from "../../../src/kube/resource.ts";
import { base64, manifest } from "../../support/manifests.ts";
import { type AnyObject, condition } from "../../support/world.ts";
import { type Stage, waitForCondition } from "../stage/stage.ts";
import { startedStage } from "../stage/started.ts";

const NEEDY = [
  { ...manifest("account", { apiKeySecretRef: { name: "later" } }, "second"), reason: "SecretNotFound" },
  {
    ...manifest(
      "endpoint",
      { env: [{ name: "TOKEN", valueFrom: { secretKeyRef: { name: "later", key: "apiKey" } } }] },
      "echo",
    ),
    reason: "SecretNotFound",
  },
  {
    ...manifest("hd", { text: null, textFrom: { configMapKeyRef: { name: "later", key: "text" } } }, "said"),
    reason: "ConfigMapNotFound",
  },
  {
    ...manifest(
      "reference",
      { videoToVideo: { input: { audioURL: null, audioFrom: { jobRef: { kind: "SpeechJob", name: "later" } } } } },
      "film",
    ),
    reason: "SourceNotFound",
  },
  { ...manifest("turbo", { output: { storeRef: { name: "later" } } }, "kept"), reason: "StoreNotReady" },
  { ...manifest("bill", { accountRef: { kind: "Account", name: "later" } }, "month"), reason: "AccountNotFound" },
];

type Event = AnyObject & { reason: string; type: string; regarding: { name: string } };
const warnings = async ({ kube, namespace }: Stage) =>
  (await kube.list<Event>(eventResource, { namespace })).items.flatMap(({ type, regarding, reason }) =>
    type === "Warning" ? [`${regarding.name} ${reason}`] : [],
  );
const baseURL = "http://service.invalid";

it("objects that are applied before what they refer to wait for it for 15 s, and no one is told to act before", async () => {
  const world = await startedStage({ bucket: true, simulator: { timeScale: 0.01 } });
  for (const { reason: _, ...object } of NEEDY) {
    await world.apply(object.kind === "Account" ? { ...object, spec: { ...object.spec, baseURL } } : object);
  }
  for (const { kind, metadata, reason } of NEEDY) {
    const waiting = await waitForCondition(world, kind, metadata.name, "Reconciling");
    expect({ reason, stalled: undefined }).toEqual({
      reason: condition(waiting, "Ready")?.reason,
      stalled: condition(waiting, "Stalled"),
    });
  }
  await world.pass(8_000);
  const text = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "later" }, data: { text: "Ahoy." } };
  await world.apply(text);
  await world.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "later" },
    data: Object.fromEntries(
      ["apiKey", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map((key) => [key, base64("simulator-key")]),
    ),
  });
  await world.apply(manifest("hd", {}, "later"));
  await world.apply(manifest("s3Store", { s3: { credentialsSecretRef: { name: "later" } } }, "later"));
  await world.apply(manifest("account", { baseURL, apiKeySecretRef: { name: "later" } }, "later"));
  for (const { kind, metadata } of NEEDY) await waitForCondition(world, kind, metadata.name, "Ready");
  expect(await warnings(world)).toEqual([]);
});

it("an object whose reference does not come is Stalled after 15 s, with a Warning", async () => {
  const world = await startedStage();
  for (const { reason: _, ...object } of NEEDY) {
    await world.apply(object.kind === "Account" ? { ...object, spec: { ...object.spec, baseURL } } : object);
  }
  await world.pass(14_000);
  expect(await warnings(world)).toEqual([]);
  await world.pass(5_000);
  for (const { kind, metadata, reason } of NEEDY) {
    expect(condition(await world.get(kind, metadata.name), "Stalled")?.reason).toBe(reason);
  }
  expect((await warnings(world)).sort()).toEqual(
    NEEDY.map(({ metadata, reason }) => `${metadata.name} ${reason}`).sort(),
  );
});
