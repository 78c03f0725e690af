import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/base/clock.ts";
import type { Resource } from "../../../src/kube/resource.ts";
import type { Controller } from "../../../src/runtime/controller.ts";
import { createManager, type Manager, type ManagerOptions } from "../../../src/runtime/manager.ts";
import { createFakeClock, settle, until } from "../../support/fake-clock.ts";
import { capturedLog, silentLog } from "../../support/scripted-api-server.ts";

const resource = (plural: string): Resource => ({ group: "g", version: "v1", plural, kind: plural, namespaced: true });

type World = {
  manager: Manager;
  log: string[];
  lost: AbortController;
  lists: Map<string, () => void>;
  stop: AbortController;
  run: () => Promise<void>;
};

/** Parts that write down when they are asked to do what; lists end when told to. */
function world(change: Partial<ManagerOptions> = {}, options: { failing?: string } = {}): World {
  const log: string[] = [];
  const lost = new AbortController();
  const stop = new AbortController();
  const lists = new Map<string, () => void>();
  const step = async (name: string) => {
    log.push(name);
    await settle();
    if (options.failing === name) throw new Error(`${name} failed`);
    log.push(`${name} done`);
  };
  const informer = (name: string): ManagerOptions["informers"][number][number] => {
    let synced = false;
    return {
      resource: resource(name),
      synced: () => synced,
      stopped: () => step(`${name} stopped`),
      start: (signal) => {
        log.push(`list ${name}`);
        signal.addEventListener("abort", () => log.push(`end ${name}`));
        return new Promise((resolve) => {
          lists.set(name, () => {
            synced = true;
            resolve();
          });
          signal.addEventListener("abort", () => resolve());
        });
      },
    };
  };
  const controller = (name: string): Controller => ({
    name,
    enqueue: () => {},
    start: () => void log.push(name),
    idle: async () => {},
    stop: () => step(`stop ${name}`),
  });
  const manager = createManager({
    members: {
      join: () => step("join"),
      lost: lost.signal,
      setReady: (ready) => void log.push(ready ? "ready" : "not ready"),
      leave: () => step("leave"),
    },
    prepare: () => step("prepare"),
    informers: [[informer("accounts")], [informer("things"), informer("others")]],
    onListed: (group) => void log.push(`listed ${group}`),
    handOver: async (isLost) => void log.push(isLost ? "lost" : "hand over"),
    controllers: [[controller("work")]],
    runnables: [1, 2].map((n) => ({
      name: `r${n}`,
      start: () => void log.push(`run ${n}`),
      drain: () => (options.failing === `drain ${n}` ? step(`drain ${n}`) : Promise.resolve()),
      stop: () => (options.failing === `end ${n}` ? step(`end ${n}`) : void log.push(`end ${n}`)),
    })),
    clock: systemClock,
    log: silentLog,
    stopDeadlineMs: 1_000,
    ...change,
  });
  return { manager, log, lost, lists, stop, run: () => manager.run(stop.signal) };
}

/** Controllers in two groups; the first is busy until `accounts` resolves. They write into the log of `world`. */
function groups({ log }: World) {
  const accounts = Promise.withResolvers<void>();
  const controller = (name: string, idle: () => Promise<void>): Controller => ({
    name,
    enqueue: () => {},
    start: () => void log.push(name),
    idle,
    stop: async () => {},
  });
  return {
    accounts,
    controllers: [[controller("accounts", () => accounts.promise)], [controller("endpoints", async () => {})]],
  };
}

/** The list of accounts is there, and the other two are under way. */
async function listAccounts({ lists }: World): Promise<void> {
  await until(() => lists.size === 1);
  lists.get("accounts")?.();
  await until(() => lists.size === 3);
  await settle();
}

async function finishLists(w: World): Promise<void> {
  await listAccounts(w);
  for (const finish of w.lists.values()) finish();
  await settle();
}

const start = [
  "join",
  "prepare",
  "list accounts",
  "join done",
  "prepare done",
  "listed 0",
  "list things",
  "list others",
];
const ending = [
  "not ready",
  "hand over",
  "stop work",
  "stop work done",
  "end 2",
  "end 1",
  "end accounts",
  "end things",
];

