import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import packageJson from "../../../package.json" with { type: "json" };
import { projectRoot } from "../../support/pages.ts";

test.each(["scripts/release/cli.ts", "scripts/release/cli-readme.md"])(
  "%s names the Node version of package.json",
  async (path) => {
    const text = await readFile(join(projectRoot, path), "utf8");
    const named = [...text.matchAll(/\bNode\.js (\d+(?:\.\d+)*) or newer/g)].map(([, version]) => version);
    expect(named).toEqual([packageJson.engines.node.replace(">=", "")]);
  },
);
