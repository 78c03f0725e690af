import { describe, expect, it } from "vitest";
import { kubectlInNamespace } from "../support/kubectl.ts";
import { type Change, manifest, type Variant } from "../support/manifests.ts";

const { accepted, kubectl, refused } = kubectlInNamespace("immutability");

type Step = { what: string; variant: Variant; from: Change; to: Change; message: string };
const recreate =
  "cannot be changed, added or removed after creation: delete this GpuEndpoint and create a new one instead";
const newJob = (kind: string) =>
  `cannot be changed, added or removed after creation: create a new ${kind} instead (only suspend, ttlSecondsAfterFinished and activeDeadlineSeconds can be changed)`;
const output = { storeRef: { name: "store" } };

/** A sample for each rule: admitted-values.test.ts has every field. */
const immutable: Step[] = [
  { what: "appName added", variant: "endpoint", from: {}, to: { appName: "b" }, message: `appName ${recreate}` },
  {
    what: "rootfsSizeGB",
    variant: "endpoint",
    from: {},
    to: { rootfsSizeGB: 50 },
    message: `rootfsSizeGB ${recreate}`,
  },
  { what: "text", variant: "hd", from: {}, to: { text: "Farewell." }, message: `text ${newJob("SpeechJob")}` },
  { what: "output added", variant: "hd", from: {}, to: { output }, message: `output ${newJob("SpeechJob")}` },
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

  it("accountRef of an endpoint can be changed until it exists at the service", async () => {
    const name = "bound";
    const ref = (account: string): Change => ({ accountRef: { name: account } });
    await accepted(manifest("endpoint", {}, name));
    await accepted(manifest("endpoint", ref("a"), name));
    await accepted(manifest("endpoint", ref("b"), name));
    const patch = JSON.stringify({ status: { endpointID: "e-1" } });
    const status = await kubectl(["patch", "gpuep", name, "--subresource=status", "--type=merge", "-p", patch]);
    expect(status.stderr).toBe("");
    const message = "accountRef cannot be changed once the endpoint exists at the service";
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
