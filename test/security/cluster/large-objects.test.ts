/**
 * Objects of one tenant that are as large as the API server takes. The operator lists them at its start and watches them, within the memory
 * limit of the chart, and sends the whole text of the jobs.
 */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { KINDS } from "../../../src/api/v1alpha1/kinds.ts";
import type { KubeObject } from "../../../src/kube/types.ts";
import { limitMemory, peakMiB } from "../../support/hostile/memory-limit.ts";
import { type Change, manifest } from "../../support/manifests.ts";
import {
  condition,
  createWorld,
  eventually,
  type Operator,
  type World,
  waitForCondition,
} from "../../support/world.ts";

/** The chart's limit. */
const LIMIT_MIB = 512;
const LONG_TEXT = "Ahoy there. ".repeat(83_334).slice(0, 1_000_000);
const limit = limitMemory(`mooring-${randomBytes(4).toString("hex")}`, LIMIT_MIB * 1024 * 1024);
afterAll(async () => {
  await eventually("the cgroup is empty", async () => {
    limit.remove();
    return true;
  });
});

/** The API server takes 256 KiB of annotations. */
const annotations = { "example.com/notes": "n".repeat(250_000) };
const PAUSED = { "mooring.dev/paused": "true" };
const env = Array.from({ length: 200 }, (_, index) => ({ name: `NAME_${index}`, value: "v".repeat(4_000) }));

const LARGE: { what: string; kind: Parameters<typeof manifest>[0]; count: number; spec: Change; notes?: boolean }[] = [
  { what: "SpeechJobs with the longest text", kind: "hd", count: 400, spec: { text: LONG_TEXT, suspend: true } },
  { what: "GpuEndpoints with the longest env", kind: "endpoint", count: 100, spec: { env } },
  { what: "VideoJobs with long annotations", kind: "image", count: 50, spec: { suspend: true }, notes: true },
  { what: "BillReports with long annotations", kind: "bill", count: 50, spec: {}, notes: true },
  { what: "Accounts with long annotations", kind: "account", count: 50, spec: {}, notes: true },
];

async function createAll(world: World, large: (typeof LARGE)[number]): Promise<void> {
  const names = Array.from({ length: large.count }, (_, index) => `large-${index}`);
  const create = async () => {
    for (let name = names.pop(); name !== undefined; name = names.pop()) {
      const object = manifest(large.kind, large.spec, name) as KubeObject;
      const resource = KINDS.find((one) => one.resource.kind === object.kind)?.resource;
      if (resource === undefined) throw new Error(`there is no kind ${object.kind}`);
      const metadata = { ...object.metadata, annotations: { ...PAUSED, ...(large.notes === true ? annotations : {}) } };
      await world.kube.create(resource, { namespace: world.namespace }, { ...object, metadata } as KubeObject);
    }
  };
  await Promise.all(Array.from({ length: 6 }, create));
}

let world: World;
let operator: Operator;
beforeAll(async () => {
  world = await createWorld("large", {
    account: { speech: { maxCharacters: 1_000_000 } },
    simulator: { speechTaskMs: [0, 100], speechMaxCharacters: 1_000_000 },
  });
  operator = await world.startOperator({ within: limit.within });
  await waitForCondition(world, "Account", "default", "Ready");
});

it.sequential.each(LARGE)("$count $what cost little memory", async (large) => {
  const before = await peakMiB(operator.pid);
  await createAll(world, large);
  await world.apply(manifest("turbo", {}, `small-${large.kind}`));
  await waitForCondition(world, "SpeechJob", `small-${large.kind}`, "Ready");
  console.log(
    `${limit.kind}: ${before} MiB before, ${await peakMiB(operator.pid)} MiB with ${large.count} ${large.what}`,
  );
  expect(await peakMiB(operator.pid)).toBeLessThan(LIMIT_MIB);
});

it("a started operator lists all of them within the limit, and a job is sent with its whole text", async () => {
  expect(await operator.stop()).toBe(0);
  operator = await world.startOperator({ within: limit.within });
  const names = Array.from({ length: 5 }, (_, index) => `large-${index}`);
  for (const name of names) {
    await world.patch("SpeechJob", name, {
      metadata: { annotations: { "mooring.dev/paused": null } },
      spec: { suspend: false },
    });
  }
  for (const name of names) {
    const job = await waitForCondition(world, "SpeechJob", name, "Ready");
    expect(condition(job, "Complete")?.status).toBe("True");
    expect(job.status).toMatchObject({ consumption: { quantity: 1_000_000 } });
  }
  const sent = await world.audit("submitSpeech");
  expect(sent.length).toBe(names.length);
  const peak = await peakMiB(operator.pid);
  console.log(`${limit.kind}: ${peak} MiB at most after a start and ${names.length} long texts`);
  expect(peak).toBeLessThan(LIMIT_MIB);
  expect(await operator.stop()).toBe(0);
});
