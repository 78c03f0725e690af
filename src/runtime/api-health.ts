import type { Clock } from "../base/clock.ts";
import type { KubeRequest } from "../kube/client.ts";

/** The state of the connection to the API server, from the requests of this process. Readiness checks throw the reason. */
export type ApiHealth = {
  /** Call it for each request that has ended. */
  observe(request: Pick<KubeRequest, "verb" | "resource" | "namespace" | "status">): void;
  /** Throws while a list or watch has been failing for 5 minutes: the caches fall behind. */
  watch(): void;
  /** Throws unless the lease was read or written within its duration: its accounts may be free then. */
  lease(): void;
};

const FAILING_MS = 5 * 60_000;
const LEASE_MS = 15_000;

export function createApiHealth(clock: Pick<Clock, "monotonic">): ApiHealth {
  /** By kind and namespace: since when, and with which status. */
  const failing = new Map<string, { since: number; status: number }>();
  let leaseKnownAt: number | undefined;

  return {
    observe({ verb, resource, namespace, status }) {
      if (resource === "leases") {
        // No lease yet, or another process was faster: the lease is known in both cases.
        if (status === 404 || status === 409 || succeeded(status)) leaseKnownAt = clock.monotonic();
      } else if (verb === "list" || verb === "watch") {
        const key = namespace === undefined ? resource : `${resource} in ${namespace}`;
        if (succeeded(status)) failing.delete(key);
        else failing.set(key, { since: failing.get(key)?.since ?? clock.monotonic(), status });
      }
    },
    watch() {
      const stuck = [...failing].filter(([, { since }]) => clock.monotonic() - since >= FAILING_MS);
      if (stuck.length === 0) return;
      const what = stuck.map(([key, { status }]) => `${key} (${status === 0 ? "no answer" : `HTTP ${status}`})`);
      throw new Error(`no list or watch for over ${FAILING_MS / 60_000} minutes of ${what.join(", ")}`);
    },
    lease() {
      if (leaseKnownAt === undefined) throw new Error("the lease has not been read yet");
      const age = clock.monotonic() - leaseKnownAt;
      if (age >= LEASE_MS) throw new Error(`the lease was last read or written ${Math.round(age / 1000)} s ago`);
    },
  };
}

const succeeded = (status: number): boolean => status >= 200 && status < 300;
