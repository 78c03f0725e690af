import { stat } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { browserForTests, expectAccessible, type OpenPage } from "../support/browser.ts";
import { addBatches, createScene, type Scene } from "../support/page-scene.ts";
import { folderFor, SCREENS, takePicture } from "../support/pictures.ts";
import { eventually } from "../support/world.ts";

const openPage = browserForTests();

let scene: Scene;
beforeAll(async () => {
  scene = await createScene("team");
  await addBatches(scene);
});

const object = (kind: string, name: string) => `objects/${kind}/${scene.world.namespace}/${name}`;

/** Every view, by the name of its picture. */
const VIEWS = {
  overview: () => "overview",
  jobs: () => "jobs",
  endpoints: () => "endpoints",
  attention: () => "attention",
  all: () => "all",
  money: () => "money",
  result: () => object("SpeechJob", "greeting"),
  video: () => object("VideoJob", "waves"),
  halted: () => object("SpeechJob", "lost"),
  failed: () => `${object("SpeechJob", "unlucky")}?tab=status`,
  batch: () => object("MediaBatch", "chapters"),
  endpoint: () => object("GpuEndpoint", "echo"),
  drift: () => `${object("GpuEndpoint", "drifted")}?tab=diff`,
  create: () => "new/SpeechJob?text=The+ferry+leaves.&voiceSetting.voiceID=announcer&name=ferry",
  createBatch: () => "new/MediaBatch?name=book&output.keyPrefix=book",
  edit: () => `edit/GpuEndpoint/${scene.world.namespace}/echo`,
} as const;

/** The pictures of docs/how-to/ui.md and README.md: `npm run generate -- images` writes them to docs/images. */
const PICTURES = [
  { view: "overview", colorScheme: "light" },
  { view: "jobs", colorScheme: "dark" },
  { view: "halted", colorScheme: "light" },
  { view: "result", colorScheme: "light" },
  { view: "drift", colorScheme: "dark" },
  { view: "money", colorScheme: "light" },
  { view: "create", colorScheme: "light" },
] as const;

async function show({ page, go }: OpenPage, view: keyof typeof VIEWS): Promise<void> {
  await go(VIEWS[view]());
  await page.getByRole("heading", { level: 1 }).waitFor();
  await eventually("the view is loaded", async () => (await page.getByText("Loading…").count()) === 0);
  if (view === "result" || view === "overview") await page.locator(".waveform[data-drawn]").first().waitFor();
  if (view === "money") await page.locator(".plot canvas").first().waitFor();
  if (view === "create") await page.locator("#field-metadata-name").waitFor();
  await page.locator("h1").blur();
}

it("every picture of the documentation can be made", async () => {
  const folder = await folderFor("MOORING_SCREENSHOTS");
  for (const colorScheme of ["light", "dark"] as const) {
    const opened = await openPage({ args: scene.uiArgs, colorScheme, viewport: { width: 1280, height: 800 } });
    for (const { view } of PICTURES.filter((picture) => picture.colorScheme === colorScheme)) {
      await show(opened, view);
      const path = join(folder, `ui-${view}${colorScheme === "dark" ? "-dark" : ""}.png`);
      await opened.page.screenshot({ path });
      expect((await stat(path)).size).toBeGreaterThan(10_000);
    }
  }
});

/** `npm run generate -- screens FOLDER` keeps the pictures. */
it.each(SCREENS)(
  "every view fits a screen of $width px and is accessible, $colorScheme",
  async ({ width, height, colorScheme }) => {
    const folder = await folderFor("MOORING_SCREENS");
    const opened = await openPage({ args: scene.uiArgs, colorScheme, viewport: { width, height } });
    const { page, problems } = opened;
    for (const view of Object.keys(VIEWS) as (keyof typeof VIEWS)[]) {
      await show(opened, view);
      await takePicture(page, join(folder, `${view}-${width}-${colorScheme}.png`));
      await expectAccessible(opened);
    }
    expect(problems).toEqual([]);
  },
);
