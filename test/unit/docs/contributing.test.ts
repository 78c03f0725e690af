import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";

const fileOf = (path: string) => readFile(new URL(`../../../${path}`, import.meta.url), "utf8");
/** Without indentation: an example may be inside of a `describe`. */
const unindented = (text: string) => text.replaceAll(/^ +/gm, "");

const page = await fileOf("CONTRIBUTING.md");
const EXAMPLE = /^\*\*(\w+)\*\*, \[`(test\/[^`]+)`\].*?```ts\n(.*?)```$/gms;
const examples = [...page.matchAll(EXAMPLE)].map(([, kind = "", path = "", text = ""]) => ({ kind, path, text }));

it("CONTRIBUTING has an example of each kind", () => {
  expect(examples.map(({ kind }) => kind)).toEqual(["Unit", "Component", "Simulation", "Integration"]);
});

it.each(examples)("CONTRIBUTING: the example is in its file: $kind", async ({ path, text }) => {
  expect(unindented(await fileOf(path)), `copy the test of ${path} again`).toContain(unindented(text));
});
