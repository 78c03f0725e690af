import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, expect } from "vitest";
import { findChromium, NO_CHROMIUM } from "../../tools/programs/chromium.ts";
import { startUi, type UiProcess } from "./ui-process.ts";

/** A page in a real browser, with everything that it must not do on record. */
export type OpenPage = {
  page: Page;
  ui: UiProcess;
  /** Goes to a view: `jobs?state=Running`. */
  go(view: string): Promise<void>;
  /** Requests to other origins, errors of scripts and violations of the Content-Security-Policy so far. */
  problems: string[];
};

type Options = {
  args?: string[];
  colorScheme?: "light" | "dark";
  /** Pixels; default 1280 x 900. */
  viewport?: { width: number; height: number };
};

/** Far beyond what a busy machine takes for one step, ms. */
const STEP_MS = 60_000;
/** Without the first, Chromium refuses to run as root. */
const FLAGS = ["--no-sandbox", "--autoplay-policy=no-user-gesture-required", "--disable-dev-shm-usage"];

/** Starts one browser for the tests of the file; pages and their `mooring ui` are closed after them. Call it at the top. */
export function browserForTests(): (options?: Options) => Promise<OpenPage> {
  let browser: Promise<Browser> | undefined;
  const opened: UiProcess[] = [];

  afterAll(async () => {
    await (await browser)?.close();
    await Promise.all(opened.map((ui) => ui.stop()));
  });

  return async ({ args = [], colorScheme = "light", viewport = { width: 1280, height: 900 } } = {}) => {
    browser ??= launch();
    const ui = await startUi(...args);
    opened.push(ui);
    const context = await (await browser).newContext({ colorScheme, viewport, serviceWorkers: "block" });
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: ui.origin });
    const page = await context.newPage();
    page.setDefaultTimeout(STEP_MS);
    const problems: string[] = [];
    page.on("request", (request) => {
      const url = new URL(request.url());
      if (url.protocol !== "blob:" && url.origin !== ui.origin) problems.push(`request to ${url.origin}`);
    });
    page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
    page.on("console", (message) => {
      const text = message.text();
      // A failed request is a test's own subject; the browser reports each one.
      if (message.type() === "error" && !text.startsWith("Failed to load resource")) problems.push(`console: ${text}`);
    });
    await page.goto(ui.url);
    return {
      page,
      ui,
      problems,
      go: async (view) => {
        await page.goto(`${ui.origin}/#/${view}`);
      },
    };
  };
}

async function launch(): Promise<Browser> {
  const executablePath = await findChromium();
  if (executablePath === undefined) throw new Error(NO_CHROMIUM);
  return chromium.launch({ executablePath, args: FLAGS });
}

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** A background on its way to another color has no contrast of its own. */
const TRANSITIONS_END = `Promise.allSettled(
  document.getAnimations().filter((one) => one instanceof CSSTransition).map(({ finished }) => finished)
).then(() => undefined)`;

/** Fails with what axe finds: each rule with the elements that break it. */
export async function expectAccessible({ page }: OpenPage): Promise<void> {
  // Evaluated by the debugger: the page's own policy allows no such script.
  await page.evaluate(await readFile(AXE, "utf8"));
  await page.evaluate(TRANSITIONS_END);
  const violations = await page.evaluate(async (): Promise<string[]> => {
    type Run = (options: object) => Promise<{ violations: Violation[] }>;
    const { axe } = globalThis as unknown as { axe: { run: Run } };
    type Violation = { id: string; help: string; nodes: { html: string }[] };
    // Style sheets are not loaded again: axe would put them into the page, which the page's policy refuses.
    const results = await axe.run({ preload: { assets: ["media"] } });
    return results.violations.map(
      ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(" ")}`,
    );
  });
  expect(violations).toEqual([]);
}
