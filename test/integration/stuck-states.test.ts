import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Reason } from "../../src/api/v1alpha1/reasons.ts";
import { isNotFound } from "../../src/kube/errors.ts";
import { condition, eventsOf, eventually } from "../support/world.ts";
import { ACCOUNT_SCENES } from "./stuck-states/account-scenes.ts";
import { ENDPOINT_SCENES } from "./stuck-states/endpoint-scenes.ts";
import { JOB_SCENES } from "./stuck-states/job-scenes.ts";
import {
  conditionOf,
  createShell,
  describesReason,
  explainExcerpt,
  type Outputs,
  readable,
  worldOf,
} from "./stuck-states/outputs.ts";
import { ALL_REASONS, NEED_NOBODY, pageOf, SHOWN_ELSEWHERE } from "./stuck-states/page.ts";
import { createStage, type Scene, type Stage } from "./stuck-states/stage.ts";
import { BILL_SCENES, STORE_SCENES } from "./stuck-states/store-scenes.ts";

const PAGE = fileURLToPath(new URL("../../docs/reference/stuck-states.md", import.meta.url));
const GROUPS = [
  { title: "Accounts", scenes: ACCOUNT_SCENES },
  { title: "Endpoints", scenes: ENDPOINT_SCENES },
  { title: "Jobs", scenes: JOB_SCENES },
  { title: "Artifact stores", scenes: STORE_SCENES },
  { title: "Bill reports", scenes: BILL_SCENES },
];
const SCENES = GROUPS.flatMap(({ scenes }) => scenes);

/** Conditions that no event comes with: the object waits for another one, which has the event. */
const WITHOUT_EVENT = ["Reconciling", "Ready"];

let stage: Stage;
let shell: Awaited<ReturnType<typeof createShell>>;
const outputs = new Map<Scene, Outputs>();

beforeAll(async () => {
  stage = await createStage();
  shell = await createShell(stage);
});
afterAll(() => stage?.close());

/** Whether the object shows the reason of the scene; false when it is gone. */
async function isStuck(scene: Scene): Promise<boolean> {
  try {
    const object = await worldOf(stage, scene).get(scene.kind, scene.name);
    return condition(object, conditionOf(scene))?.reason === scene.reason;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** What a command prints; it must succeed. */
async function printed(scene: Scene, line: string): Promise<string> {
  const { code, stdout, stderr } = await shell(scene, line);
  expect({ code, stderr }, line).toEqual({ code: 0, stderr: "" });
  return stdout;
}

/** What `mooring explain` prints, once kubectl prints the reason too: another reason can come between, such as while an account has no server. */
async function showing(scene: Scene): Promise<string | undefined> {
  const object = `${scene.kind.toLowerCase()} ${scene.name}`;
  const explained = await printed(scene, `mooring explain ${object.replace(" ", "/")} -n team-a`);
  const described = await printed(scene, `kubectl describe ${object} -n team-a`);
  const shows =
    describesReason(scene, described) &&
    explainExcerpt(stage, explained).includes(`(${scene.reason})`) &&
    described.includes(scene.says ?? "") &&
    explained.replaceAll(/\s+/g, " ").includes(scene.says ?? "");
  return shows ? explained : undefined;
}

/** What `mooring explain` prints, once it is what the page shows. When the page shows something else: what it prints a minute later. */
async function settled(scene: Scene): Promise<string> {
  const page = await readFile(PAGE, "utf8");
  const first = Date.now();
  const isDone = (shown: string) => page.includes(explainExcerpt(stage, shown)) || Date.now() - first > 60_000;
  return eventually(
    "both commands show it",
    async () => {
      const shown = await showing(scene);
      return shown !== undefined && isDone(shown) && shown;
    },
    240_000,
  );
}

describe("every reason", () => {
  it("has a section, is shown elsewhere, or needs nobody", () => {
    const shown = [...new Set(SCENES.map(({ reason }) => reason))];
    const elsewhere = Object.keys(SHOWN_ELSEWHERE) as Reason[];
    expect([...shown, ...elsewhere, ...NEED_NOBODY].sort()).toEqual([...ALL_REASONS].sort());
  });
});

describe.concurrent("an object in the state", () => {
  it.each(SCENES)("$reason: $kind $name is explained, and the commands resolve it", async (scene) => {
    const { kind, name, commands, reason } = scene;
    await scene.arrange(stage);
    await eventually(`${kind} ${name} is ${reason}`, () => isStuck(scene), 240_000);
    if (!WITHOUT_EVENT.includes(conditionOf(scene))) {
      await eventually("an event says so", async () =>
        (await eventsOf(worldOf(stage, scene), kind, name)).some((event) => event.startsWith(`Warning ${reason}: `)),
      );
    }
    const explained = await settled(scene);
    const offered = explained.split("\n").map((line) => line.trim());
    const lines =
      "explained" in commands
        ? offered.filter((line) => line.startsWith("kubectl ") && line.includes(commands.explained))
        : commands;
    expect(lines.length, explained).toBeGreaterThan(0);
    outputs.set(scene, {
      explain: explainExcerpt(stage, explained),
      commands: lines.map((line) => readable(stage, line)),
    });
    for (const line of lines) await printed(scene, line);
    await eventually(`${kind} ${name} is not ${reason} any more`, async () => !(await isStuck(scene)), 240_000);
  });
});

describe("docs/reference/stuck-states.md", () => {
  it("shows what the commands print", async () => {
    expect(SCENES.filter((scene) => !outputs.has(scene)).map(({ name }) => name)).toEqual([]);
    await expect(pageOf(GROUPS, outputs)).toMatchFileSnapshot(PAGE);
  });
});
