import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { browserForTests, expectAccessible } from "../support/browser.ts";
import { manifest } from "../support/manifests.ts";
import { startRelay } from "../support/relay.ts";
import { createWorld, type World } from "../support/world.ts";

const openPage = browserForTests();

let world: World;
beforeAll(async () => {
  world = await createWorld("live");
  await world.apply(manifest("turbo", {}, "first"));
});

const setPhase = (name: string, phase: string, progressPercent: number) =>
  world.kube.mergePatch(
    { group: "mooring.dev", version: "v1alpha1", plural: "speechjobs", kind: "SpeechJob", namespaced: true },
    { namespace: world.namespace, name, subresource: "status" },
    { status: { phase, progressPercent } },
  );

it("changes appear by themselves, and the focus stays where it is", async () => {
  const { page, go, problems } = await openPage({ args: [`--namespace=${world.namespace}`] });
  await go("jobs");
  const link = page.getByRole("link", { name: "first", exact: true });
  await link.focus();
  await setPhase("first", "Running", 10);
  await page.getByRole("progressbar", { name: "Progress of first" }).waitFor();
  await setPhase("first", "Running", 70);
  await page.getByText("70%").waitFor();
  await world.apply(manifest("turbo", {}, "second"));
  await page.getByRole("link", { name: "second" }).waitFor();
  await world.remove("SpeechJob", "second");
  await page.getByRole("link", { name: "second" }).waitFor({ state: "detached" });
  expect(await page.locator(":focus").innerText()).toBe("first");
  expect(problems).toEqual([]);
});

it("an interrupted watch: the page says so, keeps what it knows, and shows afterwards what it missed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-relay-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const relay = await startRelay(join(folder, "kubeconfig"));
  const opened = await openPage({ args: [`--namespace=${world.namespace}`, `--kubeconfig=${relay.kubeconfig}`] });
  const { page, go } = opened;
  await go("jobs");
  await page.getByRole("link", { name: "first" }).waitFor();

  relay.cut();
  await page.getByRole("alert").getByText("The cluster does not respond since").waitFor();
  await page.getByRole("status").getByText("Not live", { exact: true }).waitFor();
  await expectAccessible(opened);
  expect(await page.getByRole("link", { name: "first" }).count()).toBe(1);
  await setPhase("first", "Succeeded", 100);
  await world.apply(manifest("turbo", {}, "meanwhile"));

  relay.restore();
  await page.getByRole("link", { name: "meanwhile" }).waitFor();
  await page.getByRole("row", { name: /first/ }).getByText("Succeeded").waitFor();
  await page.getByRole("alert").waitFor({ state: "detached" });
});

it("a server of the page that does not respond: the page says so, and connects again by itself", async () => {
  const { page, go, ui } = await openPage({ args: [`--namespace=${world.namespace}`] });
  await go("jobs");
  await page.getByRole("link", { name: "first" }).waitFor();
  await page.getByRole("status").getByText("Live", { exact: true }).waitFor();
  ui.halt();
  await page.getByRole("alert").getByText("The page's server does not respond").waitFor();
  expect(await page.getByRole("link", { name: "first" }).count()).toBe(1);
  await world.apply(manifest("turbo", {}, "while-halted"));
  ui.resume();
  await page.getByRole("link", { name: "while-halted" }).waitFor();
  await page.getByRole("status").getByText("Live", { exact: true }).waitFor();
});

it("a list whose first read gets no answer: it is read again when the page is connected again", async () => {
  const { page, go, ui } = await openPage({ args: [`--namespace=${world.namespace}`] });
  let lost = true;
  await page.route(/api\/rows\?view=all/, (route) => (lost ? undefined : route.continue()));
  await go("all");
  await page.getByText("Loading").waitFor();
  await page.getByRole("status").getByText("Live", { exact: true }).waitFor();
  ui.halt();
  await page.getByRole("alert").getByText("The page's server does not respond").waitFor();
  lost = false;
  ui.resume();
  await page.getByRole("link", { name: "first" }).waitFor();
});
