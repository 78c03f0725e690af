import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { tool } from "../../tools/programs/tool.ts";
import { CHART, helm } from "../support/chart.ts";
import { commandsIn, fencedBlocks } from "../support/markdown.ts";
import { documentationPages, projectRoot } from "../support/pages.ts";
import { type Ended, run } from "../support/run.ts";

const oldest = async (...args: string[]): Promise<Ended> => run(await tool("helm-oldest"), args);
const valueSets = (await readdir(join(CHART, "ci"))).sort();
/** A Helm that is built from its module does not know a version of Kubernetes. */
const KUBERNETES = ["--kube-version", "1.30.0"];

describe("the oldest Helm that the documentation names", () => {
  it("is the one that is tested here", async () => {
    const goMod = await readFile(join(projectRoot, "tools/programs/helm-oldest/go.mod"), "utf8");
    const [, minor = ""] = /helm\.sh\/helm\/v3 v(3\.\d+)\.0\b/.exec(goMod) ?? [];
    const pages = await documentationPages();
    const named = pages.flatMap(({ text }) =>
      [...text.matchAll(/Helm \|? ?(\d\.\d+) or newer/g)].map(([, version]) => version),
    );
    expect(named.length).toBeGreaterThan(1);
    expect(new Set(named)).toEqual(new Set([minor]));
    expect((await oldest("version", "--short")).stdout).toContain(`v${minor}`);
  });

  it.each(valueSets)("makes the same objects of %s as the newest", async (name) => {
    const args = ["template", "mooring", CHART, "--namespace", "x", ...KUBERNETES, "--values", join(CHART, "ci", name)];
    const [old, current] = await Promise.all([oldest(...args), helm(...args)]);
    expect(old).toMatchObject({ code: 0 });
    const objects = ({ stdout }: Ended) => parseAllDocuments(stdout).map((document) => document.toJS() as unknown);
    expect(objects(old)).toEqual(objects(current));
  });

  it("finds nothing in helm lint --strict", async () => {
    expect(await oldest("lint", "--strict", ...KUBERNETES, CHART)).toMatchObject({ code: 0 });
  });

  it("knows every command and flag of the documentation", async () => {
    const commands = (await documentationPages()).flatMap(({ text }) =>
      fencedBlocks(text).flatMap(({ language, body }) => (language === "sh" ? commandsIn(body) : [])),
    );
    const used = commands.filter(({ program }) => program === "helm");
    expect(used.length).toBeGreaterThan(5);
    for (const { args, flags } of used) {
      const { stdout } = await oldest(args[0] ?? "", "--help");
      for (const flag of flags) expect(stdout, `helm ${args[0]} ${flag}`).toMatch(new RegExp(`${flag}\\b`));
    }
  });
});
