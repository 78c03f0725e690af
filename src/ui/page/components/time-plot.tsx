import { useEffect, useRef } from "preact/hooks";
import UPlot from "uplot";
import type { Amount } from "../../view-types.ts";
import { colorOf, useColorScheme } from "../color-scheme.ts";
import { yuan } from "./bars.tsx";

/** Labels are days such as 2026-11-22, the first of each period, oldest first. */
type TimePlotProps = { title: string; amounts: readonly Amount[] };

const HEIGHT = 180;
const DAY = 86_400;
/** Pixels that a label of the time axis needs. */
const LABEL_WIDTH = 70;

/** Cost over time, with the same numbers as a table for screen readers and for who wants exact values. */
export function TimePlot({ title, amounts }: TimePlotProps) {
  const container = useRef<HTMLDivElement>(null);
  const scheme = useColorScheme();
  useEffect(() => {
    const element = container.current;
    if (element === null || amounts.length === 0) return;
    const plot = draw(element, amounts);
    const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
  }, [JSON.stringify(amounts), scheme]);
  return (
    <figure class="plot">
      <figcaption>{title}</figcaption>
      <div ref={container} class="canvas" aria-hidden="true" />
      <details>
        <summary>Numbers of: {title}</summary>
        <table aria-label={title}>
          <tbody>
            {amounts.map(({ label, amount }) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                <td>{yuan(amount)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}

function draw(container: HTMLElement, amounts: readonly Amount[]): UPlot {
  const times = amounts.map(({ label }) => Date.parse(label) / 1000);
  const step = Math.min(
    ...times.slice(1).map((time, index) => time - (times[index] ?? 0)),
    times.length < 2 ? DAY : Infinity,
  );
  const line = { stroke: colorOf("--line"), width: 1 };
  const axis = { stroke: colorOf("--quiet"), ticks: line };
  const paths = UPlot.paths.bars?.({ size: [0.7, 48] });
  const bars = { stroke: colorOf("--accent"), fill: colorOf("--accent"), points: { show: false } };
  return new UPlot(
    {
      width: container.clientWidth || 480,
      height: HEIGHT,
      // A date is that of the bills' time zone, not of the browser's.
      tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1000), "UTC"),
      legend: { show: false },
      cursor: { show: false },
      scales: {
        // From half a period before the first to half a period after the last: one day is one day wide.
        x: { range: () => [(times[0] ?? 0) - step / 2, (times.at(-1) ?? 0) + step / 2] },
        y: { range: (_, __, max) => [0, Math.max(max, 0.0001) * 1.1] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          splits: (plot) => labelled(times, plot.width),
          values: (_, splits) => splits.map(dayOf),
        },
        { ...axis, grid: line, size: 70, values: (_, splits) => splits.map((value) => yuan(value)) },
      ],
      series: [{}, paths === undefined ? bars : { ...bars, paths }],
    },
    [times, amounts.map(({ amount }) => amount)],
    container,
  );
}

/** As many of the periods as have room for their labels. */
function labelled(times: readonly number[], width: number): number[] {
  const every = Math.max(1, Math.ceil((times.length * LABEL_WIDTH) / Math.max(1, width - LABEL_WIDTH)));
  return times.filter((_, index) => index % every === 0);
}

function dayOf(seconds: number): string {
  return new Date(seconds * 1000).toLocaleDateString(undefined, { timeZone: "UTC", month: "short", day: "numeric" });
}
