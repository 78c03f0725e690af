import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { manifest } from "../support/manifests.ts";
import { type AnyObject, condition, createWorld, eventually, type World, waitForCondition } from "../support/world.ts";

let world: World;
let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "mooring-batches-"));
  world = await createWorld("batches", { simulator: { timeScale: 0.1 } });
  await world.startOperator({ args: [`--artifact-root=${root}`] });
  await world.apply({ kind: "ArtifactStore", metadata: { name: "results" }, spec: { volume: { path: "results" } } });
  await waitForCondition(world, "ArtifactStore", "results", "Ready");
});
afterAll(() => rm(root, { recursive: true, force: true }));

type Line = { index: number; name: string; key?: string; sha256?: string; characters?: number; error?: string };
const output = (keyPrefix: string) => ({ storeRef: { name: "results" }, keyPrefix });
const fileAt = (key: string) => readFile(join(root, "results", key));
async function indexOf(keyPrefix: string): Promise<Line[]> {
  const text = (await fileAt(`${keyPrefix}/index.jsonl`)).toString();
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}
const spoken = async (mark: string) =>
  (await world.audit()).flatMap(({ body }) =>
    typeof body?.text === "string" && body.text.includes(mark) ? [body.text] : [],
  );
const configMap = (name: string, data: Record<string, string>) =>
  world.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data });
const jobsOf = async (batch: string) =>
  (await world.list("SpeechJob")).filter(({ metadata }) => metadata.labels?.["mooring.dev/batch"] === batch);
const stalledWith = (name: string, reason: string): Promise<AnyObject> =>
  eventually(`${name} is stalled: ${reason}`, async () => {
    const batch = await world.get("MediaBatch", name);
    return condition(batch, "Stalled")?.reason === reason && batch;
  });

