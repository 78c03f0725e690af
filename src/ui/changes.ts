import type { Writable } from "node:stream";
import type { Clock } from "../base/clock.ts";
import type { ClusterSession, ObjectName } from "./cluster-session.ts";
import type { ChangeMessage, SessionState } from "./view-types.ts";

/** Shortest time between two messages about changes, ms: a burst is two messages. */
const COLLECT_MS = 250;
/** How long the first change after a quiet time waits for those that come with it, ms. */
const FIRST_MS = 20;
/** Longest time between two messages, ms: after a longer silence, the page knows that the connection is broken. */
const PING_MS = 10_000;
/** Keys that a message names; more changes are named by their kinds only. */
const MAX_KEYS = 100;
/** Bytes that a slow reader leaves unread before its connection is ended; the browser then connects again. */
const MAX_BACKLOG = 1024 * 1024;

export type ChangeStream = { session: ClusterSession; state(): SessionState; clock: Clock };

/**
 * Sends Server-Sent Events until the reader disconnects: `state` first and when it changes, `change` after changes of objects,
 * and `ping`. The page reads again what it shows, so a lost message costs nothing but time.
 */
export function streamChanges(response: Writable, { session, state, clock }: ChangeStream): void {
  const kinds = new Set<string>();
  const keys = new Set<string>();
  let stateSent = "";
  let flushedAt = Number.NEGATIVE_INFINITY;
  let cancelCollect: (() => void) | undefined;
  let cancelPing = () => {};

  function send(event: "state" | "change" | "ping", data: string): void {
    response.write(`event: ${event}\ndata: ${data}\n\n`);
    if (response.writableLength > MAX_BACKLOG) response.destroy();
    cancelPing();
    cancelPing = clock.setTimeout(() => send("ping", "{}"), PING_MS);
  }

  function flush(): void {
    cancelCollect = undefined;
    flushedAt = clock.monotonic();
    const now = JSON.stringify(state());
    if (now !== stateSent) send("state", now);
    stateSent = now;
    if (kinds.size === 0) return;
    const message: ChangeMessage = { kinds: [...kinds], keys: keys.size > MAX_KEYS ? undefined : [...keys] };
    kinds.clear();
    keys.clear();
    send("change", JSON.stringify(message));
  }

  function collect(changed: ObjectName | undefined): void {
    if (changed !== undefined) {
      kinds.add(changed.kind);
      if (keys.size <= MAX_KEYS) keys.add(`${changed.kind}/${changed.namespace}/${changed.name}`);
    }
    cancelCollect ??= clock.setTimeout(flush, Math.max(FIRST_MS, flushedAt + COLLECT_MS - clock.monotonic()));
  }

  const unsubscribe = session.subscribe(collect);
  response.once("close", () => {
    unsubscribe();
    cancelCollect?.();
    cancelPing();
  });
  flush();
}
