import type { Clock } from "../base/clock.ts";

/** Slowest transfer, bytes per second, while others wait for its end. */
export const MIN_BYTES_PER_SECOND = 64 * 1024;
/** How long a transfer is measured before it is judged, ms. */
const WINDOW_MS = 30_000;

/** Judges a transfer while it runs. */
export type TransferWatch = { add(bytes: number): void; end(): void };

/** @param contested whether others wait @param onSlow called once, for a transfer that holds up others */
export function watchPace(
  clock: Clock,
  { contested, onSlow }: { contested: () => boolean; onSlow: () => void },
): TransferWatch {
  let bytes = 0;
  let cancel = clock.setTimeout(judge, WINDOW_MS);

  function judge(): void {
    if (contested() && bytes < (MIN_BYTES_PER_SECOND * WINDOW_MS) / 1000) {
      onSlow();
      return;
    }
    bytes = 0;
    cancel = clock.setTimeout(judge, WINDOW_MS);
  }

  return {
    add: (more) => {
      bytes += more;
    },
    end: () => cancel(),
  };
}
