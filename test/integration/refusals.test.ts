import { describe, expect, it } from "vitest";
import { kubectlInNamespace } from "../support/kubectl.ts";
import type { Change } from "../support/manifests.ts";
import { accountRefusals } from "../support/refusals/account.ts";
import { batchRefusals } from "../support/refusals/batch.ts";
import { billRefusals } from "../support/refusals/bill.ts";
import { endpointRefusals } from "../support/refusals/endpoint.ts";
import { type Refusal, refusalsOf } from "../support/refusals/refusal.ts";
import { speechRefusals } from "../support/refusals/speech.ts";
import { videoRefusals } from "../support/refusals/video.ts";

const s3Store = refusalsOf("s3Store");
const volumeStore = refusalsOf("volumeStore");
const s3 = (bad: Change, good: Change, message: string) => s3Store({ s3: bad }, { s3: good }, message);
const one = "an ArtifactStore needs exactly one of s3 and volume: set one, remove the other";

const artifactStoreRefusals: readonly Refusal[] = [
  s3Store({ volume: { path: "a" } }, {}, one),
  s3Store({ s3: null }, { s3: null, volume: { path: "a" } }, one),
  ...["ab", "Results", "results_1", "-results", "results-", "a/b", "x".repeat(64)].map((bucket) =>
    s3({ bucket }, { bucket: "my.results-1" }, "bucket"),
  ),
  ...["s3.example.com", "ftp://s3.example.com", "https://key:secret@s3.example.com", "https://s3.example.com?x=y"].map(
    (endpoint) =>
      s3(
        { endpoint },
        { endpoint: "http://minio.minio:9000" },
        "endpoint must be http(s)://host[:port][/path] without user, query or fragment: keys go into credentialsSecretRef",
      ),
  ),
  ...["/a", "../a", "a/..", "a/../b"].map((prefix) =>
    s3({ prefix }, { prefix: "a/..b" }, "prefix must be a relative path without '..'"),
  ),
  s3({ region: "eu central" }, { region: "eu-central-1" }, "region must be letters, digits"),
  s3(
    { credentialsSecretRef: {} },
    { credentialsSecretRef: { name: "s3" } },
    "spec.s3.credentialsSecretRef.name: Required value",
  ),
  ...["4 GB", "-1Gi", "0", "1.5Gi", "4G", ""].map((maxBytesPerJob) =>
    s3Store(
      { maxBytesPerJob },
      { maxBytesPerJob: "500Mi" },
      "maxBytesPerJob must be a number of bytes above 0 with the unit Ki, Mi, Gi or Ti",
    ),
  ),
  s3Store({ maxBytesPerJob: "65Gi" }, { maxBytesPerJob: "64Gi" }, "maxBytesPerJob must be 64Gi or less"),
  s3Store(
    { maxBytesPerJob: "2Gi", maxBytes: "2047Mi" },
    { maxBytesPerJob: "2Gi", maxBytes: "2048Mi" },
    "maxBytesPerJob must not be larger than maxBytes",
  ),
  ...["/a", "../a", "a/../b", "a//b", ".", ".hidden", "a/"].map((path) =>
    volumeStore(
      { volume: { path } },
      { volume: { path: "results/2026" } },
      "path must be relative without '..', each part of letters, digits",
    ),
  ),
];

const { accepted, refused } = kubectlInNamespace("refusals");

const tables: [string, readonly Refusal[]][] = [
  ["GpuEndpoint", endpointRefusals],
  ["SpeechJob", speechRefusals],
  ["VideoJob", videoRefusals],
  ["Account and ClusterAccount", accountRefusals],
  ["BillReport", billRefusals],
  ["MediaBatch", batchRefusals],
  ["ArtifactStore", artifactStoreRefusals],
];

describe.each(tables)("%s is refused with one line, and its good twin is not:", (_, table) => {
  it.concurrent.each(table.map((row) => [row.change, row] as const))("%s", async (_change, { bad, good, message }) => {
    expect(await refused(bad, { dryRun: true })).toContain(message);
    await accepted(good, { dryRun: true });
  });
});
