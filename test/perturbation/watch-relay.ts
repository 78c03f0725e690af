import type { IncomingMessage, ServerResponse } from "node:http";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { Forward, TakeOver } from "../../tools/chaos/proxy.ts";

/** An event that the operator's watches carry. Events of the same name are counted from 1. */
export type WatchEvent = { name: string; occurrence: number };

export type WatchRelay = TakeOver & {
  /** Events count from now on. */
  arm(): void;
  events(): readonly WatchEvent[];
  /** Whether the event was missed. */
  missed(): boolean;
  /** Lists show the state of `resourceVersion` until `lagMs` have passed. */
  lagBehind(resourceVersion: string, lagMs: number): void;
};

/** A watch whose event was left out ends after this time, and the operator lists again. */
const GAP_MS = 1_200;

const event = z.object({
  type: z.enum(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]),
  object: z.object({
    kind: z.string(),
    metadata: z.object({ annotations: z.record(z.string(), z.string()).optional() }).optional(),
  }),
});
const list = z.object({ items: z.array(z.looseObject({})), kind: z.string(), apiVersion: z.string() });

/** @param target the event that is never delivered */
export function createWatchRelay(target?: WatchEvent): WatchRelay {
  const events: WatchEvent[] = [];
  const counts = new Map<string, number>();
  let armed = false;
  let missed = false;
  let stale: { resourceVersion: string; lagMs: number; until: number } | undefined;

  /** Whether a line is left out. */
  function leavesOut(line: string): boolean {
    if (!armed) return false;
    const { type, object } = event.parse(JSON.parse(line));
    if (type === "BOOKMARK" || type === "ERROR") return false;
    const name = `${type} ${object.kind}`;
    const occurrence = (counts.get(name) ?? 0) + 1;
    counts.set(name, occurrence);
    events.push({ name, occurrence });
    if (missed || target?.name !== name || target.occurrence !== occurrence) return false;
    missed = true;
    return true;
  }

  return {
    arm: () => {
      armed = true;
    },
    events: () => events,
    missed: () => missed,
    lagBehind: (resourceVersion, lagMs) => {
      stale = { resourceVersion, lagMs, until: performance.now() + lagMs };
    },
    async answer({ method, path }, outgoing, forward) {
      const url = new URL(path, "http://proxy.invalid");
      const isInitial = url.searchParams.get("sendInitialEvents") === "true";
      if (method !== "GET" || stale === undefined || performance.now() > stale.until || !isInitial) return false;
      await answerFromThePast(url, outgoing, { forward, ...stale });
      return true;
    },
    relay({ path }, answer, outgoing) {
      const { searchParams } = new URL(path, "http://proxy.invalid");
      if (searchParams.get("watch") !== "true" || answer.statusCode !== 200) return false;
      // The initial events of a list are no changes.
      let isList = searchParams.get("sendInitialEvents") === "true";
      outgoing.writeHead(200, answer.headers);
      outgoing.flushHeaders();
      outgoing.on("close", () => answer.destroy());
      const lines = createInterface({ input: answer });
      lines.on("line", (line) => {
        if (isList) isList = !line.includes("k8s.io/initial-events-end");
        else if (leavesOut(line)) {
          setTimeout(() => {
            outgoing.end(`${GONE}\n`);
            answer.destroy();
          }, GAP_MS);
          return;
        }
        if (outgoing.writable) outgoing.write(`${line}\n`);
      });
      lines.on("close", () => outgoing.end());
      answer.on("error", () => outgoing.destroy());
      return true;
    },
  };
}

const GONE = JSON.stringify({
  type: "ERROR",
  object: {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    code: 410,
    reason: "Expired",
    message: "gone",
  },
});

/** A streamed list of an earlier state, then silence, and then all changes since. */
async function answerFromThePast(
  url: URL,
  outgoing: ServerResponse,
  { forward, resourceVersion, lagMs }: { forward: Forward; resourceVersion: string; lagMs: number },
): Promise<void> {
  const listed = await textOf(
    await forward(`${url.pathname}?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`),
  );
  const { items, kind, apiVersion } = list.parse(JSON.parse(listed));
  const type = { kind: kind.replace(/List$/, ""), apiVersion };
  outgoing.writeHead(200, { "content-type": "application/json" });
  for (const item of items) outgoing.write(`${JSON.stringify({ type: "ADDED", object: { ...type, ...item } })}\n`);
  const metadata = { resourceVersion, annotations: { "k8s.io/initial-events-end": "true" } };
  outgoing.write(`${JSON.stringify({ type: "BOOKMARK", object: { ...type, metadata } })}\n`);
  await sleep(lagMs);
  const query = `watch=true&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=${resourceVersion}`;
  const changes = await forward(`${url.pathname}?${query}`);
  outgoing.on("close", () => changes.destroy());
  changes.on("error", () => outgoing.destroy());
  changes.pipe(outgoing);
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of answer.setEncoding("utf8")) text += String(piece);
  return text;
}
