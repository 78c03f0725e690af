import { useEffect, useRef } from "preact/hooks";
import UPlot from "uplot";
import { colorOf, useColorScheme } from "../color-scheme.ts";
import { type Bar, Numbers } from "./numbers.tsx";

type Props = {
  title: string;
  /** Names of the values of each bar. */
  series: readonly string[];
  bars: readonly Bar[];
};

const HEIGHT = 180;
const COLORS = ["--accent", "--warn", "--good"];

/** Bars with the same numbers as a table, for screen readers and for who wants exact values. In yuan. */
export function Plot({ title, series, bars }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const scheme = useColorScheme();
  useEffect(() => {
    if (container.current === null || bars.length === 0) return;
    const plot = createPlot(container.current, series, bars);
    const resized = new ResizeObserver(([entry]) => {
      if (entry !== undefined) plot.setSize({ width: entry.contentRect.width, height: HEIGHT });
    });
    resized.observe(container.current);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
  }, [JSON.stringify(bars), scheme]);
  return (
    <figure class="plot">
      <figcaption>{title}</figcaption>
      <div ref={container} class="canvas" aria-hidden="true" />
      <Numbers title={title} item="Item" series={series} bars={bars} />
    </figure>
  );
}

/** How far apart the bars of one group are; the groups are 1 apart. */
const STEP = 0.35;

function createPlot(container: HTMLElement, series: readonly string[], bars: readonly Bar[]): UPlot {
  const line = { stroke: colorOf("--line"), width: 1 };
  const axis = { stroke: colorOf("--text"), ticks: line };
  const placeOf = (bar: number, one: number) => bar + (one - (series.length - 1) / 2) * STEP;
  // Every bar has a place of its own, at which the other series have no value.
  const places = bars.flatMap((bar, index) => bar.values.map((value, one) => ({ x: placeOf(index, one), one, value })));
  const paths = UPlot.paths.bars?.({ size: [0.8, 64] });
  return new UPlot(
    {
      width: container.clientWidth || 480,
      height: HEIGHT,
      legend: { show: series.length > 1, live: false },
      cursor: { show: false },
      scales: {
        x: { time: false, range: () => [-0.6, bars.length - 0.4] },
        y: { range: (_, __, max) => [0, Math.max(max, 0.0001) * 1.1] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          splits: bars.map((_, index) => index),
          values: bars.map(({ label }) => cut(label)),
        },
        { ...axis, grid: line, size: 70, values: (_, splits) => splits.map((value) => value.toLocaleString()) },
      ],
      series: [
        {},
        ...series.map((label, index) => ({
          label,
          stroke: colorOf(COLORS[index % COLORS.length] ?? "--accent"),
          fill: colorOf(COLORS[index % COLORS.length] ?? "--accent"),
          points: { show: false },
          ...(paths === undefined ? {} : { paths }),
        })),
      ],
    },
    [
      places.map(({ x }) => x),
      ...series.map((_, index) => places.map(({ one, value }) => (one === index ? (value ?? null) : null))),
    ],
    container,
  );
}

const LABEL_LENGTH = 16;

function cut(label: string): string {
  return label.length <= LABEL_LENGTH ? label : `${label.slice(0, LABEL_LENGTH - 1)}…`;
}
