/** Chunks that a server pushes and a client reads with `for await`. */
export type ByteStream = AsyncIterable<Buffer> & {
  push(text: string): void;
  end(): void;
  fail(error: unknown): void;
};

export function createByteStream(): ByteStream {
  const chunks: Buffer[] = [];
  let ending: { error?: unknown } | undefined;
  let wake = () => {};

  return {
    push(text) {
      if (ending !== undefined) return;
      chunks.push(Buffer.from(text));
      wake();
    },
    end() {
      ending ??= {};
      wake();
    },
    fail(error) {
      ending ??= { error };
      chunks.length = 0;
      wake();
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) yield chunk;
        if (ending !== undefined) {
          if ("error" in ending) throw ending.error;
          return;
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
