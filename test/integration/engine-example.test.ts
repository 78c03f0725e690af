import { readFile } from "node:fs/promises";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { runHashController } from "../../docs/explanation/engine-example.ts";
import { createWorld, eventually } from "../support/world.ts";

it("the worked example of docs/explanation/engine.md does what it says, against the real API server", async () => {
  const world = await createWorld("engine", { account: null });
  const stop = new AbortController();
  const stopController = await runHashController(world.kube, [world.namespace], pino({ level: "silent" }), stop.signal);
  onTestFinished(async () => {
    await stopController();
    stop.abort(new Error("the test is over"));
  });
  const hashOf = async (name: string) =>
    (await world.get("ConfigMap", name)).metadata.annotations?.["example.com/sha256"];
  const labels = { "example.com/hashed": "true" };
  await world.apply({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "hashed", labels },
    data: { a: "1" },
  } as never);
  await world.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "plain" }, data: { a: "1" } });
  const first = await eventually("the hash is there", () => hashOf("hashed"));
  await world.patch("ConfigMap", "hashed", { data: { a: "2" } });
  await eventually("the hash follows the data", async () => (await hashOf("hashed")) !== first);
  expect(await hashOf("plain")).toBeUndefined();
});

it("docs/explanation/engine.md shows the example as it is run", async () => {
  const page = await readFile(new URL("../../docs/explanation/engine.md", import.meta.url), "utf8");
  const example = await readFile(new URL("../../docs/explanation/engine-example.ts", import.meta.url), "utf8");
  const shown = /```ts\n([\s\S]*?)```/.exec(page)?.[1];
  expect(shown).toBe(example.slice(example.indexOf("type ConfigMap")));
});
