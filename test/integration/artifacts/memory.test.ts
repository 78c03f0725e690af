import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type S3Server, startVersitygw } from "../../../tools/artifacts/versitygw.ts";
import { manifest } from "../../support/manifests.ts";
import { createWorld, waitForCondition } from "../../support/world.ts";

const JOBS = 16;
/** The memory limit that the chart sets. */
const POD_MIB = 512;
const run = promisify(execFile);

let s3: S3Server;
beforeAll(async () => {
  s3 = await startVersitygw();
  await mkdir(join(s3.folder, "results"));
});
afterAll(() => s3?.stop());

/** MiB of memory that a process has resident. */
async function residentMiB(pid: number): Promise<number> {
  const { stdout } = await run("ps", ["-o", "rss=", "-p", String(pid)]);
  return Number(stdout) / 1024;
}

it("sixteen long results in hex at once fit into the pod", async () => {
  // Twenty minutes of audio: 19 MB, or 38 MB of hex, each.
  const world = await createWorld("memory", {
    simulator: { timeScale: 0.1, charactersPerSecond: 0.001, maxAudioSeconds: 1_200 },
  });
  await world.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "s3" },
    stringData: { AWS_ACCESS_KEY_ID: s3.accessKeyId, AWS_SECRET_ACCESS_KEY: s3.secretAccessKey },
  });
  const bucket = {
    endpoint: s3.endpoint,
    bucket: "results",
    forcePathStyle: true,
    credentialsSecretRef: { name: "s3" },
  };
  await world.apply({ kind: "ArtifactStore", metadata: { name: "bucket" }, spec: { s3: bucket } });
  const operator = await world.startOperator();
  await waitForCondition(world, "ArtifactStore", "bucket", "Ready");

  let peak = 0;
  const watch = setInterval(async () => {
    peak = Math.max(peak, await residentMiB(operator.pid));
  }, 100);
  const names = Array.from({ length: JOBS }, (_, index) => `long-${index}`);
  const spec = { text: "x".repeat(600), outputFormat: "hex", output: { storeRef: { name: "bucket" } } };
  await Promise.all(names.map((name) => world.apply(manifest("turbo", spec, name))));
  const done = await Promise.all(names.map((name) => waitForCondition(world, "SpeechJob", name, "Complete")));
  clearInterval(watch);

  expect(done.map(({ status }) => status?.["attempts"])).toEqual(Array(JOBS).fill(1));
  expect(peak).toBeGreaterThan(0);
  expect(peak).toBeLessThan(POD_MIB);
});
