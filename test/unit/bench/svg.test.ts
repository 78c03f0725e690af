import { describe, expect, it } from "vitest";
import { barChart, curveChart } from "../../../bench/svg.ts";

const attribute = (svg: string, pattern: RegExp) => [...svg.matchAll(pattern)].map(([, value]) => Number(value));

describe("curves", () => {
  it("have a point for each value, and decades of the same length", () => {
    const points = [1_000, 10_000, 100_000].map((x) => ({ x, y: x / 100 }));
    const svg = curveChart("Time", "endpoints", [{ name: "start", points }]);
    const [first = 0, second = 0, third = 0] = attribute(svg, /<circle cx="([\d.]+)"/g);
    expect(second - first).toBeCloseTo(third - second, 1);
    expect(svg).toContain(">100,000<");
    expect(svg).toContain(">start<");
  });

  it("leave out values that are not positive, and are empty without any", () => {
    const svg = curveChart("Time", "x", [{ name: "none", points: [{ x: 1, y: 0 }] }]);
    expect(svg).not.toContain("<circle");
    expect(svg).not.toContain("NaN");
  });
});

describe("bars", () => {
  const svg = barChart("A < B", [{ title: "2,000", bars: [{ name: "CPU", value: 0.5, low: 0.4, high: 2 }] }]);

  it("are as long as their value, and the line of the spread is as long as the spread", () => {
    const [width = 0] = attribute(svg, /<rect x="230" [^>]*width="([\d.]+)"/g);
    const [from = 0] = attribute(svg, /<line x1="([\d.]+)"/g);
    const [to = 0] = attribute(svg, /x2="([\d.]+)"/g);
    expect((to - from) / width).toBeCloseTo((2 - 0.4) / 0.5, 1);
  });

  it("escape texts", () => {
    expect(svg).toContain("<title>A &#60; B</title>");
  });
});
