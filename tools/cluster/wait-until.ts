import { setTimeout as sleep } from "node:timers/promises";

/**
 * Asks `condition` every `intervalMs` until it is true. Rejects with the signal's reason when `signal` aborts, and with an Error that
 * names `what` after `timeoutMs`.
 */
export async function waitUntil(
  what: string,
  condition: () => Promise<boolean>,
  { timeoutMs, intervalMs = 50, signal }: { timeoutMs: number; intervalMs?: number; signal?: AbortSignal },
): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (true) {
    signal?.throwIfAborted();
    if (await condition()) {
      return;
    }
    if (performance.now() > end) {
      throw new Error(`${what}: not so after ${Math.round(timeoutMs / 1000)} s`);
    }
    // An aborted signal ends the pause early; the next round throws its reason.
    await sleep(intervalMs, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  }
}
