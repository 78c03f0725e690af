import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { browserForTests, expectAccessible } from "../support/browser.ts";
import { manifest } from "../support/manifests.ts";
import { addBatches } from "../support/page-scene.ts";
import { createWorld, eventually } from "../support/world.ts";

const openPage = browserForTests();

it("a batch: its progress on the first page and in the list, what is next, and a form", async () => {
  const world = await createWorld("batches");
  const artifactRoot = await mkdtemp(join(tmpdir(), "mooring-artifacts-"));
  onTestFinished(() => rm(artifactRoot, { recursive: true, force: true }));
  await world.startOperator({ args: [`--artifact-root=${artifactRoot}`] });
  await world.apply(manifest("volumeStore", {}, "results"));
  await addBatches({ world });
  const opened = await openPage({ args: [`--namespace=${world.namespace}`] });
  const { page, go } = opened;

  // When the first page is opened, the batch stands for its jobs.
  await go("overview");
  const running = page.getByRole("region", { name: "Running now" });
  await running.getByRole("link", { name: "chapters" }).waitFor();
  expect(await running.getByRole("article").count()).toBe(1);
  await running.getByText("0 of 3 items succeeded, 2 active").waitFor();
  await expectAccessible(opened);

  await go("jobs?search=book");
  const row = page.getByRole("row").filter({ has: page.getByRole("link", { name: "book", exact: true }) });
  await row.getByText("2 of 3 items succeeded, 1 failed").waitFor();

  await go(`objects/MediaBatch/${world.namespace}/chapters`);
  await page.getByText("At most 2 items are worked on at a time.").waitFor();
  await page.getByRole("progressbar", { name: "Progress" }).waitFor();
  await page.getByRole("link", { name: "Jobs of this batch" }).click();
  await page.getByRole("link", { name: "chapters-0", exact: true }).waitFor();
  await page.getByRole("link", { name: "chapters-1", exact: true }).waitFor();
  await expectAccessible(opened);

  await go("new/MediaBatch?name=clips&output.keyPrefix=clips&template.speech.voiceSetting.voiceID=announcer");
  await page.locator("#field-metadata-name").waitFor();
  await page.locator("#field-spec-items-inline").fill('{"text": "Ahoy."}\nThe end.');
  await page.locator("#field-spec-items-inline").blur();
  await page.locator("#field-spec-output-storeRef-name").fill("results");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("1: must be an object").first().waitFor();
  await page.locator("#field-spec-items-inline").fill('{"text": "Ahoy."}\n{"text": "The end."}');
  await page.locator("#field-spec-items-inline").blur();
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("MediaBatch clips is created").waitFor();
  await eventually("both items are done", async () => {
    const { status } = await world.get("MediaBatch", "clips");
    return status?.["phase"] === "Succeeded" && status["succeeded"] === 2;
  });
  expect(opened.problems).toEqual([]);
});
