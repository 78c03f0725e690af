import { createSemaphore, type Semaphore } from "../base/semaphore.ts";

/**
 * Memory for the bodies of responses, shared by all accounts of the process. A body waits, unread, until its bytes are
 * free; the connection's flow control then holds the sender. Services take turns; each is served in the order of asking.
 */
export type ByteBudget = {
  /**
   * Reserves memory for a body that may grow up to `limit` bytes.
   * @param body `group`: the service; no service takes the whole budget. `length`: of the body, where the response tells it
   */
  reserve(body: BodySize, signal: AbortSignal): Promise<Reservation>;
  /** Bytes that are reserved now. */
  inUse(): number;
};

export type BodySize = { group: string; limit: number; length: number | undefined };

export type Reservation = {
  /** Makes room for a body of `bytes` in all. Resolves at once while it fits. @throws the signal's reason */
  grow(bytes: number, signal: AbortSignal): Promise<void>;
  release(): void;
};

/** Most bodies are smaller: they never wait for large ones. */
export const SMALL_BODY_BYTES = 64 * 1024;
/** One eighth of the memory limit that the chart sets (512 MiB). */
const BUDGET_BYTES = 64 * 1024 * 1024;
/** The share of the budget for bodies that are still small. */
const SMALL_SHARE = 0.25;
/** The share of each part that one service can have. */
const SERVICE_SHARE = 2 / 3;

/**
 * A body that outgrows a small one asks once for all that it may need, from a part of the budget of its own. A body that
 * has both parts never waits again, so bodies cannot wait for each other.
 */
export function createByteBudget(bytes: number = BUDGET_BYTES): ByteBudget {
  const small = poolOf(Math.floor(bytes * SMALL_SHARE));
  const large = poolOf(bytes - Math.floor(bytes * SMALL_SHARE));
  return {
    async reserve({ group, limit, length }, signal) {
      const first = Math.min(limit, SMALL_BODY_BYTES);
      const held = [await small.take(group, first, signal)];
      let room = first;
      const reservation: Reservation = {
        async grow(wanted, growSignal) {
          if (wanted <= room) return;
          const all = Math.min(limit, Math.max(wanted, length ?? limit));
          held.push(await large.take(group, all, growSignal));
          room = all;
        },
        release: () => {
          for (const give of held.splice(0)) give();
        },
      };
      try {
        await reservation.grow(length ?? 0, signal);
      } catch (error) {
        reservation.release();
        throw error;
      }
      return reservation;
    },
    inUse: () => small.inUse() + large.inUse(),
  };
}

function poolOf(capacity: number): Semaphore {
  return createSemaphore({ capacity, perGroup: Math.floor(capacity * SERVICE_SHARE) });
}
