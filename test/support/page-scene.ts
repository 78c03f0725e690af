import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { manifest } from "./manifests.ts";
import { createWorld, eventually, type Operator, type World, waitForCondition } from "./world.ts";

/** A namespace with an object in each state that the web page shows. */
export type Scene = { world: World; operator: Operator; artifactRoot: string; uiArgs: string[] };

/** What no page may show: values of Secrets, and the API key. */
export const SECRET_VALUE = "hidden-value-of-a-secret";

const CHARGES = [
  { amount: 34_000, productName: "speech-2.6-hd", category: "gen_api" },
  { amount: 81_000, productName: "vid-i2v", category: "gen_api" },
  { amount: 120_500, productName: "gpu-4090-24g", category: "gpu" },
];

/** Charges of the days before, for the plot of cost over time. */
const EARLIER = Array.from({ length: 9 }, (_, day) => ({
  daysAgo: day + 1,
  amount: 8_000 + 3_000 * ((day * 7) % 5),
  productName: "vid-i2v",
  category: "gen_api",
}));

/**
 * Endpoints echo (serving), drifted (reported drift) and asleep (suspended); jobs greeting (with a copy), waves (a video with a URL),
 * unlucky (Failed), lost (Halted) and long (Running); bills and a budget.
 */
export async function createScene(prefix: string, operatorArgs: readonly string[] = []): Promise<Scene> {
  const artifactRoot = await mkdtemp(join(tmpdir(), "mooring-artifacts-"));
  afterAll(() => rm(artifactRoot, { recursive: true, force: true }));
  const world = await createWorld(prefix, {
    simulator: { budgets: [{ memberID: "member-1", keyName: "team key", type: "One-time", limit: 900_000 }] },
    account: {
      endpoints: { syncInterval: "1s" },
      billing: { interval: "2s", settleTime: "1s" },
      budget: { memberID: "member-1", monthlyLimit: "200" },
    },
  });
  await world.control(
    "POST",
    "/__state/charges",
    [...CHARGES.map((one) => ({ daysAgo: 0, ...one })), ...EARLIER].map(({ daysAgo, ...one }) => ({
      time: new Date(Date.now() - daysAgo * 86_400_000).toISOString(),
      ...one,
    })),
  );
  await world.control("POST", "/__faults", { kind: "resetAfter", operation: "synthesizeSpeech" });
  const operator = await world.startOperator({ args: [`--artifact-root=${artifactRoot}`, ...operatorArgs] });
  await world.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "tokens" },
    stringData: { hub: SECRET_VALUE },
  });
  await world.apply(manifest("turbo", {}, "lost"));
  await waitForCondition(world, "SpeechJob", "lost", "Stalled");

  const env = [
    { name: "TOKEN", valueFrom: { secretKeyRef: { name: "tokens", key: "hub" } } },
    { name: "MODE", value: "plain" },
  ];
  await world.apply(manifest("endpoint", { env }, "echo"));
  await world.apply(manifest("endpoint", { driftPolicy: "Report" }, "drifted"));
  await world.apply(manifest("endpoint", { suspend: true }, "asleep"));
  await world.apply(manifest("volumeStore", {}, "results"));
  const output = { storeRef: { name: "results" } };
  await world.apply(manifest("turbo", { text: "The ferry leaves in five minutes.", output }, "greeting"));
  await world.apply(manifest("image", {}, "waves"));
  await world.apply(manifest("hd", { text: "please fail" }, "unlucky"));
  await world.apply(manifest("bill", {}, "month"));
  await waitForCondition(world, "SpeechJob", "greeting", "Complete");
  await waitForCondition(world, "VideoJob", "waves", "Complete");
  await waitForCondition(world, "SpeechJob", "unlucky", "Failed");
  await waitForCondition(world, "BillReport", "month", "Ready");
  await waitForCondition(world, "GpuEndpoint", "echo", "Ready");

  const drifted = await waitForCondition(world, "GpuEndpoint", "drifted", "Ready");
  await world.control("POST", `/__state/endpoints/${String(drifted.status?.["endpointID"])}`, {
    image: { image: "registry.example.com/models/echo:0.9" },
  });
  await waitForCondition(world, "GpuEndpoint", "drifted", "Synced", "False");
  await world.control("POST", "/__config", { speechTaskMs: [6_000_000, 6_000_000] });
  await world.apply(manifest("hd", { text: "A long text." }, "long"));
  const uiArgs = [`--namespace=${world.namespace}`, `--artifact-root=${artifactRoot}`, "--allow-private-networks"];
  return { world, operator, artifactRoot, uiArgs };
}

/** Batches of the scene's namespace: book, which has ended with one failed item, and chapters, whose jobs run. */
export async function addBatches({ world }: Pick<Scene, "world">): Promise<void> {
  const items = {
    inline: [{ name: "one", text: "Ahoy." }, { name: "two", text: "please fail" }, { text: "The end." }],
  };
  const template = { speech: { model: "speech-2.6-hd" } };
  await world.control("POST", "/__config", { speechTaskMs: [50, 100] });
  await world.apply(manifest("batch", { items, template }, "book"));
  await waitForCondition(world, "MediaBatch", "book", "Failed");
  await world.control("POST", "/__config", { speechTaskMs: [6_000_000, 6_000_000] });
  const output = { keyPrefix: "chapters" };
  await world.apply(manifest("batch", { items, template, output, parallelism: 2 }, "chapters"));
  await eventually("two items of chapters are worked on", async () => {
    const { status } = await world.get("MediaBatch", "chapters");
    return status?.["active"] === 2;
  });
}
