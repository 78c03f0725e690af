import { beforeAll, describe, expect, it } from "vitest";
import { browserForTests, expectAccessible, type OpenPage } from "../support/browser.ts";
import { createScene, type Scene } from "../support/page-scene.ts";
import { eventually, waitForCondition } from "../support/world.ts";

const openPage = browserForTests();

let scene: Scene;
let opened: OpenPage;
beforeAll(async () => {
  scene = await createScene("actions");
  opened = await openPage({ args: scene.uiArgs });
});

/** Presses the action's button on the object's page, and confirms where the page asks. */
async function act(kind: string, name: string, label: string, confirms: boolean): Promise<void> {
  const { page, go } = opened;
  await go(`objects/${kind}/${scene.world.namespace}/${name}`);
  await page.getByRole("button", { name: `${label}: ${kind} ${name}` }).click();
  if (confirms) {
    await page.getByRole("dialog").waitFor();
    await expectAccessible(opened);
    await page.getByRole("dialog").getByRole("button", { name: label, exact: true }).click();
  }
  await page.getByRole("status").getByText(`${label}: sent for ${kind} ${name}`).waitFor();
}

const annotation = async (kind: string, name: string, key: string) =>
  (await scene.world.get(kind, name)).metadata.annotations?.[key];

describe("the inbox", () => {
  it("has the halted job with its message and commands; sending again asks first, and then the job goes on", async () => {
    const { page, go } = opened;
    const { world } = scene;
    await page.getByRole("link", { name: /^Inbox 1 need you$/ }).waitFor();
    await go("inbox");
    const card = page.getByRole("article").filter({ hasText: "SpeechJob" });
    await card.getByText("SubmissionUnknown").first().waitFor();
    await card.getByText("Commands of the message").click();
    await card.locator("pre").filter({ hasText: "resubmit-token" }).waitFor();
    await expectAccessible(opened);

    await card.getByRole("button", { name: "Send again: SpeechJob lost" }).click();
    await page.getByRole("dialog").getByText("you pay twice").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await annotation("SpeechJob", "lost", "mooring.dev/resubmit-token")).toBeUndefined();

    const paid = (await world.audit("synthesizeSpeech")).length;
    await card.getByRole("button", { name: "Send again: SpeechJob lost" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Send again" }).click();
    await waitForCondition(world, "SpeechJob", "lost", "Complete");
    expect(await world.audit("synthesizeSpeech")).toHaveLength(paid + 1);
    await page.getByText("No object needs you.").waitFor();
    expect(opened.problems).toEqual([]);
  });
});

describe("actions of an object", () => {
  it("suspend and resume an endpoint", async () => {
    await act("GpuEndpoint", "echo", "Suspend", true);
    await waitForCondition(scene.world, "GpuEndpoint", "echo", "Stopped");
    await act("GpuEndpoint", "echo", "Resume", false);
    await eventually("it serves again", async () => {
      const { spec, status } = await scene.world.get("GpuEndpoint", "echo");
      return spec["suspend"] === false && status?.["state"] === "running";
    });
  });

  it("reconcile now", async () => {
    await act("GpuEndpoint", "echo", "Reconcile now", false);
    const requested = await annotation("GpuEndpoint", "echo", "mooring.dev/reconcile-requested-at");
    expect(requested).toBeTruthy();
    await eventually("the operator has handled it", async () => {
      const { status } = await scene.world.get("GpuEndpoint", "echo");
      return status?.["lastHandledReconcileAt"] === requested;
    });
  });

  it("pause and continue reconciling", async () => {
    await act("SpeechJob", "long", "Pause reconciling", true);
    expect(await annotation("SpeechJob", "long", "mooring.dev/paused")).toBe("true");
    await opened.page.getByText("Paused", { exact: true }).first().waitFor();
    await act("SpeechJob", "long", "Continue reconciling", false);
    expect(await annotation("SpeechJob", "long", "mooring.dev/paused")).toBeUndefined();
  });

  it("delete", async () => {
    await act("SpeechJob", "unlucky", "Delete", true);
    await eventually("it is gone", async () =>
      (await scene.world.list("SpeechJob")).every(({ metadata }) => metadata.name !== "unlucky"),
    );
    await opened.page.getByText("SpeechJob unlucky does not exist").waitFor();
  });
});

describe("the form", () => {
  it("shows what is wrong, and creates the job that the manifest shows, once", async () => {
    const { page, go } = opened;
    const { world } = scene;
    await go("create");
    await page.getByLabel("Namespace").fill(world.namespace);
    await page.getByLabel("Name", { exact: true }).fill("Bad Name");
    await page.getByLabel("Text").fill("All aboard.");
    await page.getByLabel("Voice").fill("announcer");
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByRole("alert").getByText("metadata.name").waitFor();
    await expectAccessible(opened);

    await page.getByLabel("Name", { exact: true }).fill("from-the-page");
    await page.getByText("name: from-the-page").waitFor();
    await page.getByRole("button", { name: "Copy: Manifest of the job" }).click();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toContain(`kind: SpeechJob\nmetadata:\n  name: from-the-page\n  namespace: ${world.namespace}\n`);
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByRole("heading", { name: `SpeechJob ${world.namespace}/from-the-page` }).waitFor();
    await page.getByText("Succeeded", { exact: true }).first().waitFor();

    await go("create");
    await page.getByLabel("Namespace").fill(world.namespace);
    await page.getByLabel("Name", { exact: true }).fill("from-the-page");
    await page.getByLabel("Text").fill("All aboard.");
    await page.getByLabel("Voice").fill("announcer");
    await page.getByText("name: from-the-page").waitFor();
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByRole("alert").getByText("already exists").waitFor();
    expect((await world.audit("synthesizeSpeech")).filter(({ body }) => body?.["text"] === "All aboard.")).toHaveLength(
      1,
    );
    expect(opened.problems).toEqual([]);
  });

  it("makes the manifest of a VideoJob", async () => {
    const { page, go } = opened;
    await go("create");
    await page.getByLabel("Kind").selectOption("VideoJob");
    await page.getByLabel("Made from").selectOption("reference videos");
    await page.getByLabel("Prompt").fill("Waves");
    await page.getByLabel("URLs of the reference videos").fill("https://videos.example.com/sea.mp4");
    await page.getByText("- https://videos.example.com/sea.mp4").waitFor();
    await page.getByText("kind: VideoJob").waitFor();
    await expectAccessible(opened);
  });
});

describe("a read-only page", () => {
  it("offers commands in place of buttons, and its server refuses writes", async () => {
    const readOnly = await openPage({ args: [...scene.uiArgs, "--read-only"] });
    const { page, go } = readOnly;
    await go(`objects/GpuEndpoint/${scene.world.namespace}/echo`);
    await page.getByText("Commands for what you can do").click();
    await page.getByText(/kubectl patch gpuendpoints.mooring.dev .*"suspend":true/).waitFor();
    expect(
      await page
        .getByRole("button", { name: /Suspend/ })
        .filter({ hasNotText: "Copy" })
        .count(),
    ).toBe(0);
    await expectAccessible(readOnly);
    const { uid } = (await scene.world.get("GpuEndpoint", "echo")).metadata;
    const status = await page.evaluate(
      async ([path, body]) => {
        const authorization = `Bearer ${localStorage.getItem("mooring-token")}`;
        const headers = { authorization, "content-type": "application/json" };
        return (await fetch(path ?? "", { method: "POST", headers, body: body ?? "" })).status;
      },
      [`api/objects/GpuEndpoint/${scene.world.namespace}/echo/actions/delete`, JSON.stringify({ uid })],
    );
    expect(status).toBe(403);
  });
});
