import { beforeAll, describe, expect, it } from "vitest";
import { gpuEndpointResource } from "../../src/api/v1alpha1/kinds.ts";
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

type Choice = { label: string; confirms: boolean; primary?: boolean };

/** Presses the action's button on the object's page, or its item in the menu, and confirms where the page asks. */
async function act(kind: string, name: string, { label, confirms, primary = false }: Choice): Promise<void> {
  const { page, go } = opened;
  await go(objectLink(kind, name));
  if (primary) await page.getByRole("button", { name: `${label}: ${kind} ${name}` }).click();
  else {
    await page.getByRole("button", { name: new RegExp(`^(More|Actions): ${kind} ${name}$`) }).click();
    await page.getByRole("menuitem", { name: label, exact: true }).click();
  }
  if (confirms) {
    await page.getByRole("dialog").waitFor();
    await expectAccessible(opened);
    await page.getByRole("dialog").getByRole("button", { name: label, exact: true }).click();
  }
  await page.getByRole("status").getByText(`${label}: sent for ${kind} ${name}`).waitFor();
}

const objectLink = (kind: string, name: string) => `objects/${kind}/${scene.world.namespace}/${name}`;
const annotation = async (kind: string, name: string, key: string) =>
  (await scene.world.get(kind, name)).metadata.annotations?.[key];

describe("a job that needs a person", () => {
  it("is on the first page; sending again says what it does, and then the job goes on", async () => {
    const { page, go } = opened;
    const { world } = scene;
    await page.getByRole("link", { name: /^Overview 1 need you$/ }).waitFor();
    await go("overview");
    await page.getByRole("region", { name: "Needs you" }).getByRole("link", { name: "Decide about lost" }).click();
    const send = page.getByRole("button", { name: "The bill does not show it: send again: SpeechJob lost" });
    await send.click();
    await page.getByRole("dialog").getByText("you pay twice").waitFor();
    await page.getByRole("dialog").getByText("as attempt 2").waitFor();
    await page.getByRole("dialog").getByText("The same as a command").click();
    await page.getByRole("dialog").locator("pre").filter({ hasText: "resubmit-token" }).waitFor();
    await expectAccessible(opened);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await annotation("SpeechJob", "lost", "mooring.dev/resubmit-token")).toBeUndefined();

    const paid = (await world.audit("synthesizeSpeech")).length;
    await send.click();
    await page.getByRole("dialog").getByRole("button", { name: "The bill does not show it: send again" }).click();
    await waitForCondition(world, "SpeechJob", "lost", "Complete");
    expect(await world.audit("synthesizeSpeech")).toHaveLength(paid + 1);
    await go("overview");
    await page.getByText("Nothing needs you.").waitFor();
    expect(opened.problems).toEqual([]);
  });
});

describe("actions of an object", () => {
  it("suspend and resume an endpoint", async () => {
    await act("GpuEndpoint", "echo", { label: "Suspend", confirms: true });
    await waitForCondition(scene.world, "GpuEndpoint", "echo", "Stopped");
    await act("GpuEndpoint", "echo", { label: "Resume", confirms: true, primary: true });
    await eventually("it serves again", async () => {
      const { spec, status } = await scene.world.get("GpuEndpoint", "echo");
      return spec["suspend"] === false && status?.["state"] === "running";
    });
  });

  it("reconcile now", async () => {
    await act("GpuEndpoint", "echo", { label: "Reconcile now", confirms: false });
    const requested = await annotation("GpuEndpoint", "echo", "mooring.dev/reconcile-requested-at");
    expect(requested).toBeTruthy();
    await eventually("the operator has handled it", async () => {
      const { status } = await scene.world.get("GpuEndpoint", "echo");
      return status?.["lastHandledReconcileAt"] === requested;
    });
  });

  it("pause and continue reconciling", async () => {
    await act("SpeechJob", "long", { label: "Pause reconciling", confirms: true });
    expect(await annotation("SpeechJob", "long", "mooring.dev/paused")).toBe("true");
    await opened.page.getByText("Paused", { exact: true }).first().waitFor();
    await act("SpeechJob", "long", { label: "Continue reconciling", confirms: false, primary: true });
    expect(await annotation("SpeechJob", "long", "mooring.dev/paused")).toBeUndefined();
  });

  it("delete", async () => {
    await act("SpeechJob", "unlucky", { label: "Delete", confirms: true });
    await eventually("it is gone", async () =>
      (await scene.world.list("SpeechJob")).every(({ metadata }) => metadata.name !== "unlucky"),
    );
    await opened.page.getByText("SpeechJob unlucky does not exist").waitFor();
  });
});

describe("actions of many objects", () => {
  it("suspend, resume and delete what is selected, and say what was not done", async () => {
    const { page, go } = opened;
    const { world } = scene;
    await go("endpoints?search=model");
    for (const name of ["asleep", "drifted"]) await page.getByRole("checkbox", { name: `Select ${name}` }).click();
    await page.getByRole("button", { name: "Suspend", exact: true }).click();
    await page.getByRole("dialog", { name: "Suspend 2 objects" }).getByText("lose all their workers").waitFor();
    await expectAccessible(opened);
    await page.getByRole("dialog").getByRole("button", { name: "Suspend" }).click();
    await page.getByRole("alert").getByText("GpuEndpoint asleep does not have this action now").waitFor();
    await waitForCondition(world, "GpuEndpoint", "drifted", "Stopped");
    await page.getByRole("status").getByText("1 of 3 selected").waitFor();
    await page.getByRole("button", { name: "Select nothing" }).click();
    expect(opened.problems).toEqual([]);
  });
});

