import { beforeAll, describe, expect, it } from "vitest";
import { browserForTests, expectAccessible, type OpenPage } from "../support/browser.ts";
import { manifest } from "../support/manifests.ts";
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
    expect(await row("echo").innerText()).toMatch(/echo:1\.0\s+Ready\s+1\/1\s+1–2/);
    await row("drifted").getByText("1 field drifts").waitFor();
    await row("asleep").getByText("Suspended", { exact: true }).waitFor();
    await opened.page.getByRole("button", { name: "Suspended 1" }).waitFor();
    await expectSound();
  });

  it("jobs: one phase at a time, with the numbers of all", async () => {
    const { page, go } = opened;
    await go("jobs");
    await row("waves").waitFor();
    expect(await row("greeting").innerText()).toMatch(/The ferry leaves in five minutes\.\s+Succeeded\s+announcer/);
    expect((await page.getByRole("rowheader").allInnerTexts())[0]).toContain("lost");
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

  it("a state that is chosen right after a search was typed is kept", async () => {
    const { page, go } = opened;
    await go("jobs");
    await row("lost").waitFor();
    await page.evaluate(() => {
      const input = document.querySelector<HTMLInputElement>("input[type=search]");
      if (input === null) throw new Error("no search");
      input.value = "ferry";
      input.dispatchEvent(new Event("input", { bubbles: true }));
      document.querySelector<HTMLButtonElement>("button.chip:nth-of-type(2)")?.click();
    });
    await eventually(
      "both are in the address",
      async () => /state=\w+/.test(page.url()) && page.url().includes("search=ferry"),
    );
  });

  it("search, order and namespace are in the address", async () => {
    const { page, go } = opened;
    await go("all");
    await page.getByRole("searchbox", { name: "Search" }).fill("five ferry");
    await page.waitForURL(/search=five/);
    await row("waves").waitFor({ state: "detached" });
    await row("greeting").waitFor();
    await go("jobs?sort=name");
    await row("waves").waitFor();
    const names = () => page.getByRole("rowheader").getByRole("link").allInnerTexts();
    expect(await names()).toEqual(["greeting", "long", "lost", "unlucky", "waves"]);
    await page.getByRole("button", { name: "Name" }).click();
    await page.waitForURL(/order=desc/);
    await eventually("the order is reversed", async () => (await names())[0] === "waves");
    expect(await page.getByRole("columnheader", { name: "Name" }).getAttribute("aria-sort")).toBe("descending");
    await expectSound();
  });

  it("is walked with j and k, and rows are selected with x", async () => {
    const { page, go } = opened;
    await go("jobs?sort=name");
    const names = () => page.getByRole("rowheader").getByRole("link").allInnerTexts();
    await eventually("the order is by name", async () => (await names())[0] === "greeting");
    for (const key of ["j", "j", "j", "k"]) await page.keyboard.press(key);
    await page.locator("a:focus", { hasText: "long" }).waitFor();
    await page.keyboard.press("x");
    await page.getByRole("status").getByText("1 of 5 selected").waitFor();
    await expectSound();
    await page.getByRole("button", { name: "Select nothing" }).click();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).getByText("Next row").waitFor();
    await expectAccessible(opened);
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    await page.locator("input[type=search]:focus").waitFor();
  });
});

