import type { KubeObject } from "../kube/types.ts";
import type { Informer } from "./informer.ts";
import { type Change, keyOf } from "./store.ts";

/** Which keys a change of another object concerns. */
export type Mapper<T extends KubeObject> = (object: T) => Iterable<string>;

/**
 * Enqueues what a change of another kind concerns (controller-runtime's `Watches`). A change counts for what the object
 * said before and for what it says now, so that a reference that was taken away is followed too.
 */
export function watch<T extends KubeObject>(
  informer: Pick<Informer<T>, "onChange">,
  mapper: Mapper<T>,
  enqueue: (key: string) => void,
): void {
  informer.onChange((change) => {
    for (const key of new Set(versionsOf(change).flatMap((object) => [...mapper(object)]))) enqueue(key);
  });
}

function versionsOf<T extends KubeObject>(change: Change<T>): T[] {
  return change.type === "Modified" ? [change.previous, change.object] : [change.object];
}

/** Maps an object to the controller that owns it (controller-runtime's `Owns`). */
export function ownerMapper(ownerKind: string): Mapper<KubeObject> {
  return (object) =>
    (object.metadata.ownerReferences ?? [])
      .filter((owner) => owner.controller === true && owner.kind === ownerKind)
      .map((owner) => keyOf({ metadata: { ...object.metadata, name: owner.name }, spec: undefined }));
}
