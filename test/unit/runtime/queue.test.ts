import { describe, expect, it } from "vitest";
import { createWorkQueue, type WorkQueue, type WorkQueueOptions } from "../../../src/runtime/queue.ts";
import { createFakeClock, type FakeClock, settle } from "../../support/fake-clock.ts";

function make(options: Partial<WorkQueueOptions> = {}): { clock: FakeClock; queue: WorkQueue } {
  const clock = createFakeClock();
  const backoff = { baseMs: 100, capMs: 1_000, jitter: 0, random: () => 0.5 };
  return { clock, queue: createWorkQueue({ clock, backoff, ...options }) };
}

/** Takes keys that are ready now, in order, each done at once. */
async function drain(queue: WorkQueue, most = Number.POSITIVE_INFINITY): Promise<string[]> {
  const taken: string[] = [];
  while (taken.length < most && queue.depth() > 0) {
    const key = await queue.next();
    if (key === undefined) break;
    taken.push(key);
    queue.done(key);
  }
  return taken;
}

describe("a key", () => {
  it("that is added many times is handed out once", async () => {
    const { queue } = make();
    for (let i = 0; i < 5; i++) queue.add("team/a");
    expect(queue.depth()).toBe(1);
    expect(await drain(queue)).toEqual(["team/a"]);
  });

  it("wakes a worker that waits", async () => {
    const { queue } = make();
    const waiting = queue.next();
    queue.add("team/a");
    expect(await waiting).toBe("team/a");
  });

  it("is never with two workers, and runs once more when it is added while it runs", async () => {
    const { queue } = make();
    queue.add("team/a");
    await queue.next();
    queue.add("team/a");
    queue.add("team/a");
    let second: string | undefined;
    void queue.next().then((key) => {
      second = key;
    });
    await settle();
    expect(second).toBeUndefined();
    queue.done("team/a");
    await settle();
    expect(second).toBe("team/a");
    queue.done("team/a");
    expect(queue.depth()).toBe(0);
  });

  it("that is not added while it runs does not run again", async () => {
    const { queue, clock } = make();
    queue.add("team/a");
    await drain(queue);
    await clock.advance(3_600_000);
    expect(queue.depth()).toBe(0);
  });

  it("comes at its time, not before", async () => {
    const { queue, clock } = make();
    queue.add("team/a", { afterMs: 5_000 });
    await clock.advance(4_999);
    expect(queue.depth()).toBe(0);
    await clock.advance(1);
    expect(await drain(queue)).toEqual(["team/a"]);
  });

  it.each([
    { name: "earlier", first: 5_000, second: 1_000, expected: 1_000 },
    { name: "later", first: 1_000, second: 5_000, expected: 1_000 },
    { name: "now", first: 5_000, second: 0, expected: 0 },
  ])("that waits keeps the earliest time when it is added again for $name", async ({ first, second, expected }) => {
    const { queue, clock } = make();
    queue.add("team/a", { afterMs: first });
    queue.add("team/a", { afterMs: second });
    await clock.advance(expected - 1);
    expect(queue.depth()).toBe(expected === 0 ? 1 : 0);
    await clock.advance(1);
    expect(await drain(queue)).toEqual(["team/a"]);
    await clock.advance(10_000);
    expect(queue.depth()).toBe(0);
  });

  it("that runs keeps the earliest time that was added meanwhile", async () => {
    const { queue, clock } = make();
    queue.add("team/a");
    await queue.next();
    queue.add("team/a", { afterMs: 5_000 });
    queue.add("team/a", { afterMs: 1_000 });
    queue.add("team/a", { afterMs: 9_000 });
    queue.done("team/a");
    await clock.advance(999);
    expect(queue.depth()).toBe(0);
    await clock.advance(1);
    expect(await drain(queue)).toEqual(["team/a"]);
  });
});

