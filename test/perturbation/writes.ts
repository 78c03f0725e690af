import type { Trap } from "../../tools/chaos/proxy.ts";

/** The server that a write is for. */
export type Side = "kubernetes" | "service";

/** The writes of a scenario with the same name are counted from 1. */
export type Write = { side: Side; name: string; occurrence: number };

/** `Before`: the server never gets the write. `After`: the server has applied it, and the operator never gets the response. */
export type CrashPoint = Write & { moment: "before" | "after" };

export function crashPointsOf(writes: readonly Write[]): CrashPoint[] {
  return writes.flatMap((write): CrashPoint[] => [
    { ...write, moment: "before" },
    { ...write, moment: "after" },
  ]);
}

export function describePoint({ side, name, occurrence, moment }: CrashPoint): string {
  return `${moment} ${side} ${name} #${occurrence}`;
}

/** The writes that pass the proxies of one world, and the crash point where the operator dies. */
export type WriteLog = {
  trap(side: Side): Trap;
  /** Writes count from now on. */
  arm(): void;
  writes(): readonly Write[];
  /** Whether the operator was at the crash point. */
  reached(): boolean;
  /** The operator is dead: the writes of the next process pass. */
  release(): void;
};

export function createWriteLog(point?: CrashPoint): WriteLog {
  const writes: Write[] = [];
  const counts = new Map<string, number>();
  let armed = false;
  let state: "waiting" | "dying" | "over" = "waiting";

  return {
    trap:
      (side) =>
      ({ method, path }) => {
        if (method === "GET" || !armed) return "pass";
        // Between the signal and the end of the process, nothing of it may take effect.
        if (state === "dying") return "before";
        const name = nameOf(method, path);
        const occurrence = (counts.get(`${side} ${name}`) ?? 0) + 1;
        counts.set(`${side} ${name}`, occurrence);
        writes.push({ side, name, occurrence });
        const isPoint = point?.side === side && point.name === name && point.occurrence === occurrence;
        if (state !== "waiting" || !isPoint) return "pass";
        state = "dying";
        return point.moment;
      },
    arm: () => {
      armed = true;
    },
    writes: () => writes,
    reached: () => state !== "waiting",
    release: () => {
      if (state === "dying") state = "over";
    },
  };
}

/** Method, resource and subresource; names of objects only where the operator chose them. */
function nameOf(method: string, path: string): string {
  const { pathname } = new URL(path, "http://proxy.invalid");
  const kubernetes = /^\/(?:api\/v1|apis\/[^/]+\/[^/]+)(?:\/namespaces\/[^/]+)?\/([a-z]+)(?:\/([^/]+))?(\/status)?$/;
  const [, resource, object, subresource = ""] = kubernetes.exec(pathname) ?? [];
  if (resource === undefined) return `${method} ${pathname.replace(/[0-9a-f]{16,}/g, "ID")}`;
  const named = resource === "configmaps" && object !== undefined ? `/${object}` : "";
  return `${method} ${resource}${named}${subresource}`;
}
