import { UnusableError } from "../../src/provider/wire/lenient.ts";

/** What `read` returns; undefined when the response is refused. */
export function ifUsable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof UnusableError) return undefined;
    throw error;
  }
}
