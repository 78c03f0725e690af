import { mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { browserForTests } from "../support/browser.ts";
import { createScene, type Scene } from "../support/page-scene.ts";
import { eventually } from "../support/world.ts";

const openPage = browserForTests();

let scene: Scene;
beforeAll(async () => {
  scene = await createScene("team");
});

/** The pictures of docs/how-to/ui.md: `npm run generate -- images` writes them to docs/images. */
const PICTURES = [
  { name: "endpoints", view: () => "endpoints", colorScheme: "light" },
  { name: "jobs-dark", view: () => "jobs?sort=name", colorScheme: "dark" },
  { name: "inbox", view: () => "inbox", colorScheme: "light" },
  { name: "result", view: () => `objects/SpeechJob/${scene.world.namespace}/greeting`, colorScheme: "light" },
  { name: "drift-dark", view: () => `objects/GpuEndpoint/${scene.world.namespace}/drifted`, colorScheme: "dark" },
  { name: "spending", view: () => "spending", colorScheme: "light" },
  { name: "cost-over-time", view: () => "spending", colorScheme: "light" },
  {
    name: "create",
    view: () => "create?text=The+ferry+leaves.&voiceID=announcer&name=ferry&namespace=team",
    colorScheme: "light",
  },
] as const;

it("every picture of the documentation can be made", async () => {
  const wanted = process.env["MOORING_SCREENSHOTS"];
  const folder = wanted ?? (await mkdtemp(join(tmpdir(), "mooring-pictures-")));
  await mkdir(folder, { recursive: true });
  onTestFinished(() => (wanted === undefined ? rm(folder, { recursive: true }) : undefined));
  for (const colorScheme of ["light", "dark"] as const) {
    const { page, go } = await openPage({ args: scene.uiArgs, colorScheme, viewport: { width: 1280, height: 800 } });
    for (const { name, view } of PICTURES.filter((picture) => picture.colorScheme === colorScheme)) {
      await go(view());
      await page.getByRole("heading", { level: 1 }).waitFor();
      await eventually("the view is loaded", async () => (await page.getByText("Loading…").count()) === 0);
      if (name === "result") await page.locator(".waveform[data-drawn]").waitFor();
      if (name === "spending") await page.locator(".plot canvas").nth(2).waitFor();
      if (name === "create") await page.getByText("kind: SpeechJob").waitFor();
      await page.locator("h1").blur();
      const path = join(folder, `ui-${name}.png`);
      // The report is below the accounts.
      const shown = name === "cost-over-time" ? page.locator("section.card").last() : page;
      if (name === "cost-over-time") await page.locator("figure:has-text('Cost over time') canvas").waitFor();
      await shown.screenshot({ path });
      expect((await stat(path)).size).toBeGreaterThan(10_000);
    }
  }
});
