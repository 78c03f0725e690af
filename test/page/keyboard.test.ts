import type { Locator } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { browserForTests, type OpenPage } from "../support/browser.ts";
import { createScene, type Scene } from "../support/page-scene.ts";
import { eventually, waitForCondition } from "../support/world.ts";

/** The work of a day, with the keyboard only: no test of this file uses the mouse or sets a field by itself. */

const openPage = browserForTests();

let scene: Scene;
let opened: OpenPage;
beforeAll(async () => {
  scene = await createScene("keyboard");
  opened = await openPage({ args: scene.uiArgs });
});

/** More than any view of this file has stops. */
const MAX_STOPS = 80;

/** Presses Tab until `target` has the focus, as a person does who sees where the focus is. */
async function tabTo(target: Locator): Promise<void> {
  await target.waitFor();
  for (let stops = 0; stops < MAX_STOPS; stops++) {
    if (await target.evaluate((element) => element === document.activeElement)) return;
    await opened.page.keyboard.press("Tab");
  }
  throw new Error(`${target}: not reached after ${MAX_STOPS} stops`);
}

async function press(...keys: string[]): Promise<void> {
  for (const key of keys) await opened.page.keyboard.press(key);
}

async function goTo(letters: string, name: string): Promise<void> {
  const { page } = opened;
  await press("Control+k");
  await page.getByRole("combobox", { name: "Go to" }).waitFor();
  await page.keyboard.type(letters);
  const chosen = page.getByRole("dialog").getByRole("option", { selected: true });
  const named = new RegExp(`^${name}\\s`);
  await page.getByRole("option", { name: named }).waitFor();
  for (let moves = 0; !named.test(await chosen.innerText()); moves++) {
    if (moves === 8) throw new Error(`${name} is not reached: ${await chosen.innerText()}`);
    await press("ArrowDown");
  }
  await press("Enter");
  await page.locator("h1:focus", { hasText: name }).waitFor();
}

