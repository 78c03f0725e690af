import { expect, it } from "vitest";
import { age, tableOf } from "../../../src/cli/table.ts";

it("prints columns as kubectl does", () => {
  expect(
    tableOf(
      ["ID", "NAME"],
      [
        ["1", "你好"],
        ["long", ""],
      ],
    ),
  ).toBe("ID     NAME\n1      你好\nlong\n");
});

it.each([
  [-5, "0s"],
  [119_999, "119s"],
  [120_000, "2m"],
  [7_200_000, "2h"],
  [172_800_000, "2d"],
])("age of %i ms", (ms, text) => expect(age(ms)).toBe(text));
