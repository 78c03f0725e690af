import type { Kind } from "../controllers/controller-deps.ts";
import type { KubeObject } from "../kube/types.ts";
import type { Informer } from "../runtime/informer.ts";
import { isPartial } from "../runtime/shortened.ts";
import type { TraceSource } from "../tracing/trace-source.ts";
import type { Tracer } from "../tracing/tracer.ts";

/** The kind, with a trace for each write of a status that ends one. */
export function traced<T extends KubeObject>(kind: Kind<T>, source: TraceSource<T>, tracer: Tracer): Kind<T> {
  return {
    ...kind,
    async patchStatus(object, status, signal) {
      const written = await kind.patchStatus(object, status, signal);
      if (written !== object) tracer.written(source, object, written);
      return written;
    },
  };
}

/**
 * Traces of objects that are deleted, and of those that this process may have from now on: its former server may have ended before their
 * traces were exported.
 */
export function observeTraces<T extends KubeObject>(
  informer: Pick<Informer<T>, "onChange">,
  source: TraceSource<T>,
  tracer: Tracer,
): void {
  informer.onChange((change) => {
    if (isPartial(change.object)) return; // of another process
    if (change.type === "Added" && change.initial) tracer.listed(source, change.object);
    if (change.type === "Modified" && isPartial(change.previous)) tracer.listed(source, change.object);
    if (change.type === "Deleted") tracer.deleted(source, change.object);
  });
}
