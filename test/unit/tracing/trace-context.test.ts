import { describe, expect, it } from "vitest";
import { parentOf, parseTraceparent, traceIdOf } from "../../../src/tracing/trace-context.ts";
import { endpointOf } from "../../support/endpoints.ts";
import { speechJobOf } from "../../support/jobs.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";

describe("a traceparent", () => {
  it.each([
    { name: "that is sampled", value: `00-${TRACE}-${PARENT}-01`, expected: true },
    { name: "that is not sampled", value: `00-${TRACE}-${PARENT}-00`, expected: false },
    { name: "with another flag", value: `00-${TRACE}-${PARENT}-03`, expected: true },
    { name: "of a later version with more fields", value: `cc-${TRACE}-${PARENT}-01-more`, expected: true },
  ])("$name is read", ({ value, expected }) => {
    expect(parseTraceparent(value)).toEqual({ traceID: TRACE, spanID: PARENT, sampled: expected });
  });

  it.each([
    { name: "empty", value: "" },
    { name: "without flags", value: `00-${TRACE}-${PARENT}` },
    { name: "in upper case", value: `00-${TRACE.toUpperCase()}-${PARENT}-01` },
    { name: "with a trace ID of zeros", value: `00-${"0".repeat(32)}-${PARENT}-01` },
    { name: "with a parent ID of zeros", value: `00-${TRACE}-${"0".repeat(16)}-01` },
    { name: "of the invalid version ff", value: `ff-${TRACE}-${PARENT}-01` },
    { name: "of version 00 with more fields", value: `00-${TRACE}-${PARENT}-01-more` },
    { name: "with a line break", value: `00-${TRACE}-${PARENT}-01\n` },
    { name: "that is very long", value: `00-${TRACE}-${PARENT}-01${"0".repeat(100_000)}` },
  ])("$name is not valid", ({ value }) => {
    expect(parseTraceparent(value)).toBeUndefined();
  });
});

describe("the trace ID of an object", () => {
  const annotated = (value: string) => {
    const job = speechJobOf("hd");
    return { ...job, metadata: { ...job.metadata, annotations: { "mooring.dev/traceparent": value } } };
  };

  it("is the same for every state of a job, and another one for another job", () => {
    const job = speechJobOf("hd");
    const later = speechJobOf("hd", {}, { conditions: [], phase: "Succeeded" });
    const other = { ...job, metadata: { ...job.metadata, uid: "bbbbbbbb-0000-0000-0000-000000000002" } };
    expect(traceIdOf(job)).toMatch(/^[0-9a-f]{32}$/);
    expect(traceIdOf(later)).toBe(traceIdOf(job));
    expect(traceIdOf(other)).not.toBe(traceIdOf(job));
  });

  it("differs between the changes of an endpoint", () => {
    const changed = (generation: number) =>
      endpointOf(
        {},
        { status: { conditions: [], lastChange: { generation, observedTime: "2026-03-01T00:00:00.000Z" } } },
      );
    expect(traceIdOf(changed(2))).toBe(traceIdOf(changed(2)));
    expect(traceIdOf(changed(3))).not.toBe(traceIdOf(changed(2)));
  });

  it("is that of the annotation", () => {
    const job = annotated(` 00-${TRACE}-${PARENT}-01 `);
    expect(traceIdOf(job)).toBe(TRACE);
    expect(parentOf(job)?.spanID).toBe(PARENT);
  });

  it("is not changed by an annotation that is not valid", () => {
    expect(traceIdOf(annotated("yes"))).toBe(traceIdOf(speechJobOf("hd")));
  });
});
