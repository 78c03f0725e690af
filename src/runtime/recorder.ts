import type { Logger } from "pino";
import { type Clock, delay } from "../clock.ts";
import type { KubeClient } from "../kube/client.ts";
import { apiVersionOf, type Resource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";
import { plainText } from "../text/sanitizer.ts";

export const eventResource: Resource = {
  group: "events.k8s.io",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
};

export type EventType = "Normal" | "Warning";

/** Tells the people who look at an object what happened. Never waits, never fails the caller. */
export type EventRecorder = {
  /** `action` is what was being done (events.k8s.io/v1), `reason` why this is told; `note` at most 1,024 bytes. */
  event(object: KubeObject, type: EventType, reason: string, action: string, note: string): void;
  /** Sends what is queued, until `signal` aborts. */
  flush(signal: AbortSignal): Promise<void>;
};

export type RecorderOptions = {
  client: KubeClient;
  clock: Clock;
  log: Logger;
  /** Shown as reportingController. */
  controller: string;
  /** Shown as reportingInstance. */
  instance: string;
  resourceOf: (object: KubeObject) => Resource;
};

type KubeEvent = KubeObject & Record<string, unknown>;
type Series = { name: string; namespace: string; count: number; lastSeen: number };
type Bucket = { tokens: number; at: number };

/** The same event again within this time counts up a series instead of making an object. */
const SERIES_MS = 6 * 60_000;
/** client-go's spam filter: 25 at once an object, then one in five minutes. */
const BURST = 25;
const REFILL_MS = 5 * 60_000;
const QUEUE_LENGTH = 1_000;
/** Events a second once a burst of 50 is used up: telling what happened must not slow down what happens. */
const EVENTS_PER_SECOND = 20;
const EVENTS_AT_ONCE = 50;
/** The API server counts bytes (1,024). */
const NOTE_BYTES = 1_024;

export function createEventRecorder(options: RecorderOptions): EventRecorder {
  const { client, clock, log } = options;
  const series = new Map<string, Series>();
  const buckets = new Map<string, Bucket>();
  const queue: (() => Promise<unknown>)[] = [];
  let draining: Promise<void> | undefined;
  const pacing = { tokens: EVENTS_AT_ONCE, at: clock.monotonic() };
  /** At the end, what is queued goes out without pauses. */
  const flushing = new AbortController();
  let sequence = 0;

  function allowed(uid: string): boolean {
    const now = clock.monotonic();
    const bucket = buckets.get(uid) ?? { tokens: BURST, at: now };
    bucket.tokens = Math.min(BURST, bucket.tokens + (now - bucket.at) / REFILL_MS);
    bucket.at = now;
    buckets.set(uid, bucket);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  function forgetOld(): void {
    const now = clock.monotonic();
    for (const [key, one] of series) if (now - one.lastSeen > SERIES_MS) series.delete(key);
    for (const [uid, bucket] of buckets) if (now - bucket.at > BURST * REFILL_MS) buckets.delete(uid);
  }

  async function drain(): Promise<void> {
    for (let send = queue.shift(); send !== undefined; send = queue.shift()) {
      await pace();
      try {
        await send();
      } catch (error) {
        log.debug({ reason: String(error) }, "event not written");
      }
    }
    forgetOld();
  }

  async function pace(): Promise<void> {
    const now = clock.monotonic();
    pacing.tokens = Math.min(EVENTS_AT_ONCE, pacing.tokens + ((now - pacing.at) / 1000) * EVENTS_PER_SECOND) - 1;
    pacing.at = now;
    if (pacing.tokens < 0) await delay(clock, (-pacing.tokens / EVENTS_PER_SECOND) * 1000, flushing.signal);
  }

  function push(send: () => Promise<unknown>): void {
    if (queue.length >= QUEUE_LENGTH) queue.shift();
    queue.push(send);
    draining ??= drain().finally(() => {
      draining = undefined;
    });
  }

  return {
    event(object, type, reason, action, note) {
      const { uid = "", name, namespace = "default" } = object.metadata;
      const text = cutToBytes(plainText(note, NOTE_BYTES), NOTE_BYTES);
      const key = [uid, type, reason, action, text].join("\n");
      const microTime = new Date(clock.now()).toISOString().replace("Z", "000Z");
      const known = series.get(key);
      if (known !== undefined && clock.monotonic() - known.lastSeen <= SERIES_MS) {
        known.count++;
        known.lastSeen = clock.monotonic();
        const { count } = known;
        push(() => client.mergePatch(eventResource, known, { series: { count, lastObservedTime: microTime } }));
        return;
      }
      if (!allowed(uid)) return;
      const resource = options.resourceOf(object);
      const eventName = `${name.slice(0, 200)}.${Math.trunc(clock.now()).toString(16)}${(sequence++).toString(16)}`;
      series.set(key, { name: eventName, namespace, count: 1, lastSeen: clock.monotonic() });
      const body: KubeEvent = {
        apiVersion: apiVersionOf(eventResource),
        kind: "Event",
        metadata: { name: eventName, namespace },
        spec: undefined,
        eventTime: microTime,
        reportingController: options.controller,
        reportingInstance: options.instance.slice(0, 128),
        type,
        reason,
        action,
        note: text,
        regarding: {
          apiVersion: apiVersionOf(resource),
          kind: resource.kind,
          name,
          ...(object.metadata.namespace === undefined ? {} : { namespace }),
          uid,
          resourceVersion: object.metadata.resourceVersion,
        },
      };
      push(async () => {
        try {
          await client.create(eventResource, { namespace }, body);
        } catch (error) {
          series.delete(key); // there is nothing to count up
          throw error;
        }
      });
    },
    async flush(signal) {
      flushing.abort();
      while (draining !== undefined && !signal.aborted) {
        await Promise.race([
          draining,
          new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true })),
        ]);
      }
    },
  };
}

/** The longest beginning of whole characters that fits, with an ellipsis when something was left off. */
function cutToBytes(text: string, limit: number): string {
  if (Buffer.byteLength(text) <= limit) return text;
  const ellipsis = "…";
  const room = new Uint8Array(limit - Buffer.byteLength(ellipsis));
  return `${text.slice(0, new TextEncoder().encodeInto(text, room).read)}${ellipsis}`;
}
