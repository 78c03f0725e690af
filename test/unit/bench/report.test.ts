import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { type Drain, NO_FIGURES, readFigures, withDrain, withScalePoint } from "../../../bench/figures.ts";
import { plotsOf, ratiosOf, spreadOf } from "../../../bench/plots.ts";
import { figuresText, withFigures } from "../../../bench/report.ts";

const page = await readFile(new URL("../../../docs/reference/performance.md", import.meta.url), "utf8");
const figures = await readFigures(new URL("../../../bench/figures.json", import.meta.url));

const round = (drainSeconds: number) => ({
  drainSeconds,
  firstSeconds: 1,
  firstCallSeconds: 0.5,
  cpuMsPerObject: drainSeconds / 5,
  peakMiB: 100,
  apiServerMsPerObject: 10,
  duplicates: 0,
});
const machine = {
  cores: 2,
  cpu: "CPU",
  memoryGiB: 8,
  kernel: "6.1",
  node: "24.9.0",
  go: "1.26",
  kubernetes: "v1.36.0",
  load: 0.5,
  date: "2026-03-01T00:00:00Z",
};
const drain: Drain = {
  machine,
  objects: 2_000,
  access: "ServiceAccount",
  rounds: { "controller-runtime": [10, 20, 10].map(round), Mooring: [9, 22, 10].map(round) },
};

describe("the page of the figures", () => {
  it("has the figures and plots of bench/figures.json: run npm run bench -- --report", async () => {
    expect(withFigures(page, figures)).toBe(page);
    for (const { file, svg } of plotsOf(figures)) {
      expect(await readFile(new URL(`../../../docs/images/${file}`, import.meta.url), "utf8")).toBe(svg);
    }
  });

  it("names no host and no path", () => {
    expect(figuresText(figures)).not.toMatch(/\/(?:root|home|tmp|work)\//);
  });
});

describe("a comparison", () => {
  it("relates each round to the peer's round before it", () => {
    const { median, low, high } = ratiosOf(drain, (one) => one.drainSeconds);
    expect([median, low, high]).toEqual([1, 0.9, 1.1]);
  });

  it("shows medians, spreads, and whether a goal is met", () => {
    const lines = figuresText({ ...NO_FIGURES, drains: [drain] }).split("\n");
    const found = (title: string) => lines.find((line) => line.startsWith(`| ${title}`));
    expect(found("time until all are Ready")).toBe(
      "| time until all are Ready, s | 10 (10 to 20) | 10 (9 to 22) | 1 (0.9 to 1.1) | at most 0.8: not met |",
    );
    expect(found("start to first remote call")).toContain("at most 0.4 s: not met");
    expect(found("peak memory")).toContain("at most 2: met");
  });

  it("has a column for each peer, and a ratio to the one in Mooring's language", () => {
    const rounds = { ...drain.rounds, "client-node": [18, 11, 20].map(round) };
    const text = figuresText({ ...NO_FIGURES, drains: [{ ...drain, rounds }] });
    expect(text).toContain("|  | controller-runtime | client-node | Mooring | ratio | ratio to client-node | goal |");
    expect(text).toContain(
      "| time until all are Ready, s | 10 (10 to 20) | 18 (11 to 20) | 10 (9 to 22) | 1 (0.9 to 1.1) | 0.5 (0.5 to 2) | at most 0.8: not met; ratio to client-node: at most 0.9: met |",
    );
    expect(text).toContain(
      "| start to first remote call, s | 0.5 (0.5 to 0.5) | 0.5 (0.5 to 0.5) | 0.5 (0.5 to 0.5) |  |  | at most 0.4 s: not met |",
    );
    expect(text).toContain("| duplicate creates | 0 | 0 | 0 |  |  | 0: met |");
  });

  it("shows the ratio of the bare program, and the goals that it does not reach either", () => {
    const rounds = { ...drain.rounds, "client-node": [18, 40, 36].map(round), bare: [9, 10, 9].map(round) };
    const text = figuresText({ ...NO_FIGURES, drains: [{ ...drain, rounds }] });
    expect(text).toContain(
      "|  | controller-runtime | client-node | bare | Mooring | ratio | ratio to client-node | ratio of bare | goal |",
    );
    expect(text).toContain("| 0.9 (0.5 to 0.9) | at most 0.8: not met; ratio to client-node: at most 0.9: met |");
    expect(text).toContain(
      "\nThe bare program does not reach every goal either: time until all are Ready (0.9, goal 0.8), API server's CPU (1, goal 0.8), ratio to client-node of API server's CPU (1, goal 0.9), ratio to client-node of peak memory (1, goal 0.9), start to first remote call (0.5, goal 0.4).\n",
    );
  });

  it("says when there was one round", () => {
    const rounds = { "controller-runtime": [round(10)], Mooring: [round(9)] };
    const text = figuresText({ ...NO_FIGURES, drains: [{ ...drain, rounds }] });
    expect(text).toContain("\nOne round in alternation. A ratio");
  });

  it("shows a peer that failed, and why, without figures and ratio", () => {
    const rounds = { ...drain.rounds, "kube-rs": [5, 4, 5].map(round) };
    const failures = { "client-node": "98 of 2000 objects are Ready", kopf: "3 duplicate creates" };
    const text = figuresText({ ...NO_FIGURES, drains: [{ ...drain, rounds, failures }] });
    expect(text).toContain("|  | controller-runtime | client-node | kube-rs | kopf | Mooring | ratio | goal |");
    expect(text).toContain(
      "| CPU, ms per object | 2 (2 to 4) | failed | 1 (0.8 to 1) | failed | 2 (1.8 to 4.4) | 1 (0.9 to 1.1) | at most 1: met |",
    );
    expect(text).toContain(
      "\nclient-node failed: 98 of 2000 objects are Ready.\n\nkopf failed: 3 duplicate creates.\n",
    );
  });

  it("has the same plot with and without other peers: its ratios are to controller-runtime", () => {
    const rounds = { ...drain.rounds, "client-node": [18, 11, 20].map(round) };
    const plotsWith = (one: Drain) => plotsOf({ ...NO_FIGURES, drains: [one] });
    expect(plotsWith({ ...drain, rounds })).toEqual(plotsWith(drain));
  });
});

it("a profile shows the areas of the main thread's time, the largest first, with their shares and those of bare", () => {
  const areas = [
    { area: "undici: HTTP client", mooring: 0.5, bare: 0.25 },
    { area: "garbage collection", mooring: 1.5, bare: 0 },
  ];
  const text = figuresText({ ...NO_FIGURES, profiles: [{ machine, objects: 2_000, areas }] });
  expect(text).toContain(
    "| garbage collection | 1.5 | 75.0 % | 0 |\n| undici: HTTP client | 0.5 | 25.0 % | 0.25 |\n| all | 2 |  | 0.25 |",
  );
});

it("a new measurement replaces the one of the same size, and sizes are in order", () => {
  const larger = { ...drain, objects: 10_000 };
  const again = { ...drain, machine: { ...machine, load: 9 } };
  const all = [larger, drain, again].reduce(withDrain, NO_FIGURES);
  expect(all.drains).toEqual([again, larger]);
  const [point] = figures.scale;
  if (point === undefined) throw new Error("bench/figures.json has no scale measurement");
  const small = { ...point, endpoints: 1 };
  expect(withScalePoint(withScalePoint(NO_FIGURES, point), small).scale).toEqual([small, point]);
});

it("the median of an even number of values is the upper one", () => {
  expect(spreadOf([4, 1, 3, 2])).toEqual({ median: 3, low: 1, high: 4 });
});
