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
  const held = new Map<string, Body>();
  /** By UID, in the order in which they asked. */
  const waiting = new Map<string, () => void>();

  function used(account?: AccountKey): number {
    let characters = 0;
    for (const one of held.values()) if (account === undefined || one.account === account) characters += one.characters;
    return characters;
  }

  return {
    /** Whether the body may be kept. False: `wake` is called, once, when another one is gone. */
    fits(uid: string, body: Body, wake: () => void): boolean {
      waiting.delete(uid);
      held.delete(uid);
      if (body.characters <= SMALL) return true;
      const ofAccount = used(body.account);
      const isOverShare = ofAccount > 0 && ofAccount + body.characters > PER_ACCOUNT;
      if (isOverShare || (held.size > 0 && used() + body.characters > CAPACITY)) {
        waiting.set(uid, wake);
        return false;
      }
      held.set(uid, body);
      return true;
    },
    vacate(uid: string): void {
      if (!held.delete(uid)) return;
      const wakes = [...waiting.values()];
      waiting.clear();
      for (const wake of wakes) wake();
    },
  };
}