describe("an object", () => {
  it("an endpoint has its drift: the spec next to the remote value", async () => {
    const { page, go } = opened;
    await go(objectLink("GpuEndpoint", "drifted"));
    await page.getByText("1 to 2", { exact: true }).waitFor();
    const worker = page.getByRole("region", { name: "Workers" }).getByRole("row").nth(1);
    expect(await worker.innerText()).toMatch(/ready\s+healthy/);
    await expectSound();
    await page.getByRole("link", { name: "1 field drifts" }).click();
    const drift = page.getByRole("table").getByRole("row", { name: /image/ });
    await drift.waitFor();
    expect(page.url()).toContain("tab=diff");
    expect(await drift.getByRole("cell").allInnerTexts()).toEqual([
      "registry.example.com/models/echo:1.0",
      "registry.example.com/models/echo:0.9",
    ]);
    await expectSound();
  });

  it("has a timeline with the events, oldest first", async () => {
    const { page, go } = opened;
    await go(objectLink("SpeechJob", "lost"));
    const timeline = page.getByRole("region", { name: "Timeline" });
    const important = timeline.locator("ol").first().getByRole("listitem");
    await important.filter({ hasText: "Event Warning SubmissionUnknown" }).first().waitFor();
    const texts = await important.allInnerTexts();
    expect(texts[0]).toMatch(/Object created$/);
    expect(texts.some((text) => /Halted SubmissionUnknown/.test(text))).toBe(true);
    await timeline.getByText(/^All \d+ entries$/).click();
    await timeline.getByText("attempt 1: Unknown").waitFor();
    expect(await timeline.getByText(/Condition|Stalled=True/).count()).toBe(0);
    await expectSound();
  });

  it("has its conditions once, with the status", async () => {
    const { page, go } = opened;
    await go(`${objectLink("SpeechJob", "unlucky")}?tab=status`);
    await page.getByText("Stalled=True").waitFor();
    await page.getByText("phase: Failed").waitFor();
    await expectSound();
  });

  it("a halted job has what helps to decide, and the decisions as actions", async () => {
    const { page, go } = opened;
    await go(objectLink("SpeechJob", "lost"));
    const card = page.getByRole("region", { name: "Is the request on the bill?" });
    await card.getByText("its outcome is unknown").waitFor();
    await card.getByText("5 characters").waitFor();
    await card.getByText("1 such request").waitFor();
    await card.getByText(`mooring resolve speechjob/lost -n ${scene.world.namespace}`).waitFor();
    await page.getByRole("button", { name: "The bill does not show it: send again: SpeechJob lost" }).waitFor();
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
    await page.getByText(/^[\d,]+ bytes$/).waitFor();
    await page.getByRole("button", { name: "Copy location" }).click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/^file:\/\/.*greeting.*mp3$/);
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

  it("the URL of the service is copied when it is asked for, and the page shows it without its query", async () => {
    const { page, go } = opened;
    await go(objectLink("VideoJob", "waves"));
    await page.getByRole("button", { name: "Copy URL" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const { status } = await scene.world.get("VideoJob", "waves");
    const [result] = (status?.["results"] ?? []) as { url: string }[];
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(result?.url);
    await expectSound();
  });

  it("versions of a text play side by side", async () => {
    const { page, go } = opened;
    const output = { storeRef: { name: "results" } };
    await scene.world.apply(manifest("turbo", { text: "The ferry leaves in five minutes.", output }, "greeting-2"));
    await go(objectLink("SpeechJob", "greeting"));
    const version = page.getByRole("region", { name: "Versions" }).getByRole("article");
    await version.getByText("Succeeded").waitFor();
    await version.locator("audio").waitFor();
    await expectSound();
    await scene.world.remove("SpeechJob", "greeting-2");
    await version.waitFor({ state: "detached" });
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

describe("the first page", () => {
  it("has what needs a person, what runs, workers, money and the last results", async () => {
    const { page, go } = opened;
    await go("overview");
    const part = (name: string) => page.getByRole("region", { name });
    await part("Needs you").getByRole("link", { name: "lost", exact: true }).waitFor();
    await part("Running now").getByRole("progressbar", { name: "Progress of long" }).waitFor();
    await part("Endpoints").getByText("2 of 2 ready, at most 4").waitFor();
    await part("Money").getByText("limit ¥200").waitFor();
    await part("Last results").locator("video").waitFor();
    await part("Last results").locator(".waveform[data-drawn]").waitFor();
    await expectSound();
  });
});

describe("money", () => {
  it("has spending and budgets with their limits, and the parts of a report as bars with values", async () => {
    const { page, go } = opened;
    await go("money");
    const { namespace } = scene.world;
    const spending = page.getByRole("table", { name: `Spending of Account ${namespace}/default` });
    await spending.getByRole("row", { name: /This month ¥[\d.]+ of ¥200$/ }).waitFor();
    const products = page.getByRole("table", { name: `By product: BillReport ${namespace}/month` });
    await products.getByRole("row", { name: "gpu-4090-24g ¥12.05" }).waitFor();
    const budgets = page.getByRole("table", { name: `Budgets of Account ${namespace}/default` });
    await budgets.getByRole("row", { name: /team key ¥[\d.]+ of ¥90$/ }).waitFor();
    await expectSound();
  });

  it("plots the cost of each day, with a table", async () => {
    const { page, go } = opened;
    await go("money");
    await page.locator("summary").filter({ hasText: "Cost over time" }).click();
    await page.locator("figure").filter({ hasText: "Cost over time" }).locator("canvas").waitFor();
    const table = page.getByRole("table", { name: /^Cost over time/ });
    const dayOf = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);
    await table.getByRole("row", { name: `${dayOf(1)} ¥0.8` }).waitFor();
    await table.getByRole("row", { name: `${dayOf(2)} ¥1.4` }).waitFor();
    expect(await table.getByRole("row").count()).toBeGreaterThanOrEqual(10);
    await expectSound();
  });
});

it("Ctrl-K goes to an object by some letters of its text", async () => {
  const { page, go } = opened;
  await go("overview");
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Go to" }).fill("ferry");
  await page.getByRole("option", { name: /greeting/ }).waitFor();
  await eventually("nothing else is offered", async () => (await page.getByRole("option").count()) === 1);
  await expectSound();
  await page.keyboard.press("Enter");
  await page.locator("h1:focus", { hasText: "greeting" }).waitFor();
});

it("a view is reached with the keyboard alone, and the focus is on its heading", async () => {
  const { page, go } = opened;
  await go("endpoints");
  await page.reload();
  await row("echo").waitFor();
  await page.keyboard.press("Tab");
  expect(await page.locator(":focus").innerText()).toBe("Skip to the content");
  for (const name of ["Overview", "Jobs"]) {
    await page.keyboard.press("Tab");
    expect(await page.locator(":focus").innerText()).toContain(name);
  }
  await page.keyboard.press("Enter");
  await page.locator("h1:focus", { hasText: "Jobs" }).waitFor();
  expect(await page.title()).toBe("Jobs · Mooring");
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
  await page.getByRole("heading", { level: 1, name: "Jobs" }).waitFor();
});
