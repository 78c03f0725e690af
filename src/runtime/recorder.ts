import { hash } from "node:crypto";
import type { Logger } from "pino";
import { aborted, type Clock } from "../base/clock.ts";
import { createFairQueue } from "../base/fair-queue.ts";
import { plainText } from "../base/sanitizer.ts";
import { type Bucket, createBucket, createPace, freeAt, isFull, takeToken } from "../base/token-bucket.ts";
import type { KubeClient } from "../kube/client.ts";
import { apiVersionOf, eventResource, type Resource } from "../kube/resource.ts";
import type { KubeObject, ObjectMeta } from "../kube/types.ts";

/** `action` is what the controller was doing (events.k8s.io/v1), `reason` why it reports; `note` at most 1,024 bytes. */
export type EmitEvent = (object: KubeObject, reason: string, action: string, note: string) => void;

/**
 * Writes Events about an object for people. Never waits, never fails the caller. Namespaces take turns, and in each of them both types:
 * many events of one namespace neither delay nor replace those of another, nor many Normal ones a Warning.
 */
export type EventRecorder = {
  normal: EmitEvent;
  /** For what needs attention. */
  warning: EmitEvent;
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

/** `dropped`: called instead of `send` when the queue is full. */
type Queued = { send(): Promise<unknown>; dropped(): void };

/** Above this length the namespace with the most events of a type loses the oldest of them. */
export const QUEUE_LENGTH = 1_000;
/** Events a second once those at once are used up: Events must not slow down reconciles. */
export const EVENTS_PER_SECOND = 20;
export const EVENTS_AT_ONCE = 50;
/** The API server counts bytes (1,024). */
const NOTE_BYTES = 1_024;

export function createEventRecorder(options: RecorderOptions): EventRecorder {
  const { client, clock, log } = options;
  const memory = createEventMemory(clock);
  const queue = createFairQueue<Queued>();
  let draining: Promise<void> | undefined;
  const pace = createPace(clock, EVENTS_PER_SECOND, EVENTS_AT_ONCE);
  /** On shutdown, queued Events are sent without pauses. */
  const flushing = new AbortController();
  const reporter = { reportingController: options.controller, reportingInstance: options.instance.slice(0, 128) };
  let sequence = 0;
  let pushed = 0;

  async function drain(): Promise<void> {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      await pace.turn(flushing.signal);
      try {
        await next.value.send();
      } catch (error) {
        log.debug({ reason: String(error) }, "event not written");
      }
    }
  }

  function push(group: string, event: Queued): void {
    if (queue.size() >= QUEUE_LENGTH) queue.shiftLongest()?.value.dropped();
    queue.push(group, String(pushed++), event);
    draining ??= drain().finally(() => {
      draining = undefined;
    });
  }

  function emitterOf(type: "Normal" | "Warning"): EmitEvent {
    return (object, reason, action, note) => {
      const { uid = "", name, namespace = "default" } = object.metadata;
      const text = cutToBytes(plainText(note, NOTE_BYTES), NOTE_BYTES);
      const group = `${type}/${namespace}`;
      const id = idOf([uid, type, reason, action, text]);
      const microTime = new Date(clock.now()).toISOString().replace("Z", "000Z");
      const known = memory.countUp(id);
      if (known !== undefined) {
        const change = { series: { count: known.count, lastObservedTime: microTime } };
        push(group, { send: () => client.mergePatch(eventResource, known, change), dropped: () => {} });
        return;
      }
      if (!memory.allows(uid)) return;
      const eventName = `${name.slice(0, 200)}.${Math.trunc(clock.now()).toString(16)}${(sequence++).toString(16)}`;
      memory.begin(id, { name: eventName, namespace });
      const regarding = referenceTo(object, options.resourceOf(object));
      const forget = () => memory.forget(id); // no series exists that a repetition could count up
      const send = async () => {
        try {
          const fields = { type, reason, action, note: text, eventTime: microTime, ...reporter, regarding };
          await client.create(eventResource, { namespace }, eventOf({ name: eventName, namespace }, fields));
        } catch (error) {
          forget();
          throw error;
        }
      };
      push(group, { send, dropped: forget });
    };
  }

  return {
    normal: emitterOf("Normal"),
    warning: emitterOf("Warning"),
    async flush(signal) {
      flushing.abort();
      while (draining !== undefined && !signal.aborted) {
        await Promise.race([draining, aborted(signal)]);
      }
    },
  };
}

