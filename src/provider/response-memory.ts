import type { Clock } from "../base/clock.ts";
import { createSemaphore, type Semaphore } from "../base/semaphore.ts";

/**
 * Memory for large bodies of responses, shared by all accounts of the process. A body waits, unread, until its bytes are free; the
 * connection's flow control then holds the sender. Groups are services: they take turns, and none takes more than two thirds.
 */
export type ResponseMemory = Pick<Semaphore, "take" | "inUse">;

/** Most bodies are smaller and wait for nothing: a connection holds as much of a body that nobody reads. */
export const SMALL_BODY_BYTES = 64 * 1024;
/** Less than a tenth of the memory limit that the chart sets (512 MiB). Two thirds of it hold the largest response. */
const MEMORY_BYTES = 48 * 1024 * 1024;
const SERVICE_SHARE = 2 / 3;
/** Bytes per second that one account may have parsed, beside small bodies. Parsing them takes about a quarter of one core. */
const BYTES_PER_SECOND = 8 * 1024 * 1024;

export function createResponseMemory(bytes: number = MEMORY_BYTES): ResponseMemory {
  return createSemaphore({ capacity: bytes, perGroup: Math.floor(bytes * SERVICE_SHARE) });
}

/** `limit`: the largest body of its operation. `length`: of the body, where the response tells it. */
export type BodySize = { limit: number; length: number | undefined };

/** Memory for one body. */
export type BodyMemory = {
  /** Makes room for a body of `bytes` in all. Resolves at once while it fits. @throws the signal's reason */
  grow(bytes: number, signal: AbortSignal): Promise<void>;
  release(): void;
};

export type Reserve = (body: BodySize, signal: AbortSignal) => Promise<BodyMemory>;

/**
 * The bodies of one account: one large body at a time, and after each a pause that grows with its size. So a service that answers every
 * call with megabytes takes neither the memory nor the processor from other accounts. A body that outgrows a small one asks once for all
 * that it may need, so bodies never wait for each other.
 */
export function createAccountBodies(memory: ResponseMemory, service: string, clock: Clock): Reserve {
  const turn = createSemaphore({ capacity: 1 });
  return async ({ limit, length }, signal) => {
    let room = SMALL_BODY_BYTES;
    let size = 0;
    const held: (() => void)[] = [];
    const reservation: BodyMemory = {
      async grow(bytes, growSignal) {
        size = Math.max(size, bytes);
        if (bytes <= room) return;
        const leave = await turn.take("", 1, growSignal);
        held.push(() => void clock.setTimeout(leave, (size / BYTES_PER_SECOND) * 1000));
        room = Math.min(limit, Math.max(bytes, length ?? limit));
        held.push(await memory.take(service, room, growSignal));
      },
      release: () => {
        for (const give of held.splice(0)) give();
      },
    };
    try {
      await reservation.grow(Math.min(limit, length ?? 0), signal);
    } catch (error) {
      reservation.release();
      throw error;
    }
    return reservation;
  };
}
