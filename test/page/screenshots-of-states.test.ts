import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { gpuEndpointResource, mediaBatchResource, speechJobResource } from "../../src/api/v1alpha1/kinds.ts";
import type { Resource } from "../../src/kube/resource.ts";
import type { KubeObject } from "../../src/kube/types.ts";
import { browserForTests, expectAccessible, type OpenPage } from "../support/browser.ts";
import { manifest } from "../support/manifests.ts";
import { folderFor, SCREENS, takePicture } from "../support/pictures.ts";
import { startRelay } from "../support/relay.ts";
import { createWorld, eventually, type World } from "../support/world.ts";

const openPage = browserForTests();

const LISTS = ["overview", "jobs", "endpoints", "attention", "all", "money"] as const;
/** Jobs and endpoints of a full namespace; what is kept for a reader has as many as the issue of the page asks for. */
const FULL =
  process.env["MOORING_SCREENS"] === undefined
    ? { jobs: 120, endpoints: 30, batches: 4 }
    : { jobs: 10_000, endpoints: 500, batches: 20 };

async function loaded({ page }: OpenPage): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await eventually("the view is loaded", async () => (await page.getByText("Loading…").count()) === 0);
}

type Picture = { opened: OpenPage; state: string; screen: (typeof SCREENS)[number] };

/** Every list in a state of the cluster: it fits and is accessible. */
async function takeLists({ opened, state, screen }: Picture): Promise<void> {
  const folder = await folderFor("MOORING_SCREENS");
  for (const view of LISTS) {
    await opened.go(view);
    await loaded(opened);
    await takePicture(opened.page, join(folder, `${state}-${view}-${screen.width}-${screen.colorScheme}.png`), false);
    await expectAccessible(opened);
  }
}

const openScreen = (args: string[], { width, height, colorScheme }: (typeof SCREENS)[number]) =>
  openPage({ args, colorScheme, viewport: { width, height } });

type FullObject = { resource: Resource; object: KubeObject; status: object | undefined };

const longName = (what: string, index: number) =>
  `${what}-${String(index).padStart(5, "0")}-${"of-a-long-series-".repeat(1 + (index % 4))}`
    .slice(0, 62)
    .replace(/-*$/, "x");

const JOB_STATES = [
  { phase: "Running", progressPercent: 40, etaSeconds: 30 },
  { phase: "Succeeded", estimatedCost: "0.42", duration: "12s", completionTime: new Date().toISOString() },
  { phase: "Failed" },
  { phase: "Pending" },
];

function fullJob(index: number): FullObject {
  const text = `Chapter ${index}. ${"The ferry leaves in five minutes, and nobody is on the quay. ".repeat(4)}`;
  const status = index > 400 ? undefined : JOB_STATES[index % JOB_STATES.length];
  return { resource: speechJobResource, object: manifest("turbo", { text }, longName("chapter", index)), status };
}

function fullEndpoint(index: number): FullObject {
  const image = `registry.example.com/a-team/with-a-long-name/models/echo-${index}:1.0.${index}`;
  const status = index % 2 === 0 ? { workers: { ready: 1, total: 2 }, state: "running" } : undefined;
  return { resource: gpuEndpointResource, object: manifest("endpoint", { image }, longName("model", index)), status };
}

function fullBatch(index: number): FullObject {
  const total = 1_000 * (index + 1);
  const succeeded = Math.floor((total * index) / FULL.batches);
  const status = { phase: "Running", total, succeeded, failed: index, active: 10, progress: `${succeeded}/${total}` };
  return { resource: mediaBatchResource, object: manifest("batch", {}, longName("book", index)), status };
}

/** Objects in many states, with names and messages as long as they can be; no operator reconciles them. */
async function fill({ kube, namespace }: World): Promise<void> {
  const left = [
    ...Array.from({ length: FULL.jobs }, (_, index) => fullJob(index)),
    ...Array.from({ length: FULL.endpoints }, (_, index) => fullEndpoint(index)),
    ...Array.from({ length: FULL.batches }, (_, index) => fullBatch(index)),
  ];
  async function create(): Promise<void> {
    for (let one = left.shift(); one !== undefined; one = left.shift()) {
      const { resource, object, status } = one;
      const { name } = (await kube.create(resource, { namespace }, object)).metadata;
      if (status !== undefined) await kube.mergePatch(resource, { namespace, name, subresource: "status" }, { status });
    }
  }
  await Promise.all(Array.from({ length: 40 }, create));
}

it("a namespace without objects says what to do on every view", async () => {
  const { namespace } = await createWorld("empty", { account: null });
  for (const screen of SCREENS) {
    const opened = await openScreen([`--namespace=${namespace}`], screen);
    await takeLists({ opened, state: "empty", screen });
    await opened.go("jobs");
    await opened.page.locator(".empty").waitFor();
    await opened.go(`objects/SpeechJob/${namespace}/nothing`);
    await opened.page.getByText("does not exist").waitFor();
    expect(opened.problems).toEqual([]);
  }
});

it("a full namespace fits, with the longest names", async () => {
  const world = await createWorld("full");
  await fill(world);
  for (const screen of SCREENS) {
    const opened = await openScreen([`--namespace=${world.namespace}`], screen);
    await takeLists({ opened, state: "full", screen });
    await opened.go("jobs?search=book");
    await opened.page.getByText(`of ${FULL.batches}`).first().waitFor();
    expect(opened.problems).toEqual([]);
  }
});

it("a cluster and a server that do not respond, and a page without its token, are said once", async () => {
  const world = await createWorld("failing");
  await world.apply(manifest("turbo", {}, "greeting"));
  const folder = await mkdtemp(join(tmpdir(), "mooring-relay-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const pictures = await folderFor("MOORING_SCREENS");
  for (const screen of SCREENS) {
    const relay = await startRelay(join(folder, `kubeconfig-${screen.width}-${screen.colorScheme}`));
    const opened = await openScreen([`--namespace=${world.namespace}`, `--kubeconfig=${relay.kubeconfig}`], screen);
    const { page, ui, go } = opened;
    const path = (state: string) => join(pictures, `failing-${state}-${screen.width}-${screen.colorScheme}.png`);
    await go("jobs");
    await page.getByRole("link", { name: "greeting" }).waitFor();
    relay.cut();
    await page.getByRole("alert").getByText("The cluster does not respond").waitFor();
    await takeLists({ opened, state: "failing-cluster", screen });
    expect(await page.getByRole("alert").count()).toBe(1);
    relay.restore();
    ui.halt();
    await page.getByRole("alert").getByText("The page's server does not respond").waitFor();
    await takePicture(page, path("server"));
    await expectAccessible(opened);
    expect(await page.getByRole("alert").count()).toBe(1);
    ui.resume();

    await page.evaluate(() => window.localStorage.clear());
    await page.reload();
    await page.getByText("Open the URL that mooring ui printed").first().waitFor();
    await takePicture(page, path("token"));
    await expectAccessible(opened);
  }
});
