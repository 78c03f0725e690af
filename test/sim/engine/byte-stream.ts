/** Chunks that a server pushes and a client reads with `for await`. */
export type ByteStream = AsyncIterable<Uint8Array> & {
  push(text: string): void;
  end(): void;
  fail(error: unknown): void;
};

const encoder = new TextEncoder();

export function createByteStream(): ByteStream {
  const chunks: Uint8Array[] = [];
  let ending: { error?: unknown } | undefined;
  let wake = () => {};

  return {
    push(text) {
      if (ending !== undefined) return;
      chunks.push(encoder.encode(text));
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
