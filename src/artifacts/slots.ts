/** Lets a limited number through at once; the others wait in line. */
export type Slots = {
  /** Runs `work` when there is a slot. @throws the signal's reason while it waits */
  run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
};

export function createSlots(count: number): Slots {
  let free = count;
  const line: (() => void)[] = [];

  async function take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (free > 0) {
      free--;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        line.splice(line.indexOf(enter), 1);
        reject(signal.reason);
      };
      const enter = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      signal.addEventListener("abort", leave, { once: true });
      line.push(enter);
    });
  }

  return {
    async run(signal, work) {
      await take(signal);
      try {
        return await work();
      } finally {
        const next = line.shift();
        if (next === undefined) free++;
        else next();
      }
    },
  };
}
