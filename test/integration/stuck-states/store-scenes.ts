import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { manifest } from "../../support/manifests.ts";
import { type Scene, type Stage, secret } from "./stage.ts";

const bucket = ({ s3 }: Stage, name: string, credentials: string, change: Record<string, unknown> = {}) => ({
  kind: "ArtifactStore",
  metadata: { name },
  spec: {
    s3: {
      endpoint: s3.endpoint,
      bucket: "results",
      forcePathStyle: true,
      credentialsSecretRef: { name: credentials },
      ...change,
    },
  },
});

const credentials = ({ s3 }: Stage, name: string, secretAccessKey = s3.secretAccessKey) =>
  secret(name, { AWS_ACCESS_KEY_ID: s3.accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey });

export const STORE_SCENES: readonly Scene[] = [
  {
    reason: "StoreDenied",
    kind: "ArtifactStore",
    name: "denied",
    when: "The store refuses the credentials, or they lack a permission.",
    async arrange(stage) {
      await stage.world.apply(credentials(stage, "s3-old", "wrong-secret"));
      await stage.world.apply(bucket(stage, "denied", "s3-old"));
    },
    commands: [
      `kubectl patch secret s3-old -n team-a --type=merge -p '{"stringData":{"AWS_SECRET_ACCESS_KEY":"YOUR-SECRET"}}'`,
    ],
  },
  {
    reason: "BucketNotFound",
    kind: "ArtifactStore",
    name: "no-bucket",
    when: "The bucket does not exist.",
    async arrange(stage) {
      await stage.world.apply(credentials(stage, "s3-key"));
      await stage.world.apply(bucket(stage, "no-bucket", "s3-key", { bucket: "result" }));
    },
    advice: "Create the bucket, or correct its name:",
    commands: [
      `kubectl patch artifactstore no-bucket -n team-a --type=merge -p '{"spec":{"s3":{"bucket":"results"}}}'`,
    ],
  },
  {
    reason: "VolumeNotAvailable",
    kind: "ArtifactStore",
    name: "volume",
    world: "guarded",
    when: "The operator has no `--artifact-root`, or cannot use the folder under it.",
    arrange: ({ guarded }) => guarded.apply(manifest("volumeStore", {}, "volume")),
    advice:
      "The administrator of the operator mounts a volume: see [A volume](../how-to/artifacts.md#a-volume). Without a volume, use a bucket, and delete the store:",
    commands: ["kubectl delete artifactstore volume -n team-a"],
  },
  {
    reason: "StoreFull",
    kind: "ArtifactStore",
    name: "full",
    when: "The store is full, or has reached `maxBytes`. Results that are paid for are still stored; new jobs wait.",
    async arrange({ world, artifactRoot }) {
      await mkdir(join(artifactRoot, "full"));
      await writeFile(join(artifactRoot, "full", "old.mp4"), Buffer.alloc(11 << 20));
      const limits = { maxBytesPerJob: "10Mi", maxBytes: "10Mi" };
      await world.apply(manifest("volumeStore", { volume: { path: "full" }, ...limits }, "full"));
    },
    advice: "Delete old results, or raise the limit:",
    commands: [`kubectl patch artifactstore full -n team-a --type=merge -p '{"spec":{"maxBytes":"100Mi"}}'`],
  },
];

export const BILL_SCENES: readonly Scene[] = [
  {
    reason: "Unauthorized",
    of: "of a BillReport",
    kind: "BillReport",
    name: "no-permission",
    when: "The key may not read bills. The account itself continues.",
    async arrange({ world, account }) {
      await account("no-bills", { service: { forbiddenOperations: ["listBills"] } });
      await world.apply(manifest("bill", { accountRef: { kind: "Account", name: "no-bills" } }, "no-permission"));
    },
    advice: "Use an account whose key may read bills:",
    commands: [
      `kubectl patch billreport no-permission -n team-a --type=merge -p '{"spec":{"accountRef":{"name":"default"}}}'`,
    ],
  },
  {
    reason: "OutOfRange",
    of: "of a BillReport",
    kind: "BillReport",
    name: "early",
    when: "The period begins before the first bill of the service, in the account's time zone.",
    async arrange({ world, account }) {
      await account("utc", { spec: { billing: { timeZone: "America/New_York" } } });
      const period = { lastDays: null, startTime: "2026-01-01T00:00:00Z" };
      await world.apply(manifest("bill", { ...period, accountRef: { kind: "Account", name: "utc" } }, "early"));
    },
    commands: [
      `kubectl patch billreport early -n team-a --type=merge -p '{"spec":{"startTime":"2026-01-02T00:00:00Z"}}'`,
    ],
  },
  {
    reason: "ExportTooLarge",
    kind: "BillReport",
    name: "bulk",
    when: "The bills are larger than a ConfigMap. The sums in the status are complete.",
    async arrange({ world, account }) {
      const remote = await account("bulk", { spec: { billing: { interval: "2s", settleTime: "1s" } } });
      const time = new Date(Date.now() - 3_600_000).toISOString();
      const charge = (_: unknown, index: number) => ({
        time,
        amount: 1,
        category: "gpu",
        productName: `product ${index}`,
      });
      await remote.control("/__state/charges", Array.from({ length: 6_000 }, charge));
      const change = { accountRef: { kind: "Account", name: "bulk" }, exportTo: { configMap: { name: "bulk" } } };
      await world.apply(manifest("bill", change, "bulk"));
    },
    advice: "Shorten the period, or use `output.storeRef`. Without an export:",
    commands: [`kubectl patch billreport bulk -n team-a --type=merge -p '{"spec":{"exportTo":null}}'`],
  },
];
