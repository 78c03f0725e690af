const everyMs = 15_000;

/** Waits for `work`; until it settles, says every 15 s what goes on and for how long already. */
export async function withProgress<T>(
  log: (line: string) => void,
  what: () => Promise<string>,
  work: Promise<T>,
): Promise<T> {
  const start = performance.now();
  const say = async (): Promise<void> => {
    const text = await what();
    log(`${text}, ${Math.round((performance.now() - start) / 1000)} s`);
  };
  const timer = setInterval(() => void say(), everyMs);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