describe("forms", () => {
  async function fill(name: string): Promise<void> {
    const { page, go } = opened;
    await go("new/SpeechJob");
    await page.getByLabel("Namespace").fill(scene.world.namespace);
    await page.locator("#field-metadata-name").fill(name);
    await page.getByLabel("Text", { exact: true }).fill("All aboard.");
    await page.getByLabel("Voice ID").fill("announcer");
  }

  it("have the problem at its field, and make the job that the manifest shows, once", async () => {
    const { page } = opened;
    const { world } = scene;
    await fill("Bad Name");
    await page.getByText("11 of at most 9,999 characters").waitFor();
    await page.getByRole("textbox", { name: "Manifest" }).waitFor();
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("alert").getByText("metadata.name").waitFor();
    await page.locator("#field-metadata-name[aria-invalid=true]").waitFor();
    await expectAccessible(opened);

    await page.locator("#field-metadata-name").fill("from-the-page");
    const manifest = page.getByRole("textbox", { name: "Manifest" });
    await eventually("the manifest has the name", async () => (await manifest.inputValue()).includes("from-the-page"));
    await page.getByRole("button", { name: "Copy manifest" }).click();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toContain(`kind: SpeechJob\nmetadata:\n  name: from-the-page\n  namespace: ${world.namespace}\n`);
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { level: 1, name: "from-the-page" }).waitFor();
    await page.getByText("Succeeded", { exact: true }).first().waitFor();

    await fill("from-the-page");
    await eventually("the manifest has the name", async () => (await manifest.inputValue()).includes("from-the-page"));
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("alert").getByText("already exists").waitFor();
    expect((await world.audit("synthesizeSpeech")).filter(({ body }) => body?.["text"] === "All aboard.")).toHaveLength(
      1,
    );
    expect(opened.problems).toEqual([]);
  });

  it("make a VideoJob from reference videos, and what is typed as YAML is in the fields", async () => {
    const { page, go } = opened;
    await go("new/VideoJob");
    await page.getByLabel("Made from").selectOption("videoToVideo");
    await page.getByLabel("Prompt", { exact: true }).fill("Waves");
    const manifest = page.getByRole("textbox", { name: "Manifest" });
    await eventually("the manifest has the prompt", async () =>
      (await manifest.inputValue()).includes("prompt: Waves"),
    );
    await manifest.fill((await manifest.inputValue()).replace("prompt: Waves", "prompt: Rain"));
    await eventually(
      "the field has it",
      async () => (await page.getByLabel("Prompt", { exact: true }).inputValue()) === "Rain",
    );
    await expectAccessible(opened);
  });

  it("edit an object after a look at the difference, and not over a change in between", async () => {
    const { page, go } = opened;
    const { world } = scene;
    await go(objectLink("GpuEndpoint", "echo"));
    await page.getByRole("link", { name: "Edit" }).click();
    await page.getByLabel("Max required", { exact: true }).fill("3");
    await page.getByRole("button", { name: "Review the change" }).click();
    const dialog = page.getByRole("dialog", { name: "Apply this change?" });
    await dialog.getByText("+     max: 3").waitFor();
    await dialog.getByText("-     max: 2").waitFor();
    await expectAccessible(opened);
    const { uid } = (await world.get("GpuEndpoint", "echo")).metadata;
    await world.patch("GpuEndpoint", "echo", { spec: { workers: { idleTimeoutSeconds: 61 } } });
    await dialog.getByRole("button", { name: "Apply" }).click();
    await dialog.getByRole("alert").getByText("has changed since you opened it").waitFor();
    await page.keyboard.press("Escape");

    await eventually("the page knows the change", async () => {
      await page.reload();
      return (await page.locator("#field-spec-workers-idleTimeoutSeconds").inputValue()) === "61";
    });
    await page.getByLabel("Max required", { exact: true }).fill("3");
    await page.getByRole("button", { name: "Review the change" }).click();
    // A write of the status is no change of what the user edits.
    const patch = { status: { state: "settling" } };
    await world.kube.mergePatch(
      gpuEndpointResource,
      { namespace: world.namespace, name: "echo", subresource: "status" },
      patch,
    );
    await dialog.getByRole("button", { name: "Apply" }).click();
    await page.getByRole("status").getByText("GpuEndpoint echo is changed").waitFor();
    const { metadata, spec } = await world.get("GpuEndpoint", "echo");
    expect(metadata.uid).toBe(uid);
    expect(spec["workers"]).toMatchObject({ max: 3, idleTimeoutSeconds: 61 });
    expect(opened.problems).toEqual([]);
  });
});

describe("a read-only page", () => {
  it("offers commands in place of buttons, and its server refuses writes", async () => {
    const readOnly = await openPage({ args: [...scene.uiArgs, "--read-only"] });
    const { page, go } = readOnly;
    await go(objectLink("GpuEndpoint", "echo"));
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
