import { matchesGlob } from "node:path";
import { describe, expect, it } from "vitest";
import { ALL_TOOLS } from "../../tools/programs/tool.ts";
import config from "../../vitest.config.ts";
import { parseArguments } from "../arguments.ts";
import { fullTests, testsWithNeeds } from "../kinds.ts";
import { CHROMIUM, needsOf, testsIn } from "../needs.ts";

const matches = (path: string, globs: readonly string[]) => globs.some((glob) => matchesGlob(path, glob));
const projects = (config.test?.projects ?? []).flatMap((project) =>
  typeof project === "object" && "test" in project ? [project.test ?? {}] : [],
);
const all = testsIn("test").filter((path) => !path.startsWith("test/e2e/"));

describe("the tests", () => {
  it("run in one project each", () => {
    const homeless = all.filter(
      (path) =>
        projects.filter(({ include = [], exclude = [] }) => matches(path, include) && !matches(path, exclude))
          .length !== 1,
    );
    expect(homeless).toEqual([]);
  });

  it("need other programs in the projects full and page alone: `npm test` builds none", () => {
    const withPrograms = new Set([...fullTests(), ...testsIn("test/page")]);
    const cluster = testsIn("test/component", "test/integration", "test/faults", "test/security/cluster", "test/sim");
    expect(cluster.filter((path) => needsOf(path).length > 0 && !withPrograms.has(path))).toEqual([]);
  });

  it("need the tools of ALL_TOOLS, by what they import and by the scripts that they start", () => {
    const needs = new Set([...fullTests(), ...testsIn("test/page")].flatMap(needsOf));
    expect([...needs].filter((need) => need !== CHROMIUM).sort()).toEqual([...ALL_TOOLS].sort());
    expect(needsOf("test/integration/chart.test.ts")).toEqual(["helm", "promtool"]);
    expect(needsOf("test/integration/release.test.ts")).toEqual(["helm"]);
    expect(needsOf("test/page/bucket.test.ts")).toEqual([CHROMIUM, "versitygw"]);
    expect(needsOf("test/integration/bills.test.ts")).toEqual([]);
  });
});

describe("the arguments", () => {
  const kinds = (...args: string[]) => parseArguments(args).kinds.join();

  it.each([
    { args: ["test"], expected: "unit,component,sim,integration" },
    { args: ["test:full"], expected: "unit,component,sim,integration,forms,full,memory,page" },
    { args: ["test:full", "--rest"], expected: "forms,full,memory,page" },
    { args: ["test:full", "--only", "page,pairs"], expected: "page,pairs" },
    { args: ["test:full", "--only=lint"], expected: "" },
  ])("$args run $expected", ({ args, expected }) => {
    expect(kinds(...args)).toBe(expected);
  });

  it("run lint and typecheck first, unless another kind is chosen", () => {
    expect(parseArguments(["test"]).scripts).toEqual(["lint", "typecheck"]);
    expect(parseArguments(["test:full", "--only", "lint,page"]).scripts).toEqual(["lint"]);
    expect(parseArguments(["test:full", "--rest"]).scripts).toEqual([]);
  });

  it("go to vitest, to the report, and to the long forms", () => {
    const { filters, options, forReport, variables, env, isLong } = parseArguments([
      "test:full",
      "--only",
      "campaign",
      "--long",
      "--jobs",
      "60",
      "--select=drift",
      "--kubernetes",
      "oldest",
      "chart",
      "-t",
      "a name",
      "--bail=1",
      "--reporter=json",
      "--outputFile.json=a=b.json",
    ]);
    expect({ filters, options, forReport, variables, env, isLong }).toEqual({
      filters: ["chart"],
      options: ["-t", "a name", "--bail=1"],
      forReport: ["--reporter=json", "--outputFile.json=a=b.json"],
      variables: { _JOBS: "60", _ONLY: "drift" },
      env: { MOORING_KUBERNETES: "oldest" },
      isLong: true,
    });
  });

  it("name the kinds there are", () => {
    expect(() => parseArguments(["test", "--only", "pears"])).toThrow(
      /^--only pears: use lint, typecheck, unit, component, sim, integration, forms, full, memory, page, replicas, attacks, campaign, /,
    );
  });

  it("choose a part of the tests with tools", () => {
    expect(testsWithNeeds({ when: "full", project: "memory", built: true })).toBeUndefined();
    expect(testsWithNeeds({ when: "full", project: "full", built: true, folders: ["test/faults/halted"] })).toEqual([
      "test/faults/halted.test.ts",
    ]);
  });
});
