import { systemClock } from "../src/base/clock.ts";
import { createLogger } from "../src/base/log.ts";
import type { KubeClient } from "../src/kube/client.ts";
import type { Resource } from "../src/kube/resource.ts";
import type { KubeObject } from "../src/kube/types.ts";
import { createInformer } from "../src/runtime/informer.ts";
import type { Change } from "../src/runtime/store.ts";
import { NAMESPACE } from "./cluster.ts";

type Follow = { client: KubeClient; resource: Resource; signal: AbortSignal };
type Wait<T> = { matches: (object: T) => boolean; count: number; limitMs: number };

/** The objects of one kind, as a watch of the measurement's own shows them. */
export type Followed<T> = {
  list(): T[];
  onChange(handler: (change: Change<T>) => void): void;
  /** @throws Error that names `what` after `limitMs`, and the signal's reason when it aborts */
  until(what: string, wait: Wait<T>): Promise<void>;
};

/** Follows the objects until `signal` aborts. Returns after the first list. */
export async function followObjects<T extends KubeObject>({ client, resource, signal }: Follow): Promise<Followed<T>> {
  const informer = createInformer<T>({
    client,
    resource,
    namespaces: [NAMESPACE],
    clock: systemClock,
    random: Math.random,
    log: createLogger({ logLevel: "error", logFormat: "json" }),
  });
  await informer.start(signal);
  return {
    list: () => [...informer.store.list()],
    onChange: informer.onChange,
    async until(what, { matches, count, limitMs }) {
      const found = new Set<string>();
      const done = Promise.withResolvers<void>();
      const observe = (object: T) => {
        if (matches(object)) found.add(object.metadata.name);
        else found.delete(object.metadata.name);
        if (found.size >= count) done.resolve();
      };
      for (const object of informer.store.list()) observe(object);
      informer.onChange(({ object }) => observe(object));
      const late = () => done.reject(new Error(`${found.size} of ${count} ${what} after ${limitMs / 1_000} s`));
      const timer = setTimeout(late, limitMs);
      const abort = () => done.reject(signal.reason);
      signal.addEventListener("abort", abort, { once: true });
      await done.promise.finally(() => {
        clearTimeout(timer);
        signal.removeEventListener("abort", abort);
      });
    },
  };
}