describe("priority", () => {
  it("lets real changes overtake the keys of an initial list", async () => {
    const { queue } = make();
    for (const name of ["a", "b", "c"]) queue.add(`team/${name}`, { priority: "low" });
    queue.add("team/changed");
    expect((await drain(queue))[0]).toBe("team/changed");
  });

  it("rises, and never falls, when a key is added again", async () => {
    const { queue } = make();
    for (const name of ["a", "b"]) queue.add(`team/${name}`, { priority: "low" });
    queue.add("team/b");
    queue.add("team/b", { priority: "low" });
    expect(await drain(queue)).toEqual(["team/b", "team/a"]);
  });

  it("rises also while a key waits for its time", async () => {
    const { queue, clock } = make();
    queue.add("team/a", { afterMs: 100, priority: "low" });
    queue.add("team/b", { afterMs: 100, priority: "low" });
    queue.add("team/b", { afterMs: 500, priority: "high" });
    await clock.advance(100);
    expect(await drain(queue)).toEqual(["team/b", "team/a"]);
  });

  it("leaves the keys of an initial list one turn in eight under any load", async () => {
    const { queue } = make();
    for (let i = 0; i < 10; i++) queue.add(`team/low-${i}`, { priority: "low" });
    for (let i = 0; i < 200; i++) queue.add(`team/high-${i}`);
    const taken = await drain(queue, 80);
    expect(taken.filter((key) => key.includes("low"))).toHaveLength(10);
    for (let turn = 0; turn < 10; turn++) {
      expect(taken.slice(turn * 8, turn * 8 + 8).filter((key) => key.includes("low"))).toHaveLength(1);
    }
  });
});

describe("fairness", () => {
  it("lets one key of a namespace pass 10,000 of another's", async () => {
    const { queue } = make();
    for (let i = 0; i < 10_000; i++) queue.add(`big/${i}`);
    queue.add("small/one");
    expect(await drain(queue, 2)).toContain("small/one");
  });

  it("gives namespaces turns, in their order inside", async () => {
    const { queue } = make();
    for (const key of ["a/1", "a/2", "a/3", "b/1", "b/2", "c/1", "cluster-scoped"]) queue.add(key);
    expect(await drain(queue)).toEqual(["a/1", "b/1", "c/1", "cluster-scoped", "a/2", "b/2", "a/3"]);
  });
});

describe("backoff", () => {
  async function delays(times: number, forgetAfter = -1): Promise<number[]> {
    const { queue, clock } = make();
    const seen: number[] = [];
    for (let i = 0; i < times; i++) {
      if (i === forgetAfter) queue.forget("team/a");
      queue.addRateLimited("team/a");
      const before = clock.now();
      while (queue.depth() === 0) await clock.advance(50);
      seen.push(clock.now() - before);
      await drain(queue);
    }
    return seen;
  }

  it("doubles with each failure, up to its cap", async () => {
    expect(await delays(6)).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  });

  it("begins anew once it is forgotten", async () => {
    expect(await delays(5, 3)).toEqual([100, 200, 400, 100, 200]);
  });

  it("is each key's own", async () => {
    const { queue } = make();
    queue.addRateLimited("team/a");
    queue.addRateLimited("team/b");
    expect(queue.retries()).toBe(2);
    queue.forget("team/a");
    expect(queue.retries()).toBe(1);
  });
});

describe("shutting down", () => {
  it("sends every waiting worker home and hands out nothing more", async () => {
    const { queue, clock } = make();
    queue.add("team/running");
    await queue.next();
    queue.add("team/later", { afterMs: 10 });
    const waiting = [queue.next(), queue.next()];
    queue.shutDown();
    expect(await Promise.all(waiting)).toEqual([undefined, undefined]);
    queue.add("team/new");
    queue.add("team/running");
    queue.done("team/running");
    await clock.advance(1_000);
    expect(await queue.next()).toBeUndefined();
    expect(clock.timers()).toBe(0);
  });
});

describe("an idle queue", () => {
  it("has no key that is ready or runs; a key that waits for its time does not count", async () => {
    const { queue, clock } = make();
    await queue.idle();
    queue.add("team/later", { afterMs: 1_000 });
    await queue.idle();
    let idle = false;
    queue.add("team/a");
    void queue.idle().then(() => {
      idle = true;
    });
    await queue.next();
    queue.add("team/a"); // runs once more
    queue.done("team/a");
    await clock.advance(0);
    expect(idle).toBe(false);
    await queue.next();
    queue.done("team/a");
    await clock.advance(0);
    expect(idle).toBe(true);
  });

  it("is one that is shut down", async () => {
    const { queue } = make();
    queue.add("team/a");
    const idle = queue.idle();
    queue.shutDown();
    await idle;
    await queue.idle();
  });
});

describe("metrics of the queue", () => {
  it("are adds, retries and how long a key stood ready", async () => {
    const told: string[] = [];
    const { queue, clock } = make({
      onAdd: () => told.push("add"),
      onRetry: () => told.push("retry"),
      onWait: (seconds) => told.push(`waited ${seconds}`),
    });
    queue.add("team/a", { afterMs: 1_000 });
    await clock.advance(1_000);
    await clock.advance(250);
    await drain(queue);
    queue.addRateLimited("team/a");
    expect(told).toEqual(["add", "waited 0.25", "retry", "add"]);
  });
});
