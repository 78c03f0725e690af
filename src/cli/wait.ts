import { type Clock, delay } from "../base/clock.ts";
import type { KubeClient } from "../kube/client.ts";
import type { Place, Resource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";

/** How often an object is read again. */
const INTERVAL_MS = 500;

export type WaitOptions<T extends KubeObject, R> = {
  resource: Resource;
  place: Place;
  /** What the caller waits for; undefined: wait on. */
  result: (object: T) => R | undefined;
  /** Ends the wait. */
  signal: AbortSignal;
  clock: Clock;
};

/** Reads an object until it has a result. Undefined: the signal was aborted first. */
export async function waitFor<T extends KubeObject, R>(
  kube: Pick<KubeClient, "get">,
  { resource, place, result, signal, clock }: WaitOptions<T, R>,
): Promise<R | undefined> {
  while (!signal.aborted) {
    const found = result(await kube.get<T>(resource, place));
    if (found !== undefined) return found;
    await delay(clock, INTERVAL_MS, signal);
  }
  return undefined;
}
