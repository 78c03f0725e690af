import { plainText } from "../base/sanitizer.ts";

export type Attributes = Readonly<Record<string, string | number>>;

/** A span that has ended. Times are ms since the epoch, IDs are in hex. */
export type Span = {
  name: string;
  traceID: string;
  spanID: string;
  parentSpanID: string | undefined;
  startMs: number;
  endMs: number;
  attributes: Attributes;
  /** Why it failed: a reason of a condition. Undefined: it did not fail. */
  failure?: string | undefined;
};

/** Takes the spans of whole traces. Never waits, and never fails the caller. */
export type SpanSink = { export(trace: readonly Span[]): void };

/** Longest text of an attribute, in characters. */
const TEXT_LIMIT = 512;

/** The attributes that have a value. Texts are sanitized. */
export function attributesOf(values: Readonly<Record<string, string | number | undefined>>): Attributes {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => {
      if (value === undefined || value === "") return [];
      return [[name, typeof value === "string" ? plainText(value, TEXT_LIMIT) : value]];
    }),
  );
}