it("1. look up the keys", async () => {
  const { page } = opened;
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await press("?");
  await page.getByRole("dialog").getByText("Go to an object").waitFor();
  await press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

it("2. decide about the job that needs a person", async () => {
  const { page } = opened;
  await tabTo(page.getByRole("region", { name: "Needs you" }).getByRole("link", { name: "Decide about lost" }));
  await press("Enter");
  await tabTo(page.getByRole("button", { name: "The bill does not show it: send again: SpeechJob lost" }));
  await press("Enter");
  const dialog = page.getByRole("dialog");
  await tabTo(dialog.getByRole("button", { name: "The bill does not show it: send again" }));
  await press("Enter");
  await waitForCondition(scene.world, "SpeechJob", "lost", "Complete");
});

it("3. listen to a result", async () => {
  const { page } = opened;
  await goTo("ferry", "greeting");
  const audio = page.locator("audio");
  await tabTo(audio);
  await press("Space");
  const playing = () => audio.evaluate((element: HTMLAudioElement) => !element.paused || element.currentTime > 0);
  await eventually("it plays", playing);
});

/** Answers to reads that match wait until the returned function is called. */
async function holdBack(url: RegExp): Promise<() => void> {
  const held = Promise.withResolvers<void>();
  await opened.page.route(url, async (route) => {
    await held.promise;
    await route.continue();
  });
  return held.resolve;
}

it("3a. go to an object before the rows of what was typed are there", async () => {
  const { page } = opened;
  const release = await holdBack(/search=asleep/);
  await press("Control+k");
  await page.getByRole("dialog").getByRole("option").first().waitFor();
  await page.keyboard.type("asleep");
  await press("Enter");
  release();
  await page.locator("h1:focus", { hasText: "asleep" }).waitFor();
});

it("3b. an object that the arrow keys have reached stays chosen when other rows arrive", async () => {
  const { page } = opened;
  const options = page.getByRole("dialog").getByRole("option");
  const chosen = page.getByRole("dialog").getByRole("option", { selected: true });
  const release = await holdBack(/search=s/);
  await press("Control+k");
  await options.first().waitFor();
  const before = await options.allInnerTexts();
  await page.keyboard.type("speechjob");
  const target = before.findIndex((text) => /^greeting\s/.test(text));
  for (let moves = 0; moves < target; moves++) await press("ArrowDown");
  await eventually("it is reached", async () => /^greeting\s/.test(await chosen.innerText()));
  release();
  await eventually("the rows of what was typed", async () => (await options.count()) === 4);
  const after = await options.allInnerTexts();
  expect(after.findIndex((text) => /^greeting\s/.test(text))).not.toBe(target);
  expect(await chosen.innerText()).toMatch(/^greeting\s/);
  await press("Enter");
  await page.locator("h1:focus", { hasText: "greeting" }).waitFor();
});

it("4. create a job", async () => {
  const { page } = opened;
  await press("2");
  await page.locator("h1:focus", { hasText: "Jobs" }).waitFor();
  await tabTo(page.getByRole("link", { name: "New job" }));
  await press("Enter");
  const fields = [
    { field: page.getByLabel("Namespace"), value: scene.world.namespace },
    { field: page.locator("#field-metadata-name"), value: "typed" },
    { field: page.getByLabel("Text", { exact: true }), value: "All aboard." },
    { field: page.getByLabel("Voice ID"), value: "announcer" },
  ];
  for (const { field, value } of fields) {
    await tabTo(field);
    await press("Control+a");
    await page.keyboard.type(value);
  }
  const shown = page.getByRole("textbox", { name: "Manifest" });
  await eventually("the manifest has it all", async () => /typed[\s\S]*announcer/.test(await shown.inputValue()));
  await tabTo(page.getByRole("button", { name: "Create" }));
  await press("Enter");
  await page.getByRole("heading", { level: 1, name: "typed" }).waitFor();
  await waitForCondition(scene.world, "SpeechJob", "typed", "Complete");
});

it("5. find endpoints, select two and suspend them", async () => {
  const { page } = opened;
  await press("3");
  await page.locator("h1:focus", { hasText: "Endpoints" }).waitFor();
  await press("/");
  await page.keyboard.type("model");
  // Another search begins with nothing selected.
  await page.waitForURL(/search=model/);
  await page.getByRole("heading", { name: "Endpoints 3" }).waitFor();
  await press("Tab");
  for (let row = 0; row < 3; row++) {
    await press("j");
    await page.locator(`tr[data-place="${row}"] a:focus`).waitFor();
    const select = page.locator("tr:focus-within").getByRole("checkbox", { name: /^Select (echo|drifted)$/ });
    if ((await select.count()) === 0) continue;
    await press("x");
    await eventually("it is selected", () => select.isChecked());
  }
  await page.getByText("2 of 3 selected").waitFor();
  await tabTo(page.getByRole("button", { name: "Suspend", exact: true }));
  await press("Enter");
  const dialog = page.getByRole("dialog", { name: "Suspend 2 objects" });
  await tabTo(dialog.getByRole("button", { name: "Suspend" }));
  await press("Enter");
  for (const name of ["echo", "drifted"]) await waitForCondition(scene.world, "GpuEndpoint", name, "Stopped");
});

it("6. edit an endpoint after a look at the difference", async () => {
  const { page } = opened;
  await goTo("asleep", "asleep");
  await tabTo(page.getByRole("link", { name: "Edit" }));
  await press("Enter");
  const max = page.locator("#field-spec-workers-max");
  await tabTo(max);
  await press("Control+a");
  await page.keyboard.type("3");
  await tabTo(page.getByRole("button", { name: "Review the change" }));
  await press("Enter");
  await tabTo(page.getByRole("button", { name: "Apply" }));
  await press("Enter");
  await eventually("the spec has it", async () => {
    const { spec } = await scene.world.get("GpuEndpoint", "asleep");
    return (spec["workers"] as { max: number }).max === 3;
  });
});

it("7. delete a job by the menu", async () => {
  const { page } = opened;
  await goTo("unlucky", "unlucky");
  await tabTo(page.getByRole("button", { name: /^(More|Actions): SpeechJob unlucky$/ }));
  await press("Enter");
  const item = page.getByRole("menuitem", { name: "Delete", exact: true });
  await item.waitFor();
  for (let moves = 0; moves < 8; moves++) {
    if (await item.evaluate((element) => element === document.activeElement)) break;
    await press("ArrowDown");
  }
  await press("Enter");
  await tabTo(page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }));
  await press("Enter");
  await eventually("it is deleted", async () =>
    (await scene.world.list("SpeechJob")).every(({ metadata }) => metadata.name !== "unlucky"),
  );
  expect(opened.problems).toEqual([]);
});
