import type { Clock } from "../../base/clock.ts";
import type { SendState } from "./transport-failure.ts";

/** Ends an exchange that takes too long or whose caller has given up. */
export type Guard = {
  state: SendState;
  /** Restarts the timer. */
  touch(): void;
  /** Stops the timer while Mooring, not the service, delays the exchange. */
  rest(): void;
  /** Continues with the time that was left at `rest`. */
  resume(): void;
  release(): void;
};

/** `timeoutMs` counts from each `touch`. */
export function createGuard(signal: AbortSignal | undefined, clock: Clock, timeoutMs: number): Guard {
  const state: SendState = { written: false, ended: undefined, controller: new AbortController(), status: undefined };
  const end = (why: "Timeout" | "Aborted") => {
    state.ended ??= why;
    state.controller.abort(new Error(why === "Timeout" ? `no answer within ${timeoutMs} ms` : "aborted by the caller"));
  };
  const onAbort = () => end("Aborted");
  let cancelTimer = () => {};
  let leftMs = timeoutMs;
  let endsAt = 0;
  const start = (ms: number) => {
    cancelTimer();
    endsAt = clock.monotonic() + ms;
    cancelTimer = clock.setTimeout(() => end("Timeout"), ms);
  };
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  return {
    state,
    touch: () => start(timeoutMs),
    rest: () => {
      cancelTimer();
      leftMs = Math.max(0, endsAt - clock.monotonic());
    },
    resume: () => start(leftMs),
    release: () => {
      cancelTimer();
      signal?.removeEventListener("abort", onAbort);
    },
  };
}
