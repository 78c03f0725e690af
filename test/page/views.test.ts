import { beforeAll, describe, expect, it } from "vitest";
import { browserForTests, expectAccessible, type OpenPage } from "../support/browser.ts";
import { createScene, type Scene } from "../support/page-scene.ts";
import { eventually } from "../support/world.ts";

const openPage = browserForTests();

let scene: Scene;
let opened: OpenPage;
beforeAll(async () => {
  scene = await createScene("page");
  opened = await openPage({ args: scene.uiArgs });
});

const row = (name: string) =>
  opened.page.getByRole("row").filter({ has: opened.page.getByRole("link", { name, exact: true }) });
const objectLink = (kind: string, name: string) => `objects/${kind}/${scene.world.namespace}/${name}`;

/** The view is there, breaks no rule of accessibility and loads nothing from other hosts. */
async function expectSound(): Promise<void> {
  await expectAccessible(opened);
  expect(opened.problems).toEqual([]);
}

describe("lists", () => {
  it("endpoints: state, workers and drift of each", async () => {
    await opened.go("endpoints");
    await row("echo").waitFor();
    expect(await row("echo").innerText()).toMatch(/Ready\s+running\s+1\/1 \(1–2\)\s+none/);
    await row("drifted").getByText("1 field").waitFor();
    expect(await row("asleep").innerText()).toContain("Suspended");
    await expectSound();
  });

  it("jobs: one phase at a time, with the numbers of all", async () => {
    const { page, go } = opened;
    await go("jobs");
    await row("waves").waitFor();
    expect(await page.getByRole("button", { name: "Succeeded 2" }).getAttribute("aria-pressed")).toBe("false");
    await page.getByRole("button", { name: "Halted 1" }).click();
    await row("waves").waitFor({ state: "detached" });
    await row("lost").waitFor();
    expect(page.url()).toContain("state=Halted");
    await expectSound();
  });

  it("a job that runs has its progress", async () => {
    await opened.go("jobs?state=Running");
    await row("long").getByRole("progressbar", { name: "Progress of long" }).waitFor();
    await expectSound();
  });

  it("search, order and namespace are in the address", async () => {
    const { page, go } = opened;
    await go("all");
    await page.getByRole("searchbox", { name: "Search" }).fill("greet");
    await page.waitForURL(/search=greet/);
    await row("waves").waitFor({ state: "detached" });
    await row("greeting").waitFor();
    await go("all?sort=name&order=desc");
    await row("waves").waitFor();
    const names = await page.getByRole("rowheader").allInnerTexts();
    expect(names).toEqual([...names].sort().reverse());
    expect(await page.getByRole("columnheader", { name: "Name", exact: true }).getAttribute("aria-sort")).toBe(
      "descending",
    );
    await expectSound();
  });
});

describe("an object", () => {
  it("an endpoint has its drift: the spec next to the remote value", async () => {
    const { page, go } = opened;
    await go(objectLink("GpuEndpoint", "drifted"));
    const drift = page.getByRole("region", { name: "Drift" }).getByRole("row", { name: /image/ });
    await drift.waitFor();
    expect(await drift.getByRole("cell").allInnerTexts()).toEqual([
      "registry.example.com/models/echo:1.0",
      "registry.example.com/models/echo:0.9",
    ]);
    await page.getByText("1 to 2", { exact: true }).waitFor();
    await expectSound();
  });

  it("has a timeline with the events, oldest first", async () => {
    const { page, go } = opened;
    await go(objectLink("SpeechJob", "lost"));
    const timeline = page.getByRole("region", { name: "Timeline" }).getByRole("listitem");
    await timeline.filter({ hasText: "SubmissionUnknown" }).first().waitFor();
    const texts = await timeline.allInnerTexts();
    expect(texts[0]).toMatch(/Object created$/);
    expect(texts.some((text) => /Request attempt 1: Unknown/.test(text))).toBe(true);
    expect(texts.some((text) => /Event Warning SubmissionUnknown: /.test(text))).toBe(true);
    await expectSound();
  });

  it("that does not exist is said to be missing", async () => {
    const { page, go } = opened;
    await go(objectLink("SpeechJob", "nothing"));
    await page.getByRole("alert").getByText("SpeechJob nothing does not exist").waitFor();
    await expectAccessible(opened);
  });
});

