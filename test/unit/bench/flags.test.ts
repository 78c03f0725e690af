import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { FLAGS, helpText, parseFlags } from "../../../bench/flags.ts";
import { SCENARIO_NAMES } from "../../../bench/scenario-figures.ts";
import { SCENARIOS } from "../../../bench/scenarios.ts";

describe("the flags of the benchmark", () => {
  it.each([
    { args: [], measured: { objects: [2_000], scale: [], scenarios: [] } },
    { args: ["--report"], measured: { objects: [], scale: [], scenarios: [] } },
    { args: ["--scale", "1000, 3000"], measured: { objects: [], scale: [1_000, 3_000], scenarios: [] } },
    { args: ["--scenario", "rest,churn"], measured: { objects: [], scale: [], scenarios: ["rest", "churn"] } },
    { args: ["--scenario=bills", "--objects=10"], measured: { objects: [10], scale: [], scenarios: ["bills"] } },
  ])("$args measures $measured", ({ args, measured }) => {
    expect(parseFlags(args)).toMatchObject(measured);
  });

  it.each([
    { args: [], peers: ["controller-runtime"] },
    { args: ["--peers", "client-node"], peers: ["controller-runtime", "client-node"] },
    { args: ["--peers", "client-node, controller-runtime"], peers: ["controller-runtime", "client-node"] },
  ])("$args compares with $peers: goals relate to controller-runtime", ({ args, peers }) => {
    expect(parseFlags(args).peers).toEqual(peers);
  });

  it("has numbers only for flags that are given, so that each scenario has its own defaults", () => {
    expect(parseFlags(["--rest", "20", "--time-scale", "0.1"]).numbers).toEqual({ rest: 20, "time-scale": 0.1 });
  });

  it.each([
    {
      args: ["--scenario", "churn,storm"],
      message: '"storm" is none of churn, latency, rest, jobs, takeover, stream, bills, cli',
    },
    {
      args: ["--peers", "gopher"],
      message: '--peers gopher: "gopher" is none of controller-runtime, client-node, bare, kube-rs, kopf',
    },
    { args: ["--objects", "1000,x"], message: "--objects 1000,x: use integers above 0" },
    { args: ["--endpoints", "1.5"], message: "--endpoints 1.5: use an integer above 0" },
    { args: ["--time-scale", "0"], message: "--time-scale 0: use a number above 0" },
    { args: ["--jobs="], message: "--jobs : use an integer above 0" },
  ])("$args is refused: $message", ({ args, message }) => {
    expect(() => parseFlags(args)).toThrow(message);
  });

  it("--help prints each flag with its meaning", () => {
    expect(parseFlags(["--help"]).help).toBe(true);
    for (const [flag, meaning] of Object.entries(FLAGS)) {
      expect(helpText().split("\n")).toContain(`  --${flag.padEnd(15)}${meaning}`);
    }
  });

  it("are all in docs/reference/performance.md, and so are the scenarios", async () => {
    const page = await readFile(new URL("../../../docs/reference/performance.md", import.meta.url), "utf8");
    const table = page.split("| flag | meaning |")[1]?.split("\n\n")[0] ?? "";
    const rows = Object.entries(FLAGS).map(([flag, meaning]) => `| --${flag} | ${meaning} |`);
    expect(table.replaceAll("`", "").split("\n").slice(2)).toEqual(rows);
    for (const name of SCENARIO_NAMES) expect(page).toContain(`**${name}**`);
    expect(Object.keys(SCENARIOS)).toEqual(SCENARIO_NAMES);
  });
});
