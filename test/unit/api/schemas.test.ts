import { describe, expect, it } from "vitest";
import { KINDS } from "../../../src/api/v1alpha1/kinds.ts";
import { type Manifest, manifest } from "../../support/manifests.ts";
import { accountRefusals } from "../../support/refusals/account.ts";
import { batchRefusals } from "../../support/refusals/batch.ts";
import { billRefusals } from "../../support/refusals/bill.ts";
import { endpointRefusals } from "../../support/refusals/endpoint.ts";
import type { Refusal } from "../../support/refusals/refusal.ts";
import { speechRefusals } from "../../support/refusals/speech.ts";
import { videoRefusals } from "../../support/refusals/video.ts";

function parse({ kind, spec }: Manifest) {
  const definition = KINDS.find(({ resource }) => resource.kind === kind);
  if (definition === undefined) throw new Error(`no kind ${kind}`);
  return definition.spec.safeParse(spec);
}

const tables: [string, readonly Refusal[]][] = [
  ["GpuEndpoint", endpointRefusals],
  ["SpeechJob", speechRefusals],
  ["VideoJob", videoRefusals],
  ["Account and ClusterAccount", accountRefusals],
  ["BillReport", billRefusals],
  ["MediaBatch", batchRefusals],
];

// The same table runs against the API server in test/integration/refusals.test.ts: both must say the same.
describe.each(tables)("%s: zod refuses what the API server refuses:", (_, table) => {
  it.each(table.map((row) => [row.change, row] as const))("%s", (_change, { bad, good }) => {
    expect(parse(good).error?.issues ?? []).toEqual([]);
    expect(parse(bad).success).toBe(false);
  });
});

describe("zod applies the defaults of the API server", () => {
  const jobDefaults = { suspend: false, backoffLimit: 0, onSubmissionUnknown: "Halt" };
  const accountDefaults = {
    requestTimeout: "60s",
    rateLimit: { requestsPerSecond: 10, burst: 20 },
    endpoints: { generation: "Current", pageSize: 100, syncInterval: "60s" },
    speech: { maxCharacters: 50_000 },
    billing: { interval: "1h", timeZone: "UTC", settleTime: "24h" },
  };

  it.each([
    [
      "endpoint",
      {
        rootfsSizeGB: 100,
        suspend: false,
        driftPolicy: "Remediate",
        managementPolicy: "Full",
        deletionPolicy: "ScaleToZero",
      },
    ],
    ["turbo", jobDefaults],
    ["reference", jobDefaults],
    ["account", accountDefaults],
    ["bill", { cycle: "Day", refreshInterval: "1h" }],
    ["clusterAccount", accountDefaults],
  ] as const)("%s", (variant, defaults) => {
    const object = manifest(variant);
    expect(parse(object).data).toEqual({ ...object.spec, ...defaults });
  });

  it("keeps free-form pronunciations as they are", () => {
    const tone = [{ word: "read", as: { ipa: "ɹɛd" } }];
    expect(parse(manifest("hd", { pronunciationDict: { tone } })).data).toMatchObject({ pronunciationDict: { tone } });
  });
});

describe("a status that is not there yet", () => {
  it.each(KINDS.map((kind) => [kind.resource.kind, kind] as const))("%s is Ready=Unknown/Pending", (_, kind) => {
    expect(kind.status.parse(undefined)).toEqual({
      conditions: [
        {
          type: "Ready",
          status: "Unknown",
          reason: "Pending",
          message: "Waiting for controller",
          lastTransitionTime: "1970-01-01T00:00:00Z",
        },
      ],
    });
  });
});
