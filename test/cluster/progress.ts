const everyMs = 15_000;

/** Waits for `work`; until it settles, says every 15 s what goes on and for how long already. */
export async function withProgress<T>(log: (line: string) => void, what: () => string, work: Promise<T>): Promise<T> {
  const start = performance.now();
  const timer = setInterval(() => log(`${what()}, ${Math.round((performance.now() - start) / 1000)} s`), everyMs);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
