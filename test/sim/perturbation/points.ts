import { type Json, textAt } from "../api-server/json.ts";
import type { Lag } from "../api-server/server.ts";
import type { Snapshot } from "../api-server/storage.ts";
import type { Hooks, Stage } from "../stage/stage.ts";

/** The server that a write is for. */
export type Side = "kubernetes" | "service";

/** Writes, or events of watches, with the same name are counted from 1. */
export type Point = { name: string; occurrence: number };
export type Write = Point & { side: Side };

/** `before`: the server never gets the write. `after`: the server has applied it, and the operator never gets the response. */
export type CrashPoint = Write & { moment: "before" | "after" };

/** What disturbs a run. */
export type Perturbation = {
  /** The operator dies here. */
  crash?: CrashPoint;
  /** After the crash, the lists of the next operator show the state before the crash for some seconds. */
  stale?: true;
  /** The operator never gets this event: its watch ends a second later, and it lists again. */
  missed?: Point;
};

export const describePoint = ({ side, name, occurrence, moment }: CrashPoint): string =>
  `${moment} ${side} ${name} #${occurrence}`;

/** How long a stale API server lags behind the start of the next operator. */
const LAG_MS = 3_000;

/** The writes and events that pass between the operator and both servers of a stage, and the point where it is disturbed. */
export function createPoints({ storage, scheduler }: Stage, { crash, stale, missed }: Perturbation, die: () => void) {
  const writes: Write[] = [];
  const events: Point[] = [];
  const counts = new Map<string, number>();
  let isArmed = false;
  let isReached = false;
  let beginning: Snapshot | undefined;
  let lag: Lag | undefined;
  /** The request after whose effect the operator dies. */
  let struck: object | undefined;

  function counted(key: string): number {
    const occurrence = (counts.get(key) ?? 0) + 1;
    counts.set(key, occurrence);
    return occurrence;
  }

  function strike(state: Snapshot | undefined): void {
    isReached = true;
    struck = undefined;
    if (stale === true && state !== undefined) lag = { state, until: Number.POSITIVE_INFINITY };
    die();
  }

  function sent(side: Side, request: { method: string; path: string }): void {
    if (request.method === "GET" || !isArmed) return;
    const name = nameOf(request.method, request.path);
    const occurrence = counted(`${side} ${name}`);
    writes.push({ side, name, occurrence });
    if (isReached || crash?.side !== side || crash.name !== name || crash.occurrence !== occurrence) return;
    if (crash.moment === "before") strike(undefined);
    else struck = request;
  }

  function loses(line: Json): boolean {
    if (!isArmed) return false;
    const name = `${textAt(line, "type")} ${textAt(line["object"], "kind")}`;
    const occurrence = counted(name);
    events.push({ name, occurrence });
    if (isReached || missed?.name !== name || missed.occurrence !== occurrence) return false;
    isReached = true;
    return true;
  }

  const hooks: Hooks = {
    api: (server) => ({
      server: {
        ...server,
        call(request) {
          const isWrite = request.method !== "GET";
          const before = stale === true && isWrite ? storage.snapshot() : undefined;
          const result = server.call(request);
          if (isWrite) lastBefore = before;
          return result;
        },
      },
      onSend: (request, moment) => {
        if (moment === "Before") sent("kubernetes", request);
      },
      onEffect: (request) => {
        if (request === struck) strike(lastBefore);
      },
      loses,
      lag: () => lag,
    }),
    service: ({ call }) => ({
      onSend: (request, moment) => {
        if (moment === "Before") sent("service", request);
      },
      async call(request) {
        const answer = await call(request);
        if (request === struck) strike(beginning);
        return answer;
      },
    }),
  };
  let lastBefore: Snapshot | undefined;

  return {
    hooks,
    /** Writes and events count from now on. */
    arm() {
      isArmed = true;
      beginning = storage.snapshot();
    },
    /** The next operator starts. */
    restarted() {
      if (lag === undefined) return;
      lag = { ...lag, until: scheduler.now() + LAG_MS };
      scheduler.after(LAG_MS, () => {
        lag = undefined;
      });
    },
    writes: (): readonly Write[] => writes,
    events: (): readonly Point[] => events,
    isReached: () => isReached,
  };
}

/** Method, resource and subresource; names of objects only where the operator chose them. */
function nameOf(method: string, path: string): string {
  const { pathname } = new URL(path, "http://server.invalid");
  const kubernetes = /^\/(?:api\/v1|apis\/[^/]+\/[^/]+)(?:\/namespaces\/[^/]+)?\/([a-z]+)(?:\/([^/]+))?(\/status)?$/;
  const [, resource, object, subresource = ""] = kubernetes.exec(pathname) ?? [];
  if (resource === undefined) return `${method} ${pathname.replace(/[0-9a-f]{16,}/g, "ID")}`;
  const named = resource === "configmaps" && object !== undefined ? `/${object}` : "";
  return `${method} ${resource}${named}${subresource}`;
}
