import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type Change, type Manifest, manifest, type Variant } from "../support/manifests.ts";
import { accountRefusals } from "../support/refusals/account.ts";
import { endpointRefusals } from "../support/refusals/endpoint.ts";
import type { Refusal } from "../support/refusals/refusal.ts";
import { speechRefusals } from "../support/refusals/speech.ts";
import { videoRefusals } from "../support/refusals/video.ts";

type Answer = { code: number; stdout: string; stderr: string };

const namespace = `refusals-${randomBytes(4).toString("hex")}`;
const examples = join(import.meta.dirname, "../../examples");

/** Runs kubectl in this file's namespace; never throws, so that refusals can be looked at. */
function kubectl(args: readonly string[], input = ""): Promise<Answer> {
  return new Promise((resolve) => {
    const all = ["--kubeconfig", inject("kubeconfig"), "--namespace", namespace, ...args];
    const child = execFile(inject("kubectl"), all, { maxBuffer: 64 << 20 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    );
    child.stdin?.end(input);
  });
}

/** A text beyond what the annotation of client-side apply can hold goes by server-side apply. */
function apply(object: Manifest, ...options: string[]): Promise<Answer> {
  const input = JSON.stringify(object);
  const side = input.length > 200_000 ? ["--server-side"] : [];
  return kubectl(["apply", ...side, "-o", "json", ...options, "-f", "-"], input);
}

async function accepted(object: Manifest, ...options: string[]): Promise<Stored> {
  const { code, stdout, stderr } = await apply(object, ...options);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout) as Stored;
}

/** What the API server adds of its own to a value of the wrong type, length or enumeration: CEL was not reached. */
const NOTICE = "some validation rules were not checked because the object was invalid";

/** The one line of a refusal. */
async function refused(object: Manifest, ...options: string[]): Promise<string> {
  const { code, stderr } = await apply(object, ...options);
  expect(code, `${object.kind} was accepted`).not.toBe(0);
  const lines = stderr.trim().split("\n");
  const own = lines.some((line) => line.includes(NOTICE))
    ? lines.slice(1).filter((line) => !line.includes(NOTICE))
    : lines;
  expect(own, stderr).toHaveLength(1);
  return own.join();
}

type Stored = { spec: Record<string, unknown>; status?: { conditions?: unknown[] } };

beforeAll(async () => {
  expect((await kubectl(["create", "namespace", namespace])).stderr).toBe("");
});
afterAll(async () => {
  await kubectl(["delete", "namespace", namespace, "--wait=false"]);
});

const tables: [string, readonly Refusal[]][] = [
  ["GpuEndpoint", endpointRefusals],
  ["SpeechJob", speechRefusals],
  ["VideoJob", videoRefusals],
  ["Account and ClusterAccount", accountRefusals],
];

describe.each(tables)("%s is refused with one line, and its good twin is not:", (_, table) => {
  it.concurrent.each(table)("$what", async ({ variant, bad, good, message }) => {
    expect(await refused(manifest(variant, bad), "--dry-run=server")).toContain(message);
    await accepted(manifest(variant, good), "--dry-run=server");
  });
});

type Step = { what: string; variant: Variant; from: Change; to: Change; message: string };
const recreate =
  "cannot be changed, added or removed after creation: delete this GpuEndpoint and create a new one instead";
const newJob = (kind: string) =>
  `cannot be changed, added or removed after creation: create a new ${kind} instead (only suspend, ttlSecondsAfterFinished and activeDeadlineSeconds can be changed)`;
const adoption = { endpointID: "e-1" };
const output = { storeRef: { name: "store" } };

