import { expect } from "vitest";
import type { Span } from "../../src/tracing/span.ts";

/** A trace as lines: depth, name, times from `originMs` in ms, and what is wrong with it. Children follow their parent, in time. */
export function treeOf(spans: readonly Span[], originMs: number): string[] {
  const ids = new Set(spans.map(({ spanID }) => spanID));
  const roots = spans.filter(({ parentSpanID }) => parentSpanID === undefined || !ids.has(parentSpanID));
  const lines = (span: Span, depth: number): string[] => {
    const children = spans.filter(({ parentSpanID }) => parentSpanID === span.spanID);
    const failure = span.failure === undefined ? "" : ` !${span.failure}`;
    const line = `${"  ".repeat(depth)}${span.name} ${span.startMs - originMs}-${span.endMs - originMs}${failure}`;
    const sorted = [...children].sort((a, b) => a.startMs - b.startMs || a.endMs - b.endMs);
    return [line, ...sorted.flatMap((child) => lines(child, depth + 1))];
  };
  return roots.flatMap((root) => lines(root, 0));
}

/** What every trace has: one trace ID, one root, distinct IDs, and children that cover their parent without a gap. */
export function expectWellFormed(spans: readonly Span[]): void {
  const ids = new Set(spans.map(({ spanID }) => spanID));
  expect(ids.size).toBe(spans.length);
  for (const id of ids) expect(id).toMatch(/^(?!0{16})[0-9a-f]{16}$/);
  expect(new Set(spans.map(({ traceID }) => traceID)).size).toBe(1);
  expect(spans.filter(({ parentSpanID }) => parentSpanID === undefined || !ids.has(parentSpanID))).toEqual([spans[0]]);
  for (const span of spans) {
    expect(span.startMs).toBeLessThanOrEqual(span.endMs);
    const children = spans
      .filter(({ parentSpanID }) => parentSpanID === span.spanID)
      .sort((a, b) => a.startMs - b.startMs || a.endMs - b.endMs);
    if (children.length === 0) continue;
    const ends = [span.startMs, ...children.map(({ endMs }) => endMs)];
    expect(children.map(({ startMs }) => startMs)).toEqual(ends.slice(0, -1));
    expect(ends.at(-1)).toBe(span.endMs);
  }
}
