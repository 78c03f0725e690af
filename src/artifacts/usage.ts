import type { Backend } from "./types.ts";

export type UsageOptions = {
  limits: () => { maxStoreBytes?: number | undefined };
  /** The store has reached its limit. */
  onFull?: () => void;
};

/** The size of a store: the last measurement, and what was stored since. */
export function createUsage(backend: Pick<Backend, "usage">, { limits, onFull }: UsageOptions) {
  let measured: number | undefined;
  let since = 0;

  function full(): string | undefined {
    const { maxStoreBytes } = limits();
    if (maxStoreBytes === undefined || measured === undefined || measured + since < maxStoreBytes) return undefined;
    return `the store has ${measured + since} bytes or more, and spec.maxBytes allows ${maxStoreBytes}: remove some, or raise it; results of jobs that are submitted are still stored`;
  }

  return {
    full,
    async measure(signal: AbortSignal): Promise<void> {
      const { maxStoreBytes } = limits();
      if (maxStoreBytes === undefined) {
        measured = undefined;
        return;
      }
      const before = since;
      measured = await backend.usage(maxStoreBytes, signal);
      since -= before; // bytes that are stored during a measurement may count twice until the next one
    },
    /** Adds stored bytes. */
    add(bytes: number): void {
      const was = full();
      since += bytes;
      if (was === undefined && full() !== undefined) onFull?.();
    },
  };
}
