import type { Clock } from "../../base/clock.ts";
import { type ByteBudget, SMALL_BODY_BYTES } from "../byte-budget.ts";

/** Bytes per second that one account may have parsed, beside small bodies. Parsing them takes about a quarter of one core. */
const BYTES_PER_SECOND = 8 * 1024 * 1024;

/**
 * The share of one account in the memory for bodies: one large body at a time, and after each a pause that grows with its
 * size. So a service that answers every call with megabytes takes neither the memory nor the processor from other accounts.
 */
export function createBodyLane(budget: ByteBudget, clock: Clock): ByteBudget {
  const enter = createTurns(clock);
  return {
    inUse: budget.inUse,
    async reserve(body, signal) {
      let large = 0;
      let leave: ((pauseMs: number) => void) | undefined;
      const enterLane = async (bytes: number, aborted: AbortSignal) => {
        if (bytes <= SMALL_BODY_BYTES) return;
        large = Math.max(large, bytes);
        leave ??= await enter(aborted);
      };
      const leaveLane = () => leave?.((large / BYTES_PER_SECOND) * 1000);
      await enterLane(Math.min(body.limit, body.length ?? 0), signal);
      try {
        const held = await budget.reserve(body, signal);
        return {
          async grow(bytes, growSignal) {
            await enterLane(bytes, growSignal);
            await held.grow(bytes, growSignal);
          },
          release() {
            held.release();
            leaveLane();
          },
        };
      } catch (error) {
        leaveLane();
        throw error;
      }
    },
  };
}

/** A mutex; its release delays the next holder. */
function createTurns(clock: Clock): (signal: AbortSignal) => Promise<(pauseMs: number) => void> {
  let last: Promise<void> = Promise.resolve();
  return async (signal) => {
    const before = last;
    const { promise, resolve } = Promise.withResolvers<void>();
    last = promise;
    const aborted = Promise.withResolvers<never>();
    const onAbort = () => aborted.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      await Promise.race([before, aborted.promise]);
    } catch (error) {
      before.then(resolve); // the next one waits for whoever is in
      throw error;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
    let left = false;
    return (pauseMs) => {
      if (left) return;
      left = true;
      clock.setTimeout(resolve, pauseMs);
    };
  };
}