/** An event of events.k8s.io/v1 from its fields. */
function eventOf(metadata: ObjectMeta, fields: Record<string, unknown>): KubeObject & Record<string, unknown> {
  return { apiVersion: apiVersionOf(eventResource), kind: "Event", metadata, spec: undefined, ...fields };
}

function referenceTo({ metadata }: KubeObject, resource: Resource) {
  const { name, namespace, uid = "", resourceVersion } = metadata;
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    uid,
    resourceVersion,
  };
}

/** The longest beginning of whole characters that fits, with an ellipsis when something was left off. */
function cutToBytes(text: string, limit: number): string {
  if (Buffer.byteLength(text) <= limit) return text;
  const ellipsis = "…";
  const room = new Uint8Array(limit - Buffer.byteLength(ellipsis));
  return `${text.slice(0, new TextEncoder().encodeInto(text, room).read)}${ellipsis}`;
}

/** A sent event, and how often it happened since. */
export type Series = { name: string; namespace: string; count: number };

const SERIES_MS = 6 * 60_000;
const BURST = 25;
const REFILL_MS = 5 * 60_000;
const FORGET_EVERY_MS = 60_000;
/** Most events, and most objects, that are remembered: those of thousands of jobs a minute must not fill the memory. */
export const MOST_REMEMBERED = 2_000;

/**
 * The recent events, each by an ID of its content. A repetition counts up the series of its event. Each object has 25 events at once, and
 * then one in five minutes (client-go's spam filter). Forgets old events once a minute, and above 2,000 those that happened the longest
 * time ago.
 */
export function createEventMemory(clock: Pick<Clock, "monotonic">) {
  const series = createLatest<Series & { lastSeen: number }>();
  const buckets = createLatest<Bucket>();
  let forgottenAt = clock.monotonic();

  function forgetOld(now: number): void {
    if (now - forgottenAt < FORGET_EVERY_MS) return;
    forgottenAt = now;
    series.forget(({ lastSeen }) => now - lastSeen > SERIES_MS);
    buckets.forget((bucket) => isFull(bucket, now));
  }

  return {
    /** The series of an event that happened in the last six minutes, counted up; undefined: it is a new event. */
    countUp(id: string): Series | undefined {
      const now = clock.monotonic();
      forgetOld(now);
      const known = series.get(id);
      if (known === undefined || now - known.lastSeen > SERIES_MS) return undefined;
      known.count++;
      known.lastSeen = now;
      series.put(id, known);
      return known;
    },
    /** Whether the object may have another event, which counts. */
    allows(uid: string): boolean {
      const now = clock.monotonic();
      const bucket = buckets.get(uid) ?? createBucket(1 / REFILL_MS, BURST, BURST, now);
      buckets.put(uid, bucket);
      if (freeAt(bucket, now) > now) return false;
      takeToken(bucket, now);
      return true;
    },
    begin(id: string, event: { name: string; namespace: string }): void {
      series.put(id, { ...event, count: 1, lastSeen: clock.monotonic() });
    },
    forget: (id: string) => series.remove(id),
    /** Number of series and objects that are remembered. */
    size: () => series.size() + buckets.size(),
  };
}

/** Of an event by its content, which is up to 1 KiB: thousands wait, or are remembered. */
const idOf = (content: readonly string[]) => hash("sha256", content.join("\n"), "base64");

/** The values that were put last, at most `MOST_REMEMBERED`. */
function createLatest<T>() {
  const values = new Map<string, T>();
  return {
    get: (key: string) => values.get(key),
    put(key: string, value: T): void {
      values.delete(key);
      values.set(key, value);
      if (values.size <= MOST_REMEMBERED) return;
      const [oldest] = values.keys();
      if (oldest !== undefined) values.delete(oldest);
    },
    remove: (key: string) => void values.delete(key),
    forget(isOld: (value: T) => boolean): void {
      for (const [key, value] of values) if (isOld(value)) values.delete(key);
    },
    size: () => values.size,
  };
}
