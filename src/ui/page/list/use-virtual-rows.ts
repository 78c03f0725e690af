import {
  observeWindowOffset,
  observeWindowRect,
  Virtualizer,
  type VirtualizerOptions,
  windowScroll,
} from "@tanstack/virtual-core";
import type { RefObject } from "preact";
import { useLayoutEffect, useReducer, useState } from "preact/hooks";

/** Rows that are rendered above and below what is visible. */
const OVERSCAN = 5;

type VirtualRows = Virtualizer<Window, HTMLElement>;
type Options = { count: number; rowHeight: number; container: RefObject<HTMLElement | null>; initialOffset: number };

/** The rows of a list that the window shows, and a few around them. The page scrolls, not a box in it. */
export function useVirtualRows({ count, rowHeight, container, initialOffset }: Options): VirtualRows {
  const [, render] = useReducer((renders: number) => renders + 1, 0);
  const options: VirtualizerOptions<Window, HTMLElement> = {
    count,
    estimateSize: () => rowHeight,
    getScrollElement: () => window,
    observeElementRect: observeWindowRect,
    observeElementOffset: observeWindowOffset,
    scrollToFn: windowScroll,
    scrollMargin: container.current?.offsetTop ?? 0,
    // The sticky heads above and the bar of the phone below.
    scrollPaddingStart: 96,
    scrollPaddingEnd: 80,
    overscan: OVERSCAN,
    initialOffset,
    onChange: () => render(undefined),
  };
  const [rows] = useState<VirtualRows>(() => new Virtualizer(options));
  rows.setOptions(options);
  useLayoutEffect(() => rows._didMount(), [rows]);
  useLayoutEffect(() => rows._willUpdate());
  useLayoutEffect(() => rows.measure(), [rows, rowHeight]);
  return rows;
}
