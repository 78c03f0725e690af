import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { kubectlInNamespace } from "../support/kubectl.ts";
import { manifest } from "../support/manifests.ts";

const { accepted, kubectl, namespace } = kubectlInNamespace("api");
const examples = join(import.meta.dirname, "../../examples");

describe("what the API server adds", () => {
  const pending = [
    {
      type: "Ready",
      status: "Unknown",
      reason: "Pending",
      message: "Waiting for controller",
      lastTransitionTime: "1970-01-01T00:00:00Z",
    },
  ];
  const jobDefaults = { suspend: false, backoffLimit: 0, onSubmissionUnknown: "Halt" };
  const accountDefaults = {
    requestTimeout: "60s",
    rateLimit: { requestsPerSecond: 10, burst: 20 },
    endpoints: { generation: "Current", pageSize: 100, syncInterval: "60s" },
    speech: { maxCharacters: 50_000 },
    billing: { interval: "1h", settleTime: "24h", timeZone: "UTC" },
  };
  const endpointDefaults = {
    rootfsSizeGB: 100,
    suspend: false,
    driftPolicy: "Remediate",
    managementPolicy: "Full",
    deletionPolicy: "ScaleToZero",
  };

  it.each([
    ["endpoint", endpointDefaults],
    ["hd", jobDefaults],
    ["image", jobDefaults],
    ["account", accountDefaults],
    ["clusterAccount", accountDefaults],
  ] as const)("%s: the defaults and no more, and a pending status", async (variant, defaults) => {
    const sent = manifest(variant, {}, `defaults-${namespace}`);
    const stored = await accepted(sent);
    expect(stored.spec).toEqual({ ...sent.spec, ...defaults });
    expect(stored.status).toEqual({ conditions: pending });
    if (variant === "clusterAccount") await kubectl(["delete", "cacct", sent.metadata.name]);
  });

  it("defaults inside what is given", async () => {
    const change = { adoption: { endpointID: "e-1" }, accountRef: { name: "team" } };
    const stored = await accepted(manifest("endpoint", change, "inside"));
    expect(stored.spec).toMatchObject({ adoption: { mode: "Match" }, accountRef: { kind: "Account", name: "team" } });
  });
});

it("kubectl scale sets workers.min, up to workers.max", async () => {
  await accepted(manifest("endpoint", { workers: { min: 0, max: 2 } }, "scaled"));
  const scale = (replicas: number) => kubectl(["scale", "gpuep/scaled", `--replicas=${replicas}`]);
  expect((await scale(2)).stderr).toBe("");
  const stored = await kubectl(["get", "gpuep", "scaled", "-o", "jsonpath={.spec.workers.min}"]);
  expect(stored.stdout).toBe("2");
  expect((await scale(3)).stderr).toContain("workers.min must not be above workers.max");
  const patch = JSON.stringify({ status: { workers: { ready: 1 } } });
  await kubectl(["patch", "gpuep", "scaled", "--subresource=status", "--type=merge", "-p", patch]);
  const path = `/apis/mooring.dev/v1alpha1/namespaces/${namespace}/gpuendpoints/scaled/scale`;
  const { stdout } = await kubectl(["get", "--raw", path]);
  expect(JSON.parse(stdout)).toMatchObject({ spec: { replicas: 2 }, status: { replicas: 1 } });
});

it("kubectl get mooring lists every kind, each by its short name too", async () => {
  const { stdout } = await kubectl([
    "api-resources",
    "--api-group=mooring.dev",
    "--categories=mooring",
    "--no-headers",
  ]);
  const rows = stdout
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/));
  expect(rows.map(([plural, short]) => `${plural} ${short}`).sort()).toEqual([
    "accounts acct",
    "artifactstores store",
    "billreports bill",
    "clusteraccounts cacct",
    "gpuendpoints gpuep",
    "mediabatches batch",
    "speechjobs speech",
    "videojobs video",
  ]);
});

describe("examples", () => {
  /** Kinds of other projects, which this API server does not have. */
  const foreign = /^apiVersion: (argoproj\.io|backstage\.io|keda\.sh|monitoring\.coreos\.com|tekton\.dev)\//m;
  const files = readdirSync(examples, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".yaml"))
    .filter((file) => !foreign.test(readFileSync(join(examples, file), "utf8")));

  it.each(files)("%s is accepted, by strict validation", async (file) => {
    const args = ["apply", "--dry-run=server", "--validate=strict", "-f", join(examples, file)];
    // An account names its own namespace for the Secret; everything else goes where it is applied.
    const where = file.startsWith("account") ? ["--namespace", "default"] : [];
    const { code, stderr } = await kubectl([...args, ...where]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
});
