import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";

const SIZES = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
];

/** A screen of a desk and one of a phone, light and dark. */
export const SCREENS = SIZES.flatMap((size) =>
  (["light", "dark"] as const).map((colorScheme) => ({ ...size, colorScheme })),
);

/** The folder that the variable names, or one that goes after the test. */
export async function folderFor(variable: string): Promise<string> {
  const wanted = process.env[variable];
  const folder = wanted ?? (await mkdtemp(join(tmpdir(), "mooring-pictures-")));
  await mkdir(folder, { recursive: true });
  onTestFinished(() => (wanted === undefined ? rm(folder, { recursive: true }) : undefined));
  return folder;
}

/** Takes a picture of a page, which must not be wider than the screen. `fullPage`: not only of what the screen shows. */
export async function takePicture(page: Page, path: string, fullPage = true): Promise<void> {
  const overflow = await page.evaluate<number>("document.documentElement.scrollWidth - window.innerWidth");
  expect(overflow, path).toBeLessThanOrEqual(0);
  await page.screenshot({ path, fullPage });
}
