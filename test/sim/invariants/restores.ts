import type { CoreRequest } from "../../../src/simulator/core.ts";
import { createsSomething, serialIn } from "../scenario/manifests.ts";
import type { Judge } from "./violation.ts";

/** Judges what is sent after etcd was restored, and before a user confirms it. */
export type Restores = {
  /** `before`, `after`: serials of the objects that the cluster had before and has after the restore. */
  restored(before: readonly number[], after: readonly number[]): void;
  confirmed(): void;
  /** The first byte of a request leaves. */
  sent(request: CoreRequest): void;
  /** Whether a restore has taken the object out of the cluster, or put it back: its endpoints at the service are what they were. */
  hasMoved(serial: number): boolean;
};

/** A request whose intent was stored before the restore can leave after it. */
const UNDER_WAY_MS = 2_000;

export function createRestores(now: () => number, judge: Judge): Restores {
  const held = new Set<number>();
  const moved = new Set<number>();
  let since = 0;
  return {
    restored(before, after) {
      since = now();
      for (const serial of after) held.add(serial);
      for (const serial of [...before, ...after]) {
        if (before.includes(serial) !== after.includes(serial)) moved.add(serial);
      }
    },
    confirmed: () => held.clear(),
    sent(request) {
      if (!createsSomething(request)) return;
      const { path, body } = request;
      const serial = serialIn(JSON.stringify(body));
      if (serial === undefined || !held.has(serial) || now() - since < UNDER_WAY_MS) return;
      judge.violated(
        "RestoreConfirmed",
        `${path} is sent for object ${serial}, which is older than the restore of etcd`,
      );
    },
    hasMoved: (serial) => moved.has(serial),
  };
}
