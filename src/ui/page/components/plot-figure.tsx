import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import UPlot from "uplot";
import { colorOf, useColorScheme } from "../color-scheme.ts";

type PlotFigureProps = {
  title: string;
  /** Drawn again when it changes. Empty: nothing is drawn. */
  data: readonly unknown[];
  draw: (container: HTMLElement) => UPlot;
  /** The same numbers as a table, for screen readers and for users who want exact values. */
  children: ComponentChildren;
};

export const PLOT_HEIGHT = 180;

/** A plot that follows the width of the page and the color scheme. */
export function PlotFigure({ title, data, draw, children }: PlotFigureProps) {
  const container = useRef<HTMLDivElement>(null);
  const scheme = useColorScheme();
  useEffect(() => {
    if (container.current === null || data.length === 0) return;
    const plot = draw(container.current);
    const resized = new ResizeObserver(([entry]) => {
      if (entry !== undefined) plot.setSize({ width: entry.contentRect.width, height: PLOT_HEIGHT });
    });
    resized.observe(container.current);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
  }, [JSON.stringify(data), scheme]);
  return (
    <figure class="plot">
      <figcaption>{title}</figcaption>
      <div ref={container} class="canvas" aria-hidden="true" />
      {children}
    </figure>
  );
}

/** What all plots share, in the present color scheme. `amounts`: the axis of the amounts. */
export function plotAxes(): { axis: UPlot.Axis; amounts: UPlot.Axis } {
  const line = { stroke: colorOf("--line"), width: 1 };
  const axis = { stroke: colorOf("--text"), ticks: line };
  const values = (_: UPlot, splits: number[]) => splits.map((value) => value.toLocaleString());
  return { axis, amounts: { ...axis, grid: line, size: 70, values } };
}

/** From 0 to above the largest amount. */
export const AMOUNT_SCALE: UPlot.Scale = { range: (_, __, max) => [0, Math.max(max, 0.0001) * 1.1] };

/** A series of bars. `size`: as uPlot takes it, the share of the space and the most pixels. */
export function barSeries(label: string, color: string, size: [number, number]): UPlot.Series {
  const paths = UPlot.paths.bars?.({ size });
  const drawn = { label, stroke: colorOf(color), fill: colorOf(color), points: { show: false } };
  return paths === undefined ? drawn : { ...drawn, paths };
}
