import { expect, it } from "vitest";
import { objectNames } from "../../../../../src/cli/operate/import/names.ts";

const named = (id: string, name: string, appName = "", createdAt = 0) => ({ id, name, appName, createdAt });

it.each([
  ["Team Échos: v2_final.", "team-echos-v2-final"],
  ["--x--", "x"],
  ["你好", "app-name"],
  ["", "app-name"],
  [`${"a".repeat(62)}-b`, "a".repeat(62)],
])("names %j", (name, expected) => {
  expect(objectNames([named("id1", name, "App_Name")]).get("id1")).toBe(expected);
});

it("falls back to the id, and to a word", () => {
  expect([...objectNames([named("0A1B", "", ""), named("ÿ", "?", "!")]).values()].sort()).toEqual(["0a1b", "y"]);
  expect(objectNames([named("你", "", "")]).get("你")).toBe("endpoint");
});

it("gives the oldest endpoint the plain name, in any order", () => {
  const records = [
    named("cccccccccc1", "echo", "", 3),
    named("aaaaaaaaaa1", "Echo", "", 1),
    named("bb", "echo", "", 2),
  ];
  const expected = { cccccccccc1: "echo-cccccccc", aaaaaaaaaa1: "echo", bb: "echo-bb" };
  expect(Object.fromEntries(objectNames(records))).toEqual(expected);
  expect(Object.fromEntries(objectNames(records.toReversed()))).toEqual(expected);
});

it("leaves names of other objects alone", () => {
  expect(objectNames([named("aaaaaaaaaa1", "echo")], ["echo"]).get("aaaaaaaaaa1")).toBe("echo-aaaaaaaa");
});

it("is unique and valid even when ids begin alike and names are long", () => {
  const records = Array.from({ length: 200 }, (_, i) => named(`same-beginning-${i}`, "n".repeat(300), "", i % 7));
  const names = [...objectNames(records).values()];
  expect(new Set(names).size).toBe(200);
  for (const name of names) expect(name).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
});
