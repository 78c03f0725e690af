import type { CoreRequest } from "../../../src/simulator/core.ts";
import { textAt } from "../api-server/json.ts";
import type { Storage } from "../api-server/storage.ts";
import type { SentRequest } from "../network/api-connections.ts";
import { LEASE_NAME, OPERATOR_NAMESPACE } from "../operator/process.ts";
import { CANARIES, RATE } from "../scenario/manifests.ts";
import type { Judge } from "./violation.ts";

export type Sender = { identity: string; leaderElect: boolean };

/** Judges what leaves the processes. */
export type Traffic = {
  toApi(sender: Sender, request: SentRequest): void;
  /** The limiter let a request to the service go. */
  departed(sender: Sender): void;
  toService(sender: Sender, request: CoreRequest): void;
  logged(line: string): void;
};

/** A token bucket of all processes together; requests of one event and rounding may take one token too many. */
const SLACK = 1.5;

export function createTraffic(storage: Storage, now: () => number, judge: Judge): Traffic {
  let tokens: number = RATE.burst;
  let at = 0;

  function checkCanaries(where: string, text: string): void {
    const found = CANARIES.find((canary) => text.includes(canary));
    if (found !== undefined) judge.violated("NoSecret", `${where} shows ${found}: ${text.slice(0, 2_000)}`);
  }

  return {
    toApi({ identity }, { method, path, body }) {
      if (method !== "GET") checkCanaries(`${identity} ${method} ${path}`, JSON.stringify(body ?? null));
    },
    departed({ identity }) {
      tokens = Math.min(RATE.burst, tokens + ((now() - at) / 1_000) * RATE.requestsPerSecond) - 1;
      at = now();
      if (tokens < -SLACK) judge.violated("RateLimit", `${identity} sends ${-tokens} requests over the rate limit`);
    },
    toService({ identity, leaderElect }, { method, path }) {
      if (method === "GET" || !leaderElect) return;
      const lease = storage.get("leases.coordination.k8s.io", `${OPERATOR_NAMESPACE}/${LEASE_NAME}`);
      const holder = textAt(lease?.["spec"], "holderIdentity");
      if (holder !== identity) {
        judge.violated("LeaseBeforeWrite", `${identity} sends ${method} ${path}, but the lease is held by "${holder}"`);
      }
    },
    logged: (line) => checkCanaries("the log", line),
  };
}