const immutable: Step[] = [
  {
    what: "appName",
    variant: "endpoint",
    from: { appName: "a" },
    to: { appName: "b" },
    message: `appName ${recreate}`,
  },
  { what: "appName added", variant: "endpoint", from: {}, to: { appName: "b" }, message: `appName ${recreate}` },
  { what: "appName removed", variant: "endpoint", from: { appName: "a" }, to: {}, message: `appName ${recreate}` },
  { what: "products", variant: "endpoint", from: {}, to: { products: [{ id: "b" }] }, message: `products ${recreate}` },
  {
    what: "rootfsSizeGB",
    variant: "endpoint",
    from: {},
    to: { rootfsSizeGB: 50 },
    message: `rootfsSizeGB ${recreate}`,
  },
  {
    what: "adoption",
    variant: "endpoint",
    from: { adoption },
    to: { adoption: { endpointID: "e-2" } },
    message: `adoption ${recreate}`,
  },
  { what: "text", variant: "hd", from: {}, to: { text: "Farewell." }, message: `text ${newJob("SpeechJob")}` },
  {
    what: "voiceSetting",
    variant: "hd",
    from: {},
    to: { voiceSetting: { speed: 2 } },
    message: `voiceSetting ${newJob("SpeechJob")}`,
  },
  {
    what: "model",
    variant: "turbo",
    from: {},
    to: { model: "speech-2.6-hd" },
    message: `model ${newJob("SpeechJob")}`,
  },
  {
    what: "pronunciationDict",
    variant: "hd",
    from: { pronunciationDict: { tone: [{ word: "read" }] } },
    to: { pronunciationDict: { tone: [{ word: "lead" }] } },
    message: `pronunciationDict ${newJob("SpeechJob")}`,
  },
  { what: "output added", variant: "hd", from: {}, to: { output }, message: `output ${newJob("SpeechJob")}` },
  {
    what: "backoffLimit",
    variant: "image",
    from: {},
    to: { backoffLimit: 3 },
    message: `backoffLimit ${newJob("VideoJob")}`,
  },
  {
    what: "accountRef",
    variant: "image",
    from: {},
    to: { accountRef: { name: "other" } },
    message: `accountRef ${newJob("VideoJob")}`,
  },
  {
    what: "managedBy",
    variant: "image",
    from: {},
    to: { managedBy: "example.com/queue" },
    message: `managedBy ${newJob("VideoJob")}`,
  },
  {
    what: "prompt",
    variant: "image",
    from: {},
    to: { imageToVideo: { prompt: "Calm" } },
    message: `imageToVideo ${newJob("VideoJob")}`,
  },
  {
    what: "parameters",
    variant: "reference",
    from: {},
    to: { videoToVideo: { parameters: { seed: 1 } } },
    message: `videoToVideo ${newJob("VideoJob")}`,
  },
];

describe("a field that cannot be changed", () => {
  it.concurrent.each(immutable.map((step, index) => ({ ...step, index })))(
    "$variant: $what",
    async ({ variant, from, to, message, index }) => {
      const name = `immutable-${index}`;
      await accepted(manifest(variant, from, name));
      expect(await refused(manifest(variant, to, name))).toContain(message);
      await accepted(manifest(variant, from, name));
    },
  );

  it.each(["hd", "image"] as const)("%s: suspend, deadline and ttl can be", async (variant) => {
    const name = `mutable-${variant}`;
    await accepted(manifest(variant, { suspend: true }, name));
    await accepted(manifest(variant, { suspend: false, activeDeadlineSeconds: 60, ttlSecondsAfterFinished: 0 }, name));
    await accepted(manifest(variant, { suspend: true, activeDeadlineSeconds: 90 }, name));
  });

  it("accountRef of an endpoint can be changed until it exists at the remote", async () => {
    const name = "bound";
    const ref = (account: string): Change => ({ accountRef: { name: account } });
    await accepted(manifest("endpoint", {}, name));
    await accepted(manifest("endpoint", ref("a"), name));
    await accepted(manifest("endpoint", ref("b"), name));
    const patch = JSON.stringify({ status: { endpointID: "e-1" } });
    const status = await kubectl(["patch", "gpuep", name, "--subresource=status", "--type=merge", "-p", patch]);
    expect(status.stderr).toBe("");
    const message = "accountRef cannot be changed once the endpoint exists at the remote";
    expect(await refused(manifest("endpoint", ref("c"), name))).toContain(message);
    expect(await refused(manifest("endpoint", {}, name))).toContain(message);
    await accepted(manifest("endpoint", { ...ref("b"), port: 9000 }, name));
  });
});

it("a text of a million characters is taken, and its job can be changed", async () => {
  const long = manifest("hd", { text: "ahoy ".repeat(200_000) }, "long");
  const { stderr } = await kubectl(["create", "-f", "-"], JSON.stringify(long));
  expect(stderr).toBe("");
  const suspend = await kubectl(["patch", "speech", "long", "--type=merge", "-p", '{"spec":{"suspend":true}}']);
  expect(suspend.stderr).toBe("");
  const change = await kubectl(["patch", "speech", "long", "--type=merge", "-p", '{"spec":{"text":"short"}}']);
  expect(change.stderr).toContain(`text ${newJob("SpeechJob")}`);
});

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
    billing: { interval: "1h" },
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
    "clusteraccounts cacct",
    "gpuendpoints gpuep",
    "speechjobs speech",
    "videojobs video",
  ]);
});

describe("examples", () => {
  const files = readdirSync(examples, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".yaml"));

  it.each(files)("%s is accepted, by strict validation", async (file) => {
    const args = ["apply", "--dry-run=server", "--validate=strict", "-f", join(examples, file)];
    // An account names its own namespace for the Secret; everything else goes where it is applied.
    const where = file.startsWith("account") ? ["--namespace", "default"] : [];
    const { code, stderr } = await kubectl([...args, ...where]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
});
