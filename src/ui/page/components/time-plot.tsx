import UPlot from "uplot";
import type { Amount } from "../../view-types.ts";
import { Numbers } from "./numbers.tsx";
import { AMOUNT_SCALE, barSeries, PLOT_HEIGHT, PlotFigure, plotAxes } from "./plot-figure.tsx";

/** `amounts`: in yuan; labels are days such as 2026-11-22, oldest first. */
type TimePlotProps = { title: string; amounts: readonly Amount[] };

const DAY = 86_400;
const SERIES = ["Amount"];

/** Cost over time, with the same numbers as a table. */
export function TimePlot({ title, amounts }: TimePlotProps) {
  return (
    <PlotFigure title={title} data={amounts} draw={(container) => createTimePlot(container, amounts)}>
      <Numbers
        title={title}
        item="From"
        series={SERIES}
        bars={amounts.map(({ label, amount }) => ({ label, values: [amount] }))}
      />
    </PlotFigure>
  );
}

function createTimePlot(container: HTMLElement, amounts: readonly Amount[]): UPlot {
  const { axis, amounts: amountAxis } = plotAxes();
  const times = amounts.map(({ label }) => Date.parse(label) / 1000);
  return new UPlot(
    {
      width: container.clientWidth || 480,
      height: PLOT_HEIGHT,
      // A date is that of the bills' time zone, not of the browser's.
      tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1000), "UTC"),
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { range: (_, first, last) => [first - 0.6 * DAY, last + 0.6 * DAY] },
        y: AMOUNT_SCALE,
      },
      axes: [{ ...axis, grid: { show: false }, space: 90, values: (_, splits) => splits.map(dayOf) }, amountAxis],
      series: [{}, barSeries("Amount", "--accent", [0.8, 48])],
    },
    [times, amounts.map(({ amount }) => amount)],
    container,
  );
}

/** Nothing between two days: a label would be there twice. */
function dayOf(seconds: number): string {
  return seconds % DAY === 0 ? new Date(seconds * 1000).toISOString().slice(0, 10) : "";
}
