import { useEffect, useRef } from "preact/hooks";
import UPlot from "uplot";
import type { Amount } from "../../view-types.ts";
import { colorOf, useColorScheme } from "../color-scheme.ts";
import { Numbers } from "./numbers.tsx";

/** `amounts`: in yuan; labels are days such as 2026-11-22, oldest first. */
type Props = { title: string; amounts: readonly Amount[] };

const HEIGHT = 180;
const DAY = 86_400;
const SERIES = ["Amount"];

/** Cost over time, with the same numbers as a table. */
export function TimePlot({ title, amounts }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const scheme = useColorScheme();
  useEffect(() => {
    if (container.current === null || amounts.length === 0) return;
    const plot = createTimePlot(container.current, amounts);
    const resized = new ResizeObserver(([entry]) => {
      if (entry !== undefined) plot.setSize({ width: entry.contentRect.width, height: HEIGHT });
    });
    resized.observe(container.current);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
  }, [JSON.stringify(amounts), scheme]);
  return (
    <figure class="plot">
      <figcaption>{title}</figcaption>
      <div ref={container} class="canvas" aria-hidden="true" />
      <Numbers
        title={title}
        item="From"
        series={SERIES}
        bars={amounts.map(({ label, amount }) => ({ label, values: [amount] }))}
      />
    </figure>
  );
}

function createTimePlot(container: HTMLElement, amounts: readonly Amount[]): UPlot {
  const line = { stroke: colorOf("--line"), width: 1 };
  const axis = { stroke: colorOf("--text"), ticks: line };
  const paths = UPlot.paths.bars?.({ size: [0.8, 48] });
  const times = amounts.map(({ label }) => Date.parse(label) / 1000);
  return new UPlot(
    {
      width: container.clientWidth || 480,
      height: HEIGHT,
      // A date is that of the bills' time zone, not of the browser's.
      tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1000), "UTC"),
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { range: (_, first, last) => [first - 0.6 * DAY, last + 0.6 * DAY] },
        y: { range: (_, __, max) => [0, Math.max(max, 0.0001) * 1.1] },
      },
      axes: [
        { ...axis, grid: { show: false }, space: 90, values: (_, splits) => splits.map(dayOf) },
        { ...axis, grid: line, size: 70, values: (_, splits) => splits.map((value) => value.toLocaleString()) },
      ],
      series: [
        {},
        {
          label: "Amount",
          stroke: colorOf("--accent"),
          fill: colorOf("--accent"),
          points: { show: false },
          ...(paths === undefined ? {} : { paths }),
        },
      ],
    },
    [times, amounts.map(({ amount }) => amount)],
    container,
  );
}

/** Nothing between two days: a label would be there twice. */
function dayOf(seconds: number): string {
  return seconds % DAY === 0 ? new Date(seconds * 1000).toISOString().slice(0, 10) : "";
}
