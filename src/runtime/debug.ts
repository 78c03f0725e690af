import { Session } from "node:inspector/promises";
import type { Readable } from "node:stream";
import { getHeapSnapshot } from "node:v8";
import { type Clock, delay } from "../base/clock.ts";
import type { LogLevel } from "../base/log.ts";
import type { HttpReply, Page } from "./http.ts";

const DEFAULT_SECONDS = 30;
const MAX_SECONDS = 300;

type DebugParts = {
  clock: Clock;
  level: LogLevel;
  /** Default: of this process. */
  heapSnapshot?: () => Readable;
};

/**
 * Debugging pages under the paths of Kubernetes components: `/debug/pprof/profile` (CPU,
 * `?seconds=`, default 30, 1-300), `/debug/pprof/heap` (a heap snapshot), and `/debug/flags/v` (GET or PUT of the log level).
 * A heap snapshot stops the process while it is made, and has every secret that the process knows.
 */
export function createDebugPages(parts: DebugParts): Record<string, Page> {
  const { clock, level, heapSnapshot = getHeapSnapshot } = parts;
  let busy = false;

  /** One profile or snapshot at a time: each slows the process down. */
  const alone =
    (page: Page): Page =>
    async (request) => {
      if (busy) return { status: 409, body: "another profile or snapshot is being taken: try again later\n" };
      busy = true;
      try {
        return await page(request);
      } finally {
        busy = false;
      }
    };

  return {
    "/debug/pprof/profile": alone(async ({ query, signal }) => {
      const seconds = Number(query.get("seconds") ?? DEFAULT_SECONDS);
      if (!(seconds >= 1 && seconds <= MAX_SECONDS)) {
        return { status: 400, body: `seconds is "${query.get("seconds")}": use 1 to ${MAX_SECONDS}\n` };
      }
      return download("cpuprofile", await cpuProfile(() => delay(clock, seconds * 1_000, signal)));
    }),
    "/debug/pprof/heap": alone(async () => download("heapsnapshot", heapSnapshot())),
    "/debug/flags/v": async ({ method, body }) => {
      if (method === "GET") return { status: 200, body: `${level.get()}\n` };
      if (method !== "PUT") return { status: 405, headers: { allow: "GET, PUT" }, body: "use GET or PUT\n" };
      const wanted = (await body()).trim();
      if (!level.set(wanted)) {
        return { status: 400, body: `log level "${wanted}": use one of ${level.allowed.join(", ")}\n` };
      }
      return { status: 200, body: `the log level is ${wanted} until the operator restarts\n` };
    },
  };
}

function download(extension: string, body: HttpReply["body"]): HttpReply {
  const disposition = `attachment; filename="mooring.${extension}"`;
  return { status: 200, headers: { "content-type": "application/json", "content-disposition": disposition }, body };
}

/** The format that DevTools, VS Code and speedscope read. */
async function cpuProfile(wait: () => Promise<void>): Promise<string> {
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.start");
    await wait();
    const { profile } = await session.post("Profiler.stop");
    return JSON.stringify(profile);
  } finally {
    session.disconnect();
  }
}
