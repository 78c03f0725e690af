import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { inCluster, withoutCluster } from "../../../scripts/first-steps/scenarios.ts";
import { replaceTranscript, transcriptSection } from "../../../scripts/first-steps/transcript.ts";
import { projectRoot } from "../../support/pages.ts";

const read = (path: string) => readFile(join(projectRoot, path), "utf8");

describe("a transcript", () => {
  const cold = [{ command: "npm ci | cat", seconds: 61.4, output: "" }];
  const warm = [{ command: "npm ci | cat", seconds: 4.21, output: "a\n\n\nb\n" }];

  test("has the times of both runs, and the output of the warm one", () => {
    expect(transcriptSection({ cold, warm })).toBe(
      [
        "| command | cold | warm |",
        "|---|---|---|",
        "| `npm ci \\| cat` | 61 s | 4.2 s |",
        "| total | 61 s | 4.2 s |",
        "",
        "```text",
        "$ npm ci | cat",
        "a",
        "",
        "b",
        "# 4.2 s",
        "```",
      ].join("\n"),
    );
  });

  test("shows the end of a long output, and of a long line its beginning", () => {
    const output = [...Array.from({ length: 30 }, (_, line) => `line ${line}`), "x".repeat(200)].join("\n");
    const lines = transcriptSection({ cold, warm: [{ command: "x", seconds: 1, output }] }).split("\n");
    expect(lines).toContain("...");
    expect(lines).not.toContain("line 0");
    expect(lines).toContain("line 29");
    expect(lines).toContain(`${"x".repeat(150)}…`);
  });

  test("replaces what is between its markers, and refuses a page without them", () => {
    const page = "a\n<!-- transcript: one -->\nold\n<!-- /transcript -->\nb\n";
    expect(replaceTranscript(page, "one", "new")).toBe(page.replace("old", "new"));
    expect(() => replaceTranscript(page, "two", "new")).toThrow("<!-- transcript: two -->");
  });
});

describe("docs/reference/first-steps.md", () => {
  const scenarios = [withoutCluster, inCluster("")];

  test.each(scenarios)("has the commands of a run $name", async ({ name, steps }) => {
    const page = await read("docs/reference/first-steps.md");
    const [, section = ""] = new RegExp(`<!-- transcript: ${name} -->([^]*?)<!-- /transcript -->`).exec(page) ?? [];
    for (const { command } of steps) expect(section).toContain(`\n$ ${command}`);
  });

  test.each(scenarios)("follows what a new user reads ($name)", async ({ steps }) => {
    const texts = await Promise.all(["README.md", "docs/how-to/install.md", "tools/demo/report.ts"].map(read));
    const commands = steps.flatMap(({ command }) => command.split(" && "));
    const typed = commands.filter((command) => !/^(ls|\$LOAD_IMAGE) /.test(command));
    for (const command of typed) expect(texts.join("\n")).toContain(command);
  });

  test("has no path of a machine", async () => {
    expect(await read("docs/reference/first-steps.md")).not.toMatch(/\/(root|home|work|tmp)\//);
  });
});
