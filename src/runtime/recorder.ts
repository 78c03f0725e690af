import type { Logger } from "pino";
import { aborted, type Clock } from "../base/clock.ts";
import { createFairQueue } from "../base/fair-queue.ts";
import { plainText } from "../base/sanitizer.ts";
import { createPace } from "../base/token-bucket.ts";
import type { KubeClient } from "../kube/client.ts";
import { apiVersionOf, eventResource, type Resource } from "../kube/resource.ts";
import type { KubeObject, ObjectMeta } from "../kube/types.ts";
import { createEventMemory } from "./event-memory.ts";

/** `action` is what was being done (events.k8s.io/v1), `reason` why this is told; `note` at most 1,024 bytes. */
export type EmitEvent = (object: KubeObject, reason: string, action: string, note: string) => void;

/**
 * Tells the people who look at an object what happened. Never waits, never fails the caller. Namespaces take turns: many
 * events of one namespace neither delay nor replace those of another.
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

/** Above this length the namespace with the most events loses its oldest one. */
const QUEUE_LENGTH = 1_000;
/** Events a second once a burst of 50 is used up: telling what happened must not slow down what happens. */
const EVENTS_PER_SECOND = 20;
const EVENTS_AT_ONCE = 50;
/** The API server counts bytes (1,024). */
const NOTE_BYTES = 1_024;

export function createEventRecorder(options: RecorderOptions): EventRecorder {
  const { client, clock, log } = options;
  const memory = createEventMemory(clock);
  const queue = createFairQueue<Queued>();
  let draining: Promise<void> | undefined;
  const pace = createPace(clock, EVENTS_PER_SECOND, EVENTS_AT_ONCE);
  /** At the end, what is queued goes out without pauses. */
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

  function push(namespace: string, event: Queued): void {
    if (queue.size() >= QUEUE_LENGTH) queue.shiftLongest()?.value.dropped();
    queue.push(namespace, String(pushed++), event);
    draining ??= drain().finally(() => {
      draining = undefined;
    });
  }

  function emitterOf(type: "Normal" | "Warning"): EmitEvent {
    return (object, reason, action, note) => {
      const { uid = "", name, namespace = "default" } = object.metadata;
      const text = cutToBytes(plainText(note, NOTE_BYTES), NOTE_BYTES);
      const key = [uid, type, reason, action, text].join("\n");
      const microTime = new Date(clock.now()).toISOString().replace("Z", "000Z");
      const known = memory.countUp(key);
      if (known !== undefined) {
        const change = { series: { count: known.count, lastObservedTime: microTime } };
        push(namespace, { send: () => client.mergePatch(eventResource, known, change), dropped: () => {} });
        return;
      }
      if (!memory.allows(uid)) return;
      const eventName = `${name.slice(0, 200)}.${Math.trunc(clock.now()).toString(16)}${(sequence++).toString(16)}`;
      memory.begin(key, { name: eventName, namespace });
      const body = eventOf(
        { name: eventName, namespace },
        {
          ...{ type, reason, action, note: text, eventTime: microTime, ...reporter },
          regarding: referenceTo(object, options.resourceOf(object)),
        },
      );
      const forget = () => memory.forget(key); // there is nothing to count up
      const send = async () => {
        try {
          await client.create(eventResource, { namespace }, body);
        } catch (error) {
          forget();
          throw error;
        }
      };
      push(namespace, { send, dropped: forget });
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
