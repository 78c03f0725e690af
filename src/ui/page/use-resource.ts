import { useEffect, useState } from "preact/hooks";
import { ApiError, getJson } from "./api.ts";
import type { Changed, Live } from "./live.ts";

/** What a view shows: the last answer stays while the next one is read. `of`: the path that answered last. */
export type Loaded<T> = { data: T | undefined; error: ApiError | undefined; of?: string };

/** Time between two reads of the same, ms: a burst of changes is read once. */
const PACE_MS = 500;

/**
 * Reads `path`, and again after each change that `concerns` it.
 * @param concerns compared by identity: pass a function that does not change
 */
export function useResource<T>(live: Live, path: string, concerns: (changed: Changed) => boolean): Loaded<T> {
  const [resource, setResource] = useState<Loaded<T>>({ data: undefined, error: undefined });

  useEffect(() => {
    let reading: AbortController | undefined;
    let again = false;

    async function read(): Promise<void> {
      again = reading !== undefined;
      if (again) return;
      const own = new AbortController();
      reading = own;
      try {
        const data = await getJson<T>(path, own.signal);
        setResource({ data, error: undefined, of: path });
      } catch (error) {
        if (own.signal.aborted) return;
        const failure = error instanceof ApiError ? error : new ApiError(0, { error: String(error) });
        setResource(({ data }) => ({ data: failure.status === 404 ? undefined : data, error: failure, of: path }));
      }
      window.setTimeout(() => {
        if (reading !== own) return;
        reading = undefined;
        if (again) void read();
      }, PACE_MS);
    }

    function stop(): void {
      reading?.abort();
      reading = undefined;
    }

    void read();
    const unsubscribe = live.onChange((changed) => {
      // A read from before an interruption may never get its answer.
      if (changed === undefined) stop();
      if (changed === undefined || concerns(changed)) void read();
    });
    return () => {
      stop();
      unsubscribe();
    };
  }, [live, path, concerns]);

  return resource;
}
