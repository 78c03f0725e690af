import { describe, expect, it } from "vitest";
import { kubectlInNamespace } from "../support/kubectl.ts";
import { accountRefusals } from "../support/refusals/account.ts";
import { artifactStoreRefusals } from "../support/refusals/artifact-store.ts";
import { billRefusals } from "../support/refusals/bill.ts";
import { endpointRefusals } from "../support/refusals/endpoint.ts";
import type { Refusal } from "../support/refusals/refusal.ts";
import { speechRefusals } from "../support/refusals/speech.ts";
import { videoRefusals } from "../support/refusals/video.ts";

const { accepted, refused } = kubectlInNamespace("refusals");

const tables: [string, readonly Refusal[]][] = [
  ["GpuEndpoint", endpointRefusals],
  ["SpeechJob", speechRefusals],
  ["VideoJob", videoRefusals],
  ["Account and ClusterAccount", accountRefusals],
  ["BillReport", billRefusals],
  ["ArtifactStore", artifactStoreRefusals],
];

describe.each(tables)("%s is refused with one line, and its good twin is not:", (_, table) => {
  it.concurrent.each(table.map((row) => [row.change, row] as const))("%s", async (_change, { bad, good, message }) => {
    expect(await refused(bad, { dryRun: true })).toContain(message);
    await accepted(good, { dryRun: true });
  });
});
