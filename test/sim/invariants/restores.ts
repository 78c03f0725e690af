import type { CoreRequest } from "../../../src/simulator/core.ts";
import { createsSomething, serialIn } from "../scenario/manifests.ts";
import type { Judge } from "./violation.ts";

/** Judges what is sent after etcd was restored, and before a user confirms it. */
export type Restores = {
  /** `before`, `after`: the objects that the cluster had before and has after the restore, by serial, with the ID of their record. */
  restored(before: ReadonlyMap<number, string | undefined>, after: ReadonlyMap<number, string | undefined>): void;
  confirmed(): void;
  /** The first byte of a request leaves. */
  sent(request: CoreRequest): void;
  /**
   * Whether nothing in the cluster or in a process can know of the object's endpoints: a restore has taken the object out of the cluster, or
   * put it back, or has taken the record of a create whose sender has ended since.
   */
  hasLost(serial: number): boolean;
};

/** A request whose intent was stored before the restore can leave after it. */
const UNDER_WAY_MS = 2_000;

export type RestoresOptions = {
  now: () => number;
  judge: Judge;
  /** The process that sent the last request for an object. */
  lastSender: (serial: number) => string | undefined;
  hasEnded: (identity: string) => boolean;
};

export function createRestores({ now, judge, lastSender, hasEnded }: RestoresOptions): Restores {
  const held = new Set<number>();
  const moved = new Set<number>();
  /** Senders of creates whose records a restore has taken. */
  const unrecorded = new Map<number, string>();
  let since = 0;
  return {
    restored(before, after) {
      since = now();
      for (const serial of after.keys()) held.add(serial);
      for (const serial of [...before.keys(), ...after.keys()]) {
        const sender = lastSender(serial);
        if (before.has(serial) !== after.has(serial)) moved.add(serial);
        else if (before.get(serial) !== after.get(serial) && sender !== undefined) unrecorded.set(serial, sender);
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
    hasLost: (serial) => moved.has(serial) || hasEnded(unrecorded.get(serial) ?? ""),
  };
}
