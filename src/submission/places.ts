import { createMultiMap } from "../base/multi-map.ts";
import type { Operation } from "../provider/operations.ts";
import type { Work } from "./work.ts";

/**
 * How far a job with a place is: its request has not begun, waits for the rate limit, waits until its artifact is open (for memory
 * that all accounts share), was sent and the status does not show its outcome, or the status shows its task. Only from `Sent` on can it
 * cost something.
 */
export type Stage = "Admitted" | "Unsent" | "Opening" | "Sent" | "InFlight";

export type Place = { work: Work; stage: Stage };

/** The jobs of one account that have a place, by UID, counted by stage, by operation and by namespace. */
export type Places = {
  /** Gives the job a place, or notes that it asked again. `askedAt`: monotonic ms. */
  admit(work: Work, askedAt: number): void;
  /** The place of a job whose status shows a task. */
  running(work: Work): void;
  /** Moves the place to the next stage; without a place nothing happens. */
  advance(uid: string, stage: Stage): void;
  /** The place that the job had; undefined: none. */
  remove(uid: string): Place | undefined;
  stageOf(uid: string): Stage | undefined;
  /** The places of a namespace. */
  of(namespace: string): Place[];
  /** Jobs whose request has not begun and that asked last before `time`. */
  admittedBefore(time: number): string[];
  count(stage: Stage): number;
  /** Places by operation; an operation without a place is not there. */
  operations(): ReadonlyMap<Operation, number>;
  size(): number;
};

export function createPlaces(): Places {
  const places = new Map<string, Place>();
  const stages: Record<Stage, number> = { Admitted: 0, Unsent: 0, Opening: 0, Sent: 0, InFlight: 0 };
  const operations = new Map<Operation, number>();
  /** UIDs by namespace. */
  const namespaces = createMultiMap<string>();
  /** When each job in stage Admitted asked last. */
  const askedAt = new Map<string, number>();

  function set(work: Work, stage: Stage): void {
    const { uid, operation, namespace } = work;
    remove(uid);
    places.set(uid, { work, stage });
    stages[stage]++;
    operations.set(operation, (operations.get(operation) ?? 0) + 1);
    namespaces.add(namespace, uid);
  }

  function remove(uid: string) {
    const place = places.get(uid);
    if (place === undefined) return undefined;
    const { operation, namespace } = place.work;
    places.delete(uid);
    askedAt.delete(uid);
    stages[place.stage]--;
    const others = (operations.get(operation) ?? 0) - 1;
    if (others > 0) operations.set(operation, others);
    else operations.delete(operation);
    namespaces.remove(namespace, uid);
    return place;
  }

  return {
    admit(work, asked) {
      set(work, "Admitted");
      askedAt.set(work.uid, asked);
    },
    running: (work) => set(work, "InFlight"),
    advance(uid, stage) {
      const place = places.get(uid);
      if (place !== undefined) set(place.work, stage);
    },
    remove,
    stageOf: (uid) => places.get(uid)?.stage,
    of: (namespace) => [...namespaces.of(namespace)].flatMap((uid) => places.get(uid) ?? []),
    admittedBefore: (time) => [...askedAt].flatMap(([uid, at]) => (at < time ? [uid] : [])),
    count: (stage) => stages[stage],
    operations: () => operations,
    size: () => places.size,
  };
}
