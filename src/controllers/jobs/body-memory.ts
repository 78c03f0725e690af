import { createSemaphore } from "../../base/semaphore.ts";
import type { AccountKey } from "../account/registry.ts";

/** Characters of all bodies under way. A character takes one or two bytes, in up to three copies. */
const CAPACITY = 16 * 1024 * 1024;
/** Of one account, so that a service that answers slowly does not hold up the others. */
const PER_ACCOUNT = CAPACITY / 4;
/** A smaller body takes no place. */
const SMALL = 16 * 1024;

export type Body = { account: AccountKey; characters: number };

/** The memory for the bodies of paid requests, of all accounts together. */
export function createBodyMemory() {
  const memory = createSemaphore({ capacity: CAPACITY, perGroup: PER_ACCOUNT });
  /** What gives the memory of a body back, by UID. */
  const held = new Map<string, () => void>();
  /** By UID, in the order in which they asked. */
  const waiting = new Map<string, () => void>();

  return {
    /** Whether the body may be kept. False: `wake` is called, once, when another one is gone. */
    fits(uid: string, { account, characters }: Body, wake: () => void): boolean {
      waiting.delete(uid);
      held.get(uid)?.();
      held.delete(uid);
      if (characters <= SMALL) return true;
      const release = memory.tryTake(account, characters);
      if (release === undefined) waiting.set(uid, wake);
      else held.set(uid, release);
      return release !== undefined;
    },
    vacate(uid: string): void {
      held.get(uid)?.();
      if (!held.delete(uid)) return;
      const wakes = [...waiting.values()];
      waiting.clear();
      for (const wake of wakes) wake();
    },
  };
}
