/** Keys that wait for a worker. A key that is added while it is being worked on waits until that ends; it waits at most once. */
export type Queue = { add(key: string): void };

/** @param work never rejects */
export function createQueue(workers: number, work: (key: string) => Promise<void>): Queue {
  const waiting = new Set<string>();
  const active = new Set<string>();

  const startWaiting = (): void => {
    for (const key of waiting) {
      if (active.size >= workers) return;
      if (active.has(key)) continue;
      waiting.delete(key);
      active.add(key);
      void work(key).finally(() => {
        active.delete(key);
        startWaiting();
      });
    }
  };

  return {
    add(key) {
      waiting.add(key);
      startWaiting();
    },
  };
}