describe("a batch", () => {
  it("makes a file of each item, pays for each once, and lists all of them", async () => {
    const items = Array.from({ length: 30 }, (_, index) =>
      JSON.stringify({ text: `page ${index}.`, ...(index < 2 ? { name: `intro-${index}` } : {}) }),
    );
    await configMap("book", { items: items.join("\n") });
    const spec = { items: { inline: null, configMapKeyRef: { name: "book", key: "items" } }, output: output("book") };
    await world.apply(manifest("batch", { ...spec, parallelism: 8 }, "book"));
    let most = 0;
    const done = await eventually("the batch is complete", async () => {
      most = Math.max(most, (await jobsOf("book")).length);
      const batch = await world.get("MediaBatch", "book");
      return condition(batch, "Complete")?.status === "True" && batch;
    });
    expect(most).toBeLessThanOrEqual(8);
    expect(done.status).toMatchObject({
      phase: "Succeeded",
      progress: "30/30",
      succeeded: 30,
      failed: 0,
      active: 0,
      completedIndexes: "0-29",
    });
    expect(await jobsOf("book")).toEqual([]);
    expect((await spoken("page ")).sort()).toEqual(items.map((item) => JSON.parse(item).text).sort());

    const index = await indexOf("book");
    expect(index.map(({ name }) => name)).toEqual([
      "intro-0",
      "intro-1",
      ...Array.from({ length: 28 }, (_, at) => String(at + 2).padStart(6, "0")),
    ]);
    for (const { key = "", name, sha256 } of index) {
      expect(key).toBe(`book/${name}.mp3`);
      expect(sha256).toBe(
        createHash("sha256")
          .update(await fileAt(key))
          .digest("hex"),
      );
    }
  });

  it("whose items are not good sends nothing, and shows the first ten lines with what is wrong", async () => {
    const bad = ['{"text":"bad one."}', '{"txt":"bad two."}', "oops", '{"text":"bad","output":{}}'];
    await configMap("bad", { items: [...bad, ...Array.from({ length: 20 }, () => "[]")].join("\n") });
    const items = { inline: null, configMapKeyRef: { name: "bad", key: "items" } };
    await world.apply(manifest("batch", { items, output: output("bad") }, "bad"));
    const batch = await stalledWith("bad", "InvalidItems");
    const message = condition(batch, "Stalled")?.message ?? "";
    expect(message).toContain("line 2: txt: unknown field");
    expect(message).toContain("line 3: is no JSON");
    expect(message).toContain("line 4: output cannot differ between items");
    expect(message).toContain("and 13 more");
    expect(await spoken("bad")).toEqual([]);
  });

  it("of a CSV file in a store takes numbers, names and quoted texts", async () => {
    await mkdir(join(root, "results", "in"), { recursive: true });
    const csv = 'name,text,voiceSetting.speed\r\none,"csv, with ""quotes""\nand lines",1.5\r\ntwo,csv plain,\r\n';
    await writeFile(join(root, "results", "in", "items.csv"), csv);
    const object = { storeRef: { name: "results" }, key: "in/items.csv" };
    const items = { inline: null, object, format: "CSV" };
    await world.apply(manifest("batch", { items, output: output("csv") }, "csv"));
    await waitForCondition(world, "MediaBatch", "csv", "Complete");
    const sent = (await world.audit("synthesizeSpeech")).filter(({ body }) => String(body?.text).startsWith("csv"));
    expect(sent.map(({ body }) => [body?.text, JSON.stringify(body?.voice_setting)]).sort()).toEqual(
      [
        ["csv plain", '{"voice_id":"announcer"}'],
        ['csv, with "quotes"\nand lines', '{"speed":1.5,"voice_id":"announcer"}'],
      ].sort(),
    );
    expect((await fileAt("csv/one.mp3")).length).toBeGreaterThan(100);
  });

  it("counts a job that a user deletes as failed, never makes it again, and goes on with the others", async () => {
    const inline = [{ text: "lost zero.", name: "zero" }, { text: "lost one." }, { text: "lost two." }];
    await world.apply(manifest("batch", { items: { inline }, suspend: true, output: output("lost") }, "lost"));
    await waitForCondition(world, "MediaBatch", "lost", "Suspended");
    await world.control("POST", "/__faults", { operation: "synthesizeSpeech", kind: "latency", latencyMs: 3000 });
    await world.patch("MediaBatch", "lost", { spec: { suspend: false, parallelism: 1 } });
    await eventually("the first job exists", () => world.get("SpeechJob", "lost-0").catch(() => undefined));
    await world.remove("SpeechJob", "lost-0");
    const failed = await stalledWith("lost", "FailedIndexes");
    expect(failed.status).toMatchObject({ phase: "Failed", failedIndexes: "0", completedIndexes: "1-2" });
    expect((await indexOf("lost"))[0]).toMatchObject({ index: 0, error: "the job was deleted" });
    expect((await spoken("lost zero")).length).toBeLessThanOrEqual(1);
  });

  it("with reuse that is applied again pays for new items only", async () => {
    const items = (texts: string[]) => ({ inline: texts.map((text, at) => ({ text, name: `part-${at}` })) });
    const spec = { reuse: "SameRequest", output: output("again") };
    await world.apply(manifest("batch", { ...spec, items: items(["again a.", "again b."]) }, "again"));
    await waitForCondition(world, "MediaBatch", "again", "Complete");
    await world.remove("MediaBatch", "again");
    await world.apply(manifest("batch", { ...spec, items: items(["again a.", "again b.", "again c."]) }, "again-2"));
    await waitForCondition(world, "MediaBatch", "again-2", "Complete");
    expect((await spoken("again")).sort()).toEqual(["again a.", "again b.", "again c."]);
    expect((await indexOf("again")).map(({ key }) => key)).toEqual([0, 1, 2].map((at) => `again/part-${at}.mp3`));
  });

  it("whose items change stops with the difference, and goes on when they are restored", async () => {
    const lines = (count: number) => Array.from({ length: count }, (_, at) => `{"text":"moved ${at}."}`).join("\n");
    await configMap("moved", { items: lines(70) });
    const items = { inline: null, configMapKeyRef: { name: "moved", key: "items" } };
    const held = { items, output: output("moved"), suspend: true, parallelism: 4 };
    await world.apply(manifest("batch", held, "moved"));
    await eventually(
      "the items are checked",
      async () => (await world.get("MediaBatch", "moved")).status?.total === 70,
    );
    await world.patch("ConfigMap", "moved", { data: { items: lines(72) } });
    await world.patch("MediaBatch", "moved", { spec: { suspend: false } });
    const changed = await stalledWith("moved", "ItemsChanged");
    expect(condition(changed, "Stalled")?.message).toContain("began with 70 items");
    expect(condition(changed, "Stalled")?.message).toContain("2 more");
    expect(await spoken("moved")).toEqual([]);
    await world.patch("ConfigMap", "moved", { data: { items: lines(70) } });
    await waitForCondition(world, "MediaBatch", "moved", "Complete");
    expect(await spoken("moved")).toHaveLength(70);
  });
});
