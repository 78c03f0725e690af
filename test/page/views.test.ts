import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { browserForTests, expectAccessible, type OpenPage } from "../support/browser.ts";
import { manifest } from "../support/manifests.ts";
import { closeWorldsAfterAll, disposableWorld, type World, waitForCondition } from "../support/world.ts";

closeWorldsAfterAll();
const openPage = browserForTests();

let world: World;
let artifactRoot: string;
let opened: OpenPage;

beforeAll(async () => {
  world = await disposableWorld("page");
  artifactRoot = await mkdtemp(join(tmpdir(), "mooring-artifacts-"));
  await world.startOperator({ args: [`--artifact-root=${artifactRoot}`] });
  await world.apply(manifest("endpoint", {}, "echo"));
  await world.apply(manifest("volumeStore", {}, "results"));
  await world.apply(manifest("turbo", {}, "greeting"));
  await waitForCondition(world, "SpeechJob", "greeting", "Complete");
  await waitForCondition(world, "GpuEndpoint", "echo", "Ready");
  opened = await openPage({
    args: [`--namespace=${world.namespace}`, "--allow-private-networks", `--artifact-root=${artifactRoot}`],
  });
});
afterAll(() => rm(artifactRoot, { recursive: true, force: true }));

describe("views", () => {
  it("endpoints: state, workers and drift of each endpoint", async () => {
    const { page, go } = opened;
    await go("endpoints");
    const row = page.getByRole("row", { name: /echo/ });
    await row.waitFor();
    expect(await row.innerText()).toContain("Ready");
    expect(opened.problems).toEqual([]);
    await expectAccessible(opened);
  });
});