describe("starting", () => {
  it("is joining and preparation beside the lists of accounts, the other lists, work: in this order and no other", async () => {
    const w = world();
    void w.run();
    await listAccounts(w);
    expect(w.log).toEqual(start);
    w.lists.get("things")?.();
    await settle();
    expect(w.log).toEqual(start); // one list is not enough
    w.lists.get("others")?.();
    await until(() => w.log.includes("work"));
    expect(w.log.slice(start.length)).toEqual(["listed 1", "ready", "run 1", "run 2", "work"]);
    w.stop.abort();
  });

  it("starts the second group of controllers when the first has reconciled its objects", async () => {
    const w = world();
    const { accounts, controllers } = groups(w);
    const grouped = world({ controllers, clock: createFakeClock() });
    void grouped.run();
    await finishLists(grouped);
    expect(w.log).toEqual(["accounts"]);
    accounts.resolve();
    await until(() => w.log.length === 2);
    expect(w.log).toEqual(["accounts", "endpoints"]);
    grouped.stop.abort();
  });

  it("starts the second group of controllers after 1 s, whatever the first does", async () => {
    const w = world();
    const clock = createFakeClock();
    const grouped = world({ controllers: groups(w).controllers, clock });
    void grouped.run();
    await finishLists(grouped);
    await clock.advance(999);
    expect(w.log).toEqual(["accounts"]);
    await clock.advance(1);
    await until(() => w.log.length === 2);
    grouped.stop.abort();
  });

  it("does not start the second group of controllers when it is told to stop", async () => {
    const w = world();
    const grouped = world({ controllers: groups(w).controllers, clock: createFakeClock() });
    const running = grouped.run();
    await finishLists(grouped);
    grouped.stop.abort();
    await running;
    expect(w.log).not.toContain("endpoints");
    expect(grouped.log).toContain("leave done");
  });

  it.each(["join", "prepare"])("starts no work when the step %s fails, and ends the lease", async (failing) => {
    const w = world({}, { failing });
    await expect(w.run()).rejects.toThrow(`${failing} failed`);
    expect(w.log).not.toContain("list things");
    expect(w.log.at(-1)).toBe("leave done");
  });
});

describe("stopping", () => {
  /** Runs until it is told to end; resolves with how it ended. */
  async function ended(w: World, end: () => void): Promise<string> {
    const run = w.run().then(
      () => "ended",
      (error: unknown) => String(error),
    );
    await finishLists(w);
    await until(() => w.log.includes("work"));
    end();
    return run;
  }

  it("hands over first, then goes the way back: workers, runnables, watches, and the lease last", async () => {
    const w = world();
    expect(await ended(w, () => w.stop.abort())).toBe("ended");
    const log = w.log.slice(w.log.indexOf("work") + 1);
    expect(log.slice(0, ending.length)).toEqual(ending);
    expect(log.slice(-2)).toEqual(["leave", "leave done"]);
    expect(log.indexOf("things stopped done")).toBeLessThan(log.indexOf("leave"));
  });

  it("waits for requests under way until the stop deadline, and then for what has come of them", async () => {
    const aborts: string[] = [];
    const until = (name: string, signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => {
          aborts.push(name);
          resolve();
        });
      });
    const w = world({
      stopDeadlineMs: 100,
      runnables: [{ name: "r", start: () => {}, drain: (signal) => until("drain", signal), stop: () => {} }],
      controllers: [
        [
          {
            name: "c",
            enqueue: () => {},
            start: () => void w.log.push("work"),
            idle: async () => {},
            stop: async (signal) => void aborts.push(`recording: ${signal.aborted}`),
          },
        ],
      ],
    });
    expect(await ended(w, () => w.stop.abort())).toBe("ended");
    expect(aborts).toEqual(["drain", "recording: false"]);
  });

  it.each([
    { name: "a runnable fails to drain", failing: "drain 2" },
    { name: "a runnable fails to stop", failing: "end 2" },
    { name: "a controller fails to stop", failing: "stop work" },
    { name: "a watch fails to stop", failing: "things stopped" },
  ])("ends the lease although $name, and stops everything else", async ({ failing }) => {
    const { log, lines } = capturedLog("error");
    const w = world({ log }, { failing });
    expect(await ended(w, () => w.stop.abort())).toBe(`Error: ${failing} failed`);
    const later = ["stop work", "end 2", "end 1", "end things", "others stopped done", "leave done"];
    expect(w.log.filter((one) => later.includes(one))).toEqual(later);
    expect(w.log.at(-1)).toBe("leave done");
    expect(lines).toMatchObject([{ reason: `Error: ${failing} failed` }]);
  });

  it("while it still lists starts no work", async () => {
    const w = world();
    const run = w.run();
    await listAccounts(w);
    w.stop.abort();
    await run;
    expect(w.log).not.toContain("work");
    expect(w.log.at(-1)).toBe("leave done");
  });

  it("does not work when the lease is lost during the first lists", async () => {
    const w = world();
    const run = w.run();
    await listAccounts(w);
    w.lost.abort(new Error("lease lost"));
    await expect(run).rejects.toThrow("lease lost");
    expect(w.log).not.toContain("work");
  });

  it("comes by itself when the lease is lost, as an error: the process must end", async () => {
    const w = world();
    expect(await ended(w, () => w.lost.abort(new Error("lease lost")))).toBe("Error: lease lost");
    expect(w.log).toContain("stop work done");
    expect(w.log.filter((one) => one === "lost" || one === "hand over")).toEqual(["lost"]);
  });
});

describe("readiness", () => {
  it("does not hold while the first lists are under way", async () => {
    const w = world();
    void w.run();
    await listAccounts(w);
    w.lists.get("things")?.();
    expect(() => w.manager.ready()).toThrow("waiting for the first list of others");
    w.lists.get("others")?.();
    expect(() => w.manager.ready()).not.toThrow();
    w.stop.abort();
  });
});
