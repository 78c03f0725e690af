import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { lines } from "../../src/kube/client.ts";
import type { Random } from "../../src/simulator/random.ts";
import { type ChaosSettings, drawPause, type StreamFault } from "./chaos-faults.ts";

export type StreamOptions = {
  settings: ChaosSettings;
  random: Random;
  /** Bookmarks were asked for. */
  bookmarks: boolean;
  /** The version that the watch resumes from. */
  from: string | undefined;
  /** It begins with a list: there is nothing to bookmark before its end. */
  initialEvents: boolean;
  calm: () => boolean;
  draw: (bookmarks: boolean) => StreamFault;
  onFault: (fault: StreamFault) => void;
};

type Item = { line: string } | "fault" | "end" | "broken";

const PIECES = 5;
const CUT_WAITS_MS = 1_000;

/**
 * Hands a watch on line by line, with faults in between, until one of the sides ends it. A bookmark that is added tells
 * of what has been handed on and never of more: no client could see through that, and no server sends it.
 */
export async function relayStream(
  answer: IncomingMessage,
  outgoing: ServerResponse,
  options: StreamOptions,
): Promise<void> {
  const { settings, random } = options;
  const mailbox = createMailbox<Item>();
  /** Versions handed on, oldest first. */
  const versions: string[] = options.from === undefined ? [] : [options.from];
  let listing = options.initialEvents;
  let bookmark: Pick<WatchLine["object"], "kind" | "apiVersion"> = {};
  let lastLine = '{"type":"MODIFIED","object":{"kind":"';
  let slowUntil = 0;
  let timer: NodeJS.Timeout | undefined;

  const plan = () => {
    timer = setTimeout(() => mailbox.put("fault"), drawPause(settings, random));
  };
  const write = async (line: string) => {
    if (performance.now() >= slowUntil) {
      outgoing.write(`${line}\n`);
      return;
    }
    for (const piece of inPieces(`${line}\n`, PIECES)) {
      outgoing.write(piece);
      await sleep(20);
    }
  };
  const writeBookmark = (resourceVersion: string) =>
    write(JSON.stringify({ type: "BOOKMARK", object: { ...bookmark, metadata: { resourceVersion } } }));
  const deliver = async (line: string) => {
    await write(line);
    lastLine = line;
    const { type, object } = JSON.parse(line) as WatchLine;
    bookmark = { kind: object.kind, apiVersion: object.apiVersion };
    const ended = type === "BOOKMARK" && object.metadata?.annotations?.["k8s.io/initial-events-end"] === "true";
    if (ended) listing = false;
    if (!listing && object.metadata?.resourceVersion !== undefined) versions.push(object.metadata.resourceVersion);
    if (versions.length > 1_000) versions.splice(0, 500);
  };
  /** Half of the next line, or of the last one when none comes. */
  const writeHalf = async () => {
    const next = await mailbox.take(CUT_WAITS_MS);
    const line = typeof next === "object" ? next.line : lastLine;
    outgoing.write(line.slice(0, Math.floor(line.length * (0.1 + 0.8 * random.next()))));
  };

  /** Returns whether the watch goes on. */
  async function strike(fault: StreamFault): Promise<boolean> {
    options.onFault(fault);
    switch (fault) {
      case "cutMidLine":
        await writeHalf();
        await sleep(10); // so that the half line is not lost with the connection
        outgoing.destroy();
        return false;
      case "endMidLine":
        await writeHalf();
        outgoing.end();
        return false;
      case "close":
        outgoing.end();
        return false;
      case "goneEvent":
        outgoing.end(`${errorEvent(410, "Expired", "too old resource version")}\n`);
        return false;
      case "errorEvent":
        outgoing.end(`${errorEvent(500, "InternalError", "chaos")}\n`);
        return false;
      case "silence":
        await sleep(settings.silenceMs);
        return true;
      case "slowBytes":
        slowUntil = performance.now() + settings.slowMs;
        return true;
      case "duplicateBookmark":
        await writeBookmark(versions.at(-1) ?? "");
        await writeBookmark(versions.at(-1) ?? "");
        return true;
      case "lateBookmark":
        await writeBookmark(versions[Math.floor(random.next() * versions.length)] ?? "");
        return true;
    }
  }

  void readInto(mailbox, answer);
  if (outgoing.destroyed) mailbox.put("broken"); // during a silence before the answer
  outgoing.on("close", () => mailbox.put("broken")).on("error", () => mailbox.put("broken"));
  plan();
  try {
    for (;;) {
      const item = await mailbox.take();
      if (item === undefined || item === "broken") {
        outgoing.destroy();
        return;
      }
      if (item === "end") {
        outgoing.end();
        return;
      }
      if (item !== "fault") await deliver(item.line);
      else {
        if (!options.calm() && !(await strike(options.draw(options.bookmarks && versions.length > 0)))) return;
        plan();
      }
    }
  } finally {
    clearTimeout(timer);
    answer.destroy();
  }
}

type WatchLine = {
  type: string;
  object: {
    kind?: string | undefined;
    apiVersion?: string | undefined;
    metadata?: { resourceVersion?: string; annotations?: Record<string, string> };
  };
};

async function readInto(mailbox: Mailbox<Item>, answer: IncomingMessage): Promise<void> {
  try {
    for await (const line of lines(answer)) mailbox.put({ line: String(line) });
    mailbox.put("end");
  } catch {
    mailbox.put("broken"); // the API server is away, or the client has left
  }
}

function errorEvent(code: number, reason: string, message: string): string {
  const object = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", code, reason, message };
  return JSON.stringify({ type: "ERROR", object });
}

export function inPieces(text: string, count: number): string[] {
  const size = Math.max(1, Math.ceil(text.length / count));
  return Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size));
}

type Mailbox<T> = {
  put(item: T): void;
  /** Undefined when nothing came within `timeoutMs`. */
  take(timeoutMs?: number): Promise<T | undefined>;
};

function createMailbox<T>(): Mailbox<T> {
  const items: T[] = [];
  let wake: (() => void) | undefined;
  return {
    put(item) {
      items.push(item);
      wake?.();
    },
    async take(timeoutMs) {
      if (items.length === 0) {
        await new Promise<void>((resolve) => {
          const timer = timeoutMs === undefined ? undefined : setTimeout(resolve, timeoutMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        wake = undefined;
      }
      return items.shift();
    },
  };
}
