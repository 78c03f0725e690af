import { describe, expect, it } from "vitest";
import type { GpuEndpointStatus } from "../../../src/api/v1alpha1/gpu-endpoint.ts";
import type { JobStatus } from "../../../src/controllers/jobs/types.ts";
import type { Span } from "../../../src/tracing/span.ts";
import { endpointTraces, jobTraces } from "../../../src/tracing/trace-source.ts";
import { createTracer, REPEAT_MS } from "../../../src/tracing/tracer.ts";
import { endpointOf } from "../../support/endpoints.ts";
import { START } from "../../support/fake-clock.ts";
import { speechJobOf } from "../../support/jobs.ts";

const at = (ms: number) => new Date(START + ms).toISOString();
const jobs = jobTraces<ReturnType<typeof speechJobOf>>("SpeechJob", () => ({}));

function world({ broken = false } = {}) {
  const traces: (readonly Span[])[] = [];
  const events: string[] = [];
  const errors: unknown[] = [];
  const tracer = createTracer({
    sink: {
      export(trace) {
        if (broken) throw new Error("broken");
        traces.push(trace);
      },
    },
    clock: { now: () => START },
    recorder: { warning: (_object, reason, _action, note) => void events.push(`${reason}: ${note}`) },
    log: { error: (...values: unknown[]) => void errors.push(values) },
  });
  return {
    tracer,
    traces,
    events,
    errors,
    outcomes: () => traces.map(([root]) => root?.attributes["mooring.outcome"]),
  };
}

function job(phase: JobStatus["phase"], endedMs = 0, traceparent?: string) {
  const timeline = [{ phase: phase ?? "Pending", attempt: 1, time: at(endedMs) }];
  const one = speechJobOf("hd", {}, { conditions: [], ...(phase && { phase }), timeline });
  const annotations = traceparent === undefined ? {} : { "mooring.dev/traceparent": traceparent };
  return { ...one, metadata: { ...one.metadata, annotations } };
}

describe("the trace of a job is exported", () => {
  it("once, by the process that writes its end", () => {
    const { tracer, outcomes } = world();
    tracer.written(jobs, job("Running"), job("Storing"));
    tracer.written(jobs, job("Storing"), job("Succeeded"));
    tracer.written(jobs, job("Succeeded"), job("Succeeded"));
    expect(outcomes()).toEqual(["Succeeded"]);
  });

  it("again by a process that starts soon after its end, and by no later one", () => {
    const { tracer, outcomes } = world();
    tracer.listed(jobs, job("Succeeded", -REPEAT_MS + 1000));
    tracer.listed(jobs, job("Failed", -REPEAT_MS - 1000));
    tracer.listed(jobs, job("Running", -1000));
    expect(outcomes()).toEqual(["Succeeded"]);
  });

  it("when an unfinished job is deleted, and not when a finished one is", () => {
    const { tracer, outcomes } = world();
    tracer.deleted(jobs, job("Running", -1000));
    tracer.deleted(jobs, job("Succeeded", -1000));
    expect(outcomes()).toEqual(["Deleted"]);
  });

  it("as a part of the trace that the annotation names, unless that one is not sampled", () => {
    const { tracer, traces, events } = world();
    const traceparent = (flags: string) => `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-${flags}`;
    tracer.written(jobs, job("Running"), job("Succeeded", 0, traceparent("01")));
    tracer.written(jobs, job("Running"), job("Succeeded", 0, traceparent("00")));
    expect(traces.map(([root]) => root)).toMatchObject([
      { traceID: "4bf92f3577b34da6a3ce929d0e0e4736", parentSpanID: "00f067aa0ba902b7" },
    ]);
    expect(events).toEqual([]);
  });

  it("without a parent and with an event of bounded length when the annotation is not valid", () => {
    const { tracer, traces, events } = world();
    const long = `\u202e${"x".repeat(10_000)}`;
    tracer.written(jobs, job("Running"), job("Succeeded", 0, long));
    expect(traces[0]?.[0]?.parentSpanID).toBeUndefined();
    expect(events).toHaveLength(1);
    expect(events[0]).toMatch(/^InvalidTraceparent: The annotation mooring\.dev\/traceparent is "x{79}…"/);
    expect(events[0]?.length).toBeLessThan(320);
  });

  it("or, if that fails, logged: the reconcile goes on", () => {
    const { tracer, errors } = world({ broken: true });
    tracer.written(jobs, job("Running"), job("Succeeded"));
    expect(errors).toEqual([[{ key: "team/sea", reason: "Error: broken" }, "a trace was not made"]]);
  });
});

describe("the trace of a change is exported", () => {
  const endpoint = (lastChange?: GpuEndpointStatus["lastChange"]) =>
    endpointOf({}, { status: { conditions: [], ...(lastChange && { lastChange }) } });
  const observed = (generation: number) => ({ generation, observedTime: at(-5000 + generation) });
  const ready = (generation: number) => ({ ...observed(generation), syncedTime: at(-500), readyTime: at(-400) });

  it("once, when the endpoint is ready with it", () => {
    const { tracer, outcomes } = world();
    tracer.written(endpointTraces, endpoint(), endpoint(observed(2)));
    tracer.written(endpointTraces, endpoint(observed(2)), endpoint(ready(2)));
    tracer.written(endpointTraces, endpoint(ready(2)), endpoint(ready(2)));
    tracer.written(endpointTraces, endpoint(ready(2)), endpoint(observed(3)));
    expect(outcomes()).toEqual(["Ready"]);
  });

  it("when a later change replaces it", () => {
    const { tracer, traces, outcomes } = world();
    tracer.written(endpointTraces, endpoint(observed(2)), endpoint(observed(3)));
    tracer.written(endpointTraces, endpoint(observed(3)), endpoint(ready(4)));
    expect(outcomes()).toEqual(["Superseded", "Superseded", "Ready"]);
    expect(new Set(traces.map(([root]) => root?.traceID)).size).toBe(3);
  });

  it("when the endpoint is deleted before it is ready", () => {
    const { tracer, outcomes } = world();
    tracer.deleted(endpointTraces, endpoint(observed(2)));
    tracer.deleted(endpointTraces, endpoint(ready(2)));
    tracer.deleted(endpointTraces, endpoint());
    expect(outcomes()).toEqual(["Deleted"]);
  });
});
