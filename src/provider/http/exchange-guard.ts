import type { Clock } from "../../base/clock.ts";
import type { SendState } from "./transport-failure.ts";

/** Ends an exchange that takes too long or whose caller has given up. */
export type Guard = {
  state: SendState;
  /** @throws why the exchange has been ended */
  throwIfEnded(): void;
  /** The exchange has a connection: `abort` ends it from now on. @throws why it has been ended before */
  begin(abort: (reason: unknown) => void): void;
  /** Ends the exchange, and what waits beside it. */
  end(reason: unknown): void;
  /** Aborts when the exchange is ended. */
  signal(): AbortSignal;
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
  const state: SendState = { written: false, ended: undefined, status: undefined };
  let ended: { reason: unknown } | undefined;
  let abortExchange = (_reason: unknown) => {};
  /** Made when something waits beside the exchange, which is rare. */
  let waiting: AbortController | undefined;
  const end = (reason: unknown) => {
    ended ??= { reason };
    abortExchange(reason);
    waiting?.abort(reason);
  };
  const throwIfEnded = () => {
    if (ended !== undefined) throw ended.reason;
  };
  const endFor = (why: "Timeout" | "Aborted") => {
    state.ended ??= why;
    end(new Error(why === "Timeout" ? `no answer within ${timeoutMs} ms` : "aborted by the caller"));
  };
  const onAbort = () => endFor("Aborted");
  let cancelTimer = () => {};
  let leftMs = timeoutMs;
  let endsAt = 0;
  const start = (ms: number) => {
    cancelTimer();
    endsAt = clock.monotonic() + ms;
    cancelTimer = clock.setTimeout(() => endFor("Timeout"), ms);
  };
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  return {
    state,
    throwIfEnded,
    begin(abort) {
      throwIfEnded();
      abortExchange = abort;
    },
    end,
    signal() {
      waiting ??= new AbortController();
      if (ended !== undefined) waiting.abort(ended.reason);
      return waiting.signal;
    },
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
