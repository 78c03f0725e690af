import UPlot from "uplot";
import { type Bar, Numbers } from "./numbers.tsx";
import { AMOUNT_SCALE, barSeries, PLOT_HEIGHT, PlotFigure, plotAxes } from "./plot-figure.tsx";

type PlotProps = {
  title: string;
  /** Names of the values of each bar. */
  series: readonly string[];
  bars: readonly Bar[];
};

const COLORS = ["--accent", "--warn", "--good"];

/** Bars with the same numbers as a table. In yuan. */
export function Plot({ title, series, bars }: PlotProps) {
  return (
    <PlotFigure title={title} data={bars} draw={(container) => createPlot(container, series, bars)}>
      <Numbers title={title} item="Item" series={series} bars={bars} />
    </PlotFigure>
  );
}

/** How far apart the bars of one group are; the groups are 1 apart. */
const STEP = 0.35;

function createPlot(container: HTMLElement, series: readonly string[], bars: readonly Bar[]): UPlot {
  const { axis, amounts } = plotAxes();
  const placeOf = (bar: number, one: number) => bar + (one - (series.length - 1) / 2) * STEP;
  // Every bar has a place of its own, at which the other series have no value.
  const places = bars.flatMap((bar, index) => bar.values.map((value, one) => ({ x: placeOf(index, one), one, value })));
  return new UPlot(
    {
      width: container.clientWidth || 480,
      height: PLOT_HEIGHT,
      legend: { show: series.length > 1, live: false },
      cursor: { show: false },
      scales: {
        x: { time: false, range: () => [-0.6, bars.length - 0.4] },
        y: AMOUNT_SCALE,
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          splits: bars.map((_, index) => index),
          values: bars.map(({ label }) => cut(label)),
        },
        amounts,
      ],
      series: [
        {},
        ...series.map((label, index) => barSeries(label, COLORS[index % COLORS.length] ?? "--accent", [0.8, 64])),
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
