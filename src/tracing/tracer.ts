import type { Logger } from "pino";
import { ANNOTATIONS } from "../api/v1alpha1/meta.ts";
import type { Clock } from "../base/clock.ts";
import { plainText } from "../base/sanitizer.ts";
import { type KubeObject, keyOf } from "../kube/types.ts";
import type { EventRecorder } from "../runtime/recorder.ts";
import type { SpanSink } from "./span.ts";
import { parentOf, traceparentOf } from "./trace-context.ts";
import type { EndedTrace, TraceSource } from "./trace-source.ts";

/**
 * Hands each trace to the sink once it has ended.
 *
 * # Guarantees
 * - A trace is exported when this process writes the status that ends it. The process remembers nothing else: the object has all times.
 * - A process that ends between that write and the export loses no trace if its accounts are served again within `REPEAT_MS`: the traces that
 *   ended in that time before the first list of their new server are exported again, with the same IDs.
 * - Nothing here waits or throws.
 */
export type Tracer = {
  /** The status was written. */
  written<T extends KubeObject>(source: TraceSource<T>, before: T, after: T): void;
  /** The object is in the first list that this process has of its account's objects. */
  listed<T extends KubeObject>(source: TraceSource<T>, object: T): void;
  /** The object is gone. */
  deleted<T extends KubeObject>(source: TraceSource<T>, object: T): void;
};

/** How long after its end a trace is exported again by a process that starts. */
export const REPEAT_MS = 10 * 60_000;
/** Characters of an invalid annotation that an event shows. */
const SHOWN = 80;

export type TracerOptions = {
  sink: SpanSink;
  clock: Pick<Clock, "now">;
  recorder: Pick<EventRecorder, "warning">;
  log: Pick<Logger, "error">;
};

export function createTracer({ sink, clock, recorder, log }: TracerOptions): Tracer {
  /** The parent decides whether its trace is recorded. */
  function emit({ object, spans }: EndedTrace): void {
    if (parentOf(object)?.sampled !== false) sink.export(spans);
  }

  /** A defect in a trace must not fail the reconcile of its object. */
  function guarded(object: KubeObject, run: () => void): void {
    try {
      run();
    } catch (error) {
      log.error({ key: keyOf(object), reason: String(error) }, "a trace was not made");
    }
  }

  return {
    written(source, before, after) {
      guarded(after, () => {
        for (const trace of source.endedBy(before, after)) {
          warnOfTraceparent(recorder, trace.object);
          emit(trace);
        }
      });
    },
    listed(source, object) {
      guarded(object, () => {
        const trace = source.last(object);
        if (trace !== undefined && trace.endMs > clock.now() - REPEAT_MS) emit(trace);
      });
    },
    deleted(source, object) {
      guarded(object, () => {
        const trace = source.cutOff(object, clock.now());
        if (trace !== undefined) emit(trace);
      });
    },
  };
}

/** Called once per trace. */
function warnOfTraceparent(recorder: TracerOptions["recorder"], object: KubeObject): void {
  const value = traceparentOf(object);
  if (value === undefined || parentOf(object) !== undefined) return;
  const shown = plainText(value, SHOWN);
  const note = `The annotation ${ANNOTATIONS.traceparent} is "${shown}", which is no traceparent of W3C Trace Context (00-TRACE_ID-PARENT_ID-FLAGS, in lower-case hex): the trace has no parent`;
  recorder.warning(object, "InvalidTraceparent", "Trace", note);
}
