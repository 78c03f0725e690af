import { readFile, stat } from "node:fs/promises";
import { homedir, hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { castOf, LONGEST_PAUSE, outputsOf, withoutTraces } from "../../../scripts/recording/cast.ts";
import { projectRoot } from "../../support/pages.ts";

const read = (path: string) => readFile(join(projectRoot, path), "utf8");
const parsed = (cast: string): unknown[] =>
  cast
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("the recording of the demo", async () => {
  const cast = await read("docs/images/demo.cast");
  const [header, ...events] = parsed(cast) as [object, ...[number, string, string][]];
  const text = events.map(([, , output]) => output).join("");

  it("is an asciicast of a demo that ended well", () => {
    expect(header).toMatchObject({ version: 2, title: "npm run demo" });
    expect(events.every(([, type]) => type === "o")).toBe(true);
    expect(text).toMatch(/^\$ npm run demo\r\n/);
    expect(text).toMatch(/(\d+) of \1 examples are as their manifests say/);
  });

  it(`has no pause above ${LONGEST_PAUSE} s`, () => {
    const pauses = events.map(([time], index) => time - (events[index - 1]?.[0] ?? 0));
    expect(Math.max(...pauses)).toBeLessThanOrEqual(LONGEST_PAUSE + 0.001);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(0);
  });

  it.each(["docs/images/demo.cast", "docs/images/demo.svg"])("%s shows nothing of the machine", async (path) => {
    const shown = await read(path);
    expect(shown).not.toMatch(/[ "'>=]\/(?:root|home|Users|tmp|work|var|private|opt|usr|builds?)\b/);
    expect(shown).not.toMatch(/\b[\w.-]+@[\w-]+[:~]/);
    expect(shown).not.toContain(homedir());
    if (!["localhost", "host"].includes(hostname())) expect(shown).not.toContain(hostname());
    const hosts = [...shown.matchAll(/https?:\/\/([^/:"\s<]+)/g)].map(([, host]) => host ?? "");
    const known = /^(127\.0\.0\.1|www\.w3\.org|[\w.-]+\.(example\.com|endpoints\.in\w*))$/;
    expect(hosts.filter((host) => !known.test(host))).toEqual([]);
  });

  it.each(["demo.cast", "demo.svg"])(
    "%s is small, and the README shows it with the command that makes it",
    async (name) => {
      expect((await stat(join(projectRoot, "docs/images", name))).size).toBeLessThan(500_000);
      const readme = await read("README.md");
      expect(readme).toContain(`docs/images/${name}`);
      expect(readme).toContain("npm run generate -- recording");
    },
  );

  it("the picture loads nothing from elsewhere", async () => {
    const svg = await read("docs/images/demo.svg");
    expect(svg).not.toMatch(/<(script|image|foreignObject)|@import|url\(|href="(?!#)/);
  });
});

describe("a recording", () => {
  it("is cut by the bytes of its timing file, also within a character", () => {
    const typescript = new TextEncoder().encode("Script started\nab€c");
    expect(outputsOf(typescript, "0.5 3\n1 2\n9 1\n")).toEqual([
      { delay: 0.5, text: "ab" },
      { delay: 1, text: "€" },
      { delay: 9, text: "c" },
    ]);
  });

  it("loses paths and names, the longest first, and what makes a folder unique", () => {
    const outputs = [{ delay: 1, text: "in /tmp/mooring-control-plane-a1B2c3 of box, /tmp/x" }];
    const shown = withoutTraces(outputs, [
      ["/", "?"],
      ["/tmp", "$TMPDIR"],
      ["box", "host"],
    ]);
    expect(shown).toEqual([{ delay: 1, text: "in $TMPDIR/mooring-control-plane of host, $TMPDIR/x" }]);
  });

  it("starts with the command, and caps its pauses", () => {
    const outputs = [
      { delay: 60, text: "a" },
      { delay: 0.25, text: "b" },
    ];
    expect(parsed(castOf("npm run demo", outputs, { columns: 80, rows: 24 }))).toEqual([
      { version: 2, width: 80, height: 24, title: "npm run demo" },
      [0, "o", "$ npm run demo\r\n"],
      [2, "o", "a"],
      [2.25, "o", "b"],
      [4.25, "o", ""],
    ]);
  });
});
