/**
 * Memory for the bodies of responses, shared by all accounts of the process. A body waits, unread, until its bytes are
 * free; the connection's flow control then holds the sender. Bodies are served in the order of asking.
 */
export type ByteBudget = {
  /**
   * Reserves memory for a body that may grow up to `limit` bytes.
   * @param length its length, where the response tells it
   */
  reserve(limit: number, length: number | undefined, signal: AbortSignal): Promise<Reservation>;
  /** Bytes that are reserved now. */
  inUse(): number;
};

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

/**
 * A body that outgrows a small one asks once for all that it may need, from a part of the budget of its own. A body that
 * has both parts never waits again, so bodies cannot wait for each other.
 */
export function createByteBudget(bytes: number = BUDGET_BYTES): ByteBudget {
  const small = createPool(Math.floor(bytes * SMALL_SHARE));
  const large = createPool(bytes - Math.floor(bytes * SMALL_SHARE));
  return {
    async reserve(limit, length, signal) {
      const first = Math.min(limit, SMALL_BODY_BYTES);
      const held = [await small.take(first, signal)];
      let room = first;
      const reservation: Reservation = {
        async grow(wanted, growSignal) {
          if (wanted <= room) return;
          const all = Math.min(limit, Math.max(wanted, length ?? limit));
          held.push(await large.take(all, growSignal));
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

type Pool = { take(bytes: number, signal: AbortSignal): Promise<() => void>; inUse(): number };

/** Lets takers in as long as they fit; one that is larger than the pool has it alone. */
function createPool(capacity: number): Pool {
  let used = 0;
  const line: { bytes: number; enter: () => void }[] = [];

  function next(): void {
    for (let first = line[0]; first !== undefined && used + first.bytes <= capacity; first = line[0]) {
      line.shift();
      used += first.bytes;
      first.enter();
    }
  }

  return {
    inUse: () => used,
    async take(wanted, signal) {
      signal.throwIfAborted();
      const bytes = Math.min(wanted, capacity);
      await new Promise<void>((resolve, reject) => {
        const leave = () => {
          line.splice(line.indexOf(waiter), 1);
          reject(signal.reason);
          next();
        };
        const waiter = {
          bytes,
          enter: () => {
            signal.removeEventListener("abort", leave);
            resolve();
          },
        };
        signal.addEventListener("abort", leave, { once: true });
        line.push(waiter);
        next();
      });
      return () => {
        used -= bytes;
        next();
      };
    },
  };
}
