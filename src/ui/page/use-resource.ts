import { useEffect, useState } from "preact/hooks";
import { ApiError, getJson } from "./api.ts";
import type { Changed, Live } from "./live.ts";

/** What a view shows: the last answer stays while the next one is read. */
export type Resource<T> = { data: T | undefined; error: ApiError | undefined };

/** Time between two reads of the same, ms: a burst of changes is read once. */
const PACE_MS = 500;

/**
 * Reads `path`, and again after each change that `concerns` it.
 * @param concerns compared by identity: pass a function that does not change
 */
export function useResource<T>(live: Live, path: string, concerns: (changed: Changed) => boolean): Resource<T> {
  const [resource, setResource] = useState<Resource<T>>({ data: undefined, error: undefined });

  useEffect(() => {
    const ending = new AbortController();
    let reading = false;
    let again = false;

    async function read(): Promise<void> {
      again = reading;
      if (reading) return;
      reading = true;
      try {
        const data = await getJson<T>(path, ending.signal);
        setResource({ data, error: undefined });
      } catch (error) {
        if (ending.signal.aborted) return;
        const failure = error instanceof ApiError ? error : new ApiError(0, String(error));
        setResource(({ data }) => ({ data: failure.status === 404 ? undefined : data, error: failure }));
      }
      window.setTimeout(() => {
        reading = false;
        if (again && !ending.signal.aborted) void read();
      }, PACE_MS);
    }

    void read();
    const unsubscribe = live.onChange((changed) => {
      if (changed === undefined || concerns(changed)) void read();
    });
    return () => {
      ending.abort();
      unsubscribe();
    };
  }, [live, path, concerns]);

  return resource;
}