describe("results", () => {
  it("audio plays from the store's copy, with its waveform, and can be sought", async () => {
    const { page, go } = opened;
    await go(objectLink("SpeechJob", "greeting"));
    await page.getByText(/^file:\/\/.*bytes$/).waitFor();
    await page.locator(".waveform[data-drawn]").waitFor();
    const played = await page.locator("audio").evaluate(async (audio) => {
      if (!(audio instanceof HTMLAudioElement)) throw new Error("no audio element");
      audio.muted = true;
      await audio.play();
      audio.currentTime = audio.duration / 2;
      await new Promise((resolve) => audio.addEventListener("seeked", resolve, { once: true }));
      return { duration: audio.duration, at: audio.currentTime };
    });
    expect(played.duration).toBeGreaterThan(0);
    expect(played.at).toBeGreaterThan(0);
    await expectSound();
  });

  it("video plays from the URL in the status, through the page's server", async () => {
    const { page, go } = opened;
    await go(objectLink("VideoJob", "waves"));
    const seconds = await page.locator("video").evaluate(async (video) => {
      if (!(video instanceof HTMLVideoElement)) throw new Error("no video element");
      if (video.readyState < 1) await new Promise((resolve) => video.addEventListener("loadedmetadata", resolve));
      return video.duration;
    });
    expect(seconds).toBeGreaterThan(0);
    await expectSound();
  });

  it("a part of a result is had with a range", async () => {
    const { page } = opened;
    for (const [kind, name] of [
      ["SpeechJob", "greeting"],
      ["VideoJob", "waves"],
    ]) {
      const path = `media/${kind}/${scene.world.namespace}/${name}/0`;
      const answers = await page.evaluate(async (url) => {
        const authorization = `Bearer ${localStorage.getItem("mooring-token")}`;
        const whole = new Uint8Array(await (await fetch(url, { headers: { authorization } })).arrayBuffer());
        const part = await fetch(url, { headers: { authorization, range: "bytes=100-199" } });
        const bytes = new Uint8Array(await part.arrayBuffer());
        const beyond = await fetch(url, { headers: { authorization, range: `bytes=${whole.length}-` } });
        return {
          size: whole.length,
          status: part.status,
          range: part.headers.get("content-range"),
          same: bytes.length === 100 && bytes.every((byte, index) => byte === whole[100 + index]),
          beyond: beyond.status,
        };
      }, path);
      expect(answers, path).toEqual({
        size: expect.any(Number),
        status: 206,
        range: `bytes 100-199/${answers.size}`,
        same: true,
        beyond: 416,
      });
    }
  });
});

describe("spending", () => {
  it("plots spending, budgets and the bill report, with their numbers as tables", async () => {
    const { page, go } = opened;
    await go("spending");
    await page.getByText("Spending of Account", { exact: false }).first().waitFor();
    await page.locator(".plot canvas").nth(2).waitFor();
    await page.locator("summary").filter({ hasText: "By product" }).click();
    const table = page.getByRole("table", { name: /^By product/ });
    await table.getByRole("row", { name: /gpu-4090-24g 12.05/ }).waitFor();
    await page.locator("summary").filter({ hasText: "Budgets of" }).click();
    await page.getByRole("row", { name: /team key .* 90$/ }).waitFor();
    await expectSound();
  });

  it("plots the cost of each day, with a table", async () => {
    const { page, go } = opened;
    await go("spending");
    await page.locator("summary").filter({ hasText: "Cost over time" }).click();
    await page.locator("figure").filter({ hasText: "Cost over time" }).locator("canvas").waitFor();
    const table = page.getByRole("table", { name: /^Cost over time/ });
    const dayOf = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);
    await table.getByRole("row", { name: `${dayOf(1)} 0.8` }).waitFor();
    await table.getByRole("row", { name: `${dayOf(2)} 1.4` }).waitFor();
    expect(await table.getByRole("row").count()).toBeGreaterThanOrEqual(11);
    await expectSound();
  });
});

describe("every view", () => {
  const views = ["endpoints", "jobs", "inbox", "create", "spending", "all"];

  it.each(views)("%s is accessible in the dark", async (view) => {
    const { page, go } = opened;
    await go(view);
    await page.getByLabel("Colors").selectOption("dark");
    await page.getByRole("heading", { level: 1 }).waitFor();
    await eventually("the view is loaded", async () => (await page.getByText("Loading…").count()) === 0);
    const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(background).toBe("rgb(18, 23, 29)");
    await expectAccessible(opened);
    await page.getByLabel("Colors").selectOption("auto");
  });

  it("is reached with the keyboard alone, and the focus is on its heading", async () => {
    const { page, go } = opened;
    await go("endpoints");
    await page.reload();
    await row("echo").waitFor();
    await page.keyboard.press("Tab");
    expect(await page.locator(":focus").innerText()).toBe("Skip to the content");
    for (const name of ["Endpoints", "Jobs"]) {
      await page.keyboard.press("Tab");
      expect(await page.locator(":focus").innerText()).toBe(name);
    }
    await page.keyboard.press("Enter");
    await page.locator("h1:focus").getByText("Jobs").waitFor();
    expect(await page.title()).toBe("Jobs · Mooring");
  });

  it("fits a narrow screen", async () => {
    const { page, go } = opened;
    await page.setViewportSize({ width: 390, height: 800 });
    for (const view of views) {
      await go(view);
      await page.getByRole("heading", { level: 1 }).waitFor();
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect(overflow, view).toBeLessThanOrEqual(0);
    }
    await page.setViewportSize({ width: 1280, height: 900 });
  });
});

it("an address that changes while the page starts is followed", async () => {
  const { page, ui } = await openPage({ args: scene.uiArgs });
  // The page's script is a module: it runs before this event, and its first paint comes after it.
  await page.addInitScript(() =>
    document.addEventListener("DOMContentLoaded", () => {
      window.location.hash = "#/jobs";
    }),
  );
  await page.goto(`${ui.origin}/?again#/endpoints`);
  await page.getByRole("heading", { level: 1, name: "Jobs", exact: true }).waitFor();
});
