import TinyQueue from "tinyqueue";
import type { Clock } from "./clock.ts";

/** Items with a time. One timer runs, for the earliest of them. */
export type Schedule<T> = {
  /** `due`: monotonic ms. An item stays until its time has come: its owner ignores it when it is outdated. */
  add(item: T, due: number): void;
  /** From now on nothing becomes due. */
  stop(): void;
};

/** `onDue` gets all items whose time has come, the earliest first. */
export function createSchedule<T>(clock: Clock, onDue: (items: { item: T; due: number }[]) => void): Schedule<T> {
  const heap = new TinyQueue<{ item: T; due: number }>([], (a, b) => a.due - b.due);
  let cancelTimer = () => {};
  let timerDue = Number.POSITIVE_INFINITY;
  let stopped = false;

  function arm(): void {
    const first = heap.peek();
    if (stopped || first === undefined || first.due >= timerDue) return;
    cancelTimer();
    timerDue = first.due;
    cancelTimer = clock.setTimeout(wake, Math.max(0, first.due - clock.monotonic()));
  }

  function wake(): void {
    timerDue = Number.POSITIVE_INFINITY;
    const due: { item: T; due: number }[] = [];
    for (let first = heap.peek(); first !== undefined && first.due <= clock.monotonic(); first = heap.peek()) {
      heap.pop();
      due.push(first);
    }
    arm();
    onDue(due);
  }

  return {
    add(item, due) {
      heap.push({ item, due });
      arm();
    },
    stop() {
      stopped = true;
      cancelTimer();
    },
  };
}
