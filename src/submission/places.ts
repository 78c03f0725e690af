import type { Operation } from "../provider/operations.ts";

/**
 * How far a job with a place is: its request has not begun, waits for the rate limit, waits until its artifact is open (for memory
 * that all accounts share), was sent and the status does not show its outcome, or the status shows its task. Only from `Sent` on can it
 * cost something.
 */
export type Stage = "Admitted" | "Unsent" | "Opening" | "Sent" | "InFlight";

/** The jobs of one account that have a place, by UID, counted by stage and by operation. */
export type Places = {
  /** Gives the job a place, or notes that it asked again. `askedAt`: monotonic ms. */
  admit(uid: string, operation: Operation, askedAt: number): void;
  /** The place of a job whose status shows a task. */
  running(uid: string, operation: Operation): void;
  /** Moves the place to the next stage; without a place nothing happens. */
  advance(uid: string, stage: Stage): void;
  /** The place that the job had; undefined: none. */
  remove(uid: string): { operation: Operation; stage: Stage } | undefined;
  stageOf(uid: string): Stage | undefined;
  /** Jobs whose request has not begun and that asked last before `time`. */
  admittedBefore(time: number): string[];
  count(stage: Stage): number;
  /** Places by operation; an operation without a place is not there. */
  operations(): ReadonlyMap<Operation, number>;
  size(): number;
};

export function createPlaces(): Places {
  const places = new Map<string, { operation: Operation; stage: Stage }>();
  const stages: Record<Stage, number> = { Admitted: 0, Unsent: 0, Opening: 0, Sent: 0, InFlight: 0 };
  const operations = new Map<Operation, number>();
  /** When each job in stage Admitted asked last. */
  const askedAt = new Map<string, number>();

  function set(uid: string, operation: Operation, stage: Stage): void {
    remove(uid);
    places.set(uid, { operation, stage });
    stages[stage]++;
    operations.set(operation, (operations.get(operation) ?? 0) + 1);
  }

  function remove(uid: string) {
    const place = places.get(uid);
    if (place === undefined) return undefined;
    const { operation, stage } = place;
    places.delete(uid);
    askedAt.delete(uid);
    stages[stage]--;
    const others = (operations.get(operation) ?? 0) - 1;
    if (others > 0) operations.set(operation, others);
    else operations.delete(operation);
    return place;
  }

  return {
    admit(uid, operation, asked) {
      set(uid, operation, "Admitted");
      askedAt.set(uid, asked);
    },
    running: (uid, operation) => set(uid, operation, "InFlight"),
    advance(uid, stage) {
      const place = places.get(uid);
      if (place !== undefined) set(uid, place.operation, stage);
    },
    remove,
    stageOf: (uid) => places.get(uid)?.stage,
    admittedBefore: (time) => [...askedAt].flatMap(([uid, at]) => (at < time ? [uid] : [])),
    count: (stage) => stages[stage],
    operations: () => operations,
    size: () => places.size,
  };
}
