import { expect, it } from "vitest";
import { entriesIn } from "../../../src/operator/takeover.ts";
import { entryOf } from "../../support/jobs.ts";

const entries = ["a/one", "b/two", "ab/three"].map((key) => entryOf({ key }));

it.each<{ watched: string[]; expected: string[] }>([
  { watched: [], expected: ["a/one", "b/two", "ab/three"] },
  { watched: ["a"], expected: ["a/one"] },
  { watched: ["b", "ab"], expected: ["b/two", "ab/three"] },
  { watched: ["other"], expected: [] },
])("an operator that watches $watched judges only the entries of these namespaces", ({ watched, expected }) => {
  expect(entriesIn(entries, watched).map(({ key }) => key)).toEqual(expected);
});
