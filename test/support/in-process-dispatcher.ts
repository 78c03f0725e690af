import { Dispatcher } from "undici";

/** Answers requests within the process. It has no connections that could be closed. */
export abstract class InProcessDispatcher extends Dispatcher {
  abstract override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean;

  override close(): Promise<void>;
  override close(callback: () => void): void;
  override close(callback?: () => void): Promise<void> | undefined {
    if (callback === undefined) return Promise.resolve();
    callback();
    return undefined;
  }

  override destroy(): Promise<void>;
  override destroy(error: Error | null): Promise<void>;
  override destroy(callback: () => void): void;
  override destroy(error: Error | null, callback: () => void): void;
  override destroy(error?: Error | null | (() => void), callback?: () => void): Promise<void> | undefined {
    const done = typeof error === "function" ? error : callback;
    if (done === undefined) return Promise.resolve();
    done();
    return undefined;
  }
}
