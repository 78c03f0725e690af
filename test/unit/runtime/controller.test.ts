import { describe, expect, it, onTestFinished } from "vitest";
import { KubeError } from "../../../src/kube/errors.ts";
import { type Controller, createController, type Reconcile } from "../../../src/runtime/controller.ts";
import { createMetrics, type Metrics } from "../../../src/runtime/metrics.ts";
import { createSlices } from "../../../src/runtime/slices.ts";
import { createFakeClock, type FakeClock, settle, until } from "../../support/fake-clock.ts";
import { capturedLog } from "../../support/scripted-api-server.ts";

type World = {
  clock: FakeClock;
  controller: Controller;
  metrics: Metrics;
  lines: Record<string, unknown>[];
  /** When each reconcile began, in ms since the start. */
  runs: { key: string; at: number }[];
  stop: (deadline?: AbortSignal) => Promise<void>;
};

function run(reconcile: Reconcile, { workers = 1, deadlineMs = 60_000 } = {}): World {
  const clock = createFakeClock();
  const began = clock.now();
  const metrics = createMetrics();
  const { log, lines } = capturedLog();
  const runs: World["runs"] = [];
  const controller = createController({
    name: "thing",
    maxConcurrentReconciles: workers,
    deadlineMs,
    clock,
    random: () => 0.5,
    log,
    metrics,
    reconcile: (request, context) => {
      runs.push({ key: request.key, at: clock.now() - began });
      return reconcile(request, context);
    },
  });
  controller.start();
  const stop = (deadline = AbortSignal.abort()) => controller.stop(deadline);
  onTestFinished(() => stop());
  return { clock, controller, metrics, lines, runs, stop };
}

/** Throws or returns what the script says, one step a reconcile; then nothing more to do. */
function scripted(...steps: (() => Awaited<ReturnType<Reconcile>>)[]): Reconcile {
  return async () => steps.shift()?.();
}
const boom = () => {
  throw new Error("the service is away");
};

async function counted(metrics: Metrics, name: string): Promise<Record<string, number>> {
  const metric = await metrics.registry.getSingleMetric(name)?.get();
  return Object.fromEntries((metric?.values ?? []).map(({ labels, value }) => [labels["result"] ?? "all", value]));
}

it("2,000 reconciles that wait for nothing let timers run between them", async () => {
  const slices = createSlices({ maxMs: 1 });
  const controller = createController({
    name: "thing",
    maxConcurrentReconciles: 10,
    deadlineMs: 60_000,
    clock: createFakeClock(),
    random: () => 0.5,
    log: capturedLog().log,
    metrics: createMetrics(),
    slices,
    reconcile: async () => busyFor(0.1),
  });
  onTestFinished(() => controller.stop(AbortSignal.abort()));
  for (let index = 0; index < 2_000; index++) controller.enqueue(`team/${index}`);
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  onTestFinished(() => clearInterval(timer));
  controller.start();
  await controller.idle();
  expect(turns).toBeGreaterThan(10);
});

/** Keeps the process busy for `ms`. */
function busyFor(ms: number): undefined {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe("a reconcile", () => {
  it("receives the parts of the key", async () => {
    const requests: unknown[] = [];
    const w = run(async (request) => void requests.push(request));
    w.controller.enqueue("team/a");
    w.controller.enqueue("cluster-scoped");
    await w.clock.advance(0);
    expect(requests).toEqual([
      { key: "team/a", namespace: "team", name: "a" },
      { key: "cluster-scoped", namespace: undefined, name: "cluster-scoped" },
    ]);
  });

  it("that succeeds is done until something changes", async () => {
    const w = run(scripted());
    w.controller.enqueue("team/a");
    await w.clock.advance(3_600_000);
    expect(w.runs).toHaveLength(1);
    w.controller.enqueue("team/a");
    await w.clock.advance(0);
    expect(w.runs).toHaveLength(2);
  });

  it("that asks to be called again is, at its time", async () => {
    const w = run(scripted(() => ({ requeueAfterMs: 5_000 })));
    w.controller.enqueue("team/a");
    await w.clock.advance(3_600_000);
    expect(w.runs.map(({ at }) => at)).toEqual([0, 5_000]);
  });

  it("that asks again and again to be called at once backs off, until it asks for something else", async () => {
    let waits = 0;
    const w = run(async () => ({ requeueAfterMs: waits }));
    w.controller.enqueue("team/a");
    await w.clock.advance(4_000);
    expect(w.runs.map(({ at }) => at)).toEqual([0, 0, 0, 0, 0, 0, 500, 1_500, 3_500]);
    waits = 10_000;
    await w.clock.advance(20_000);
    waits = 0;
    await w.clock.advance(4_100);
    expect(w.runs.map(({ at }) => at).slice(9)).toEqual([
      7_500, 17_500, 27_500, 27_500, 27_500, 27_500, 27_500, 27_500, 28_000,
    ]);
  });

  it("that fails is repeated after 0.5 s, doubled each time", async () => {
    const w = run(scripted(boom, boom, boom, boom));
    w.controller.enqueue("team/a");
    await w.clock.advance(3_600_000);
    expect(w.runs.map(({ at }) => at)).toEqual([0, 500, 1_500, 3_500, 7_500]);
  });

  it("that fails again and again is repeated every 5 minutes at last", async () => {
    const w = run(async () => boom());
    w.controller.enqueue("team/a");
    await w.clock.advance(3_600_000);
    const [before = 0, last = 0] = w.runs.slice(-2).map(({ at }) => at);
    expect(last - before).toBe(300_000);
  });

  it.each([
    ["nothing", () => undefined],
    ["to be called again", () => ({ requeueAfterMs: 10_000 })],
  ])("that succeeds forgets the backoff, also when it asks for %s", async (_name, success) => {
    const w = run(scripted(boom, boom, success, boom));
    w.controller.enqueue("team/a");
    await w.clock.advance(1_500);
    w.controller.enqueue("team/a");
    await w.clock.advance(20_000);
    const times = w.runs.map(({ at }) => at);
    expect((times.at(-1) ?? 0) - (times.at(-2) ?? 0)).toBe(500);
  });

  it("backs off each key separately", async () => {
    const w = run(async ({ name }) => (name === "bad" ? boom() : undefined));
    w.controller.enqueue("team/bad");
    await w.clock.advance(100_000);
    w.controller.enqueue("team/good");
    await w.clock.advance(0);
    expect(w.runs.at(-1)?.key).toBe("team/good");
  });

  it("that fails while a change arrives runs at once for the change", async () => {
    const w: World = run(async () => {
      if (w.runs.length > 1) return undefined;
      w.controller.enqueue("team/a");
      return boom();
    });
    w.controller.enqueue("team/a");
    await w.clock.advance(0);
    expect(w.runs.map(({ at }) => at)).toEqual([0, 0]);
  });
});

describe("kinds of failure", () => {
  it("a lost optimistic lock is a retry, not an error", async () => {
    const w = run(
      scripted(() => {
        throw new KubeError("changed meanwhile", { status: 409, reason: "Conflict" });
      }),
    );
    w.controller.enqueue("team/a");
    await w.clock.advance(600);
    expect(w.runs.map(({ at }) => at)).toEqual([0, 500]);
    expect(await counted(w.metrics, "controller_runtime_reconcile_total")).toMatchObject({
      requeue: 1,
      success: 1,
      error: 0,
    });
    expect(w.lines.filter(({ level }) => level === 50)).toEqual([]);
  });

  it.each<{ name: string; step: () => never; panics: number }>([
    { name: "an error", step: boom, panics: 0 },
    {
      name: "a bug",
      step: () => {
        throw new TypeError("x is undefined");
      },
      panics: 1,
    },
    {
      name: "a thrown string",
      step: () => {
        throw "out";
      },
      panics: 1,
    },
    {
      name: "a thrown nothing",
      step: () => {
        throw undefined;
      },
      panics: 1,
    },
  ])("$name ends no worker, and is counted and logged once", async ({ step, panics }) => {
    const w = run(scripted(step));
    w.controller.enqueue("team/a");
    await w.clock.advance(0);
    const errors = w.lines.filter(({ level }) => level === 50);
    expect(errors).toEqual([
      expect.objectContaining({ controller: "thing", namespace: "team", object: "a", reconcileID: expect.any(String) }),
    ]);
    expect(await counted(w.metrics, "controller_runtime_reconcile_errors_total")).toEqual({ all: 1 });
    expect(await counted(w.metrics, "controller_runtime_reconcile_panics_total")).toEqual({ all: panics });
    w.controller.enqueue("team/b");
    await w.clock.advance(1_000);
    expect(w.runs.map(({ key }) => key)).toEqual(["team/a", "team/b", "team/a"]);
  });

  it("its deadline aborts a reconcile that hangs, which is then an error", async () => {
    const w = run(
      (_request, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
        ),
      { deadlineMs: 20 },
    );
    w.controller.enqueue("team/a");
    await w.clock.advance(19);
    expect(w.lines.some(({ level }) => level === 50)).toBe(false);
    await w.clock.advance(1);
    await until(() => w.lines.some(({ level }) => level === 50));
    expect(await counted(w.metrics, "controller_runtime_reconcile_total")).toMatchObject({ error: 1, success: 0 });
  });
});

describe("workers", () => {
  it("are limited to the configured number, and never two run on one key", async () => {
    const working: string[] = [];
    const release: (() => void)[] = [];
    let most = 0;
    const w = run(
      async ({ key }) => {
        expect(working).not.toContain(key);
        working.push(key);
        most = Math.max(most, working.length);
        await new Promise<void>((resolve) => release.push(resolve));
        working.splice(working.indexOf(key), 1);
      },
      { workers: 3 },
    );
    for (const key of ["team/a", "team/b", "team/c", "team/d", "team/a", "team/a"]) w.controller.enqueue(key);
    await settle();
    w.controller.enqueue("team/a");
    for (let i = 0; i < 10; i++) {
      release.shift()?.();
      await settle();
    }
    expect(most).toBe(3);
    expect(w.runs.map(({ key }) => key).sort()).toEqual(["team/a", "team/a", "team/b", "team/c", "team/d"]);
  });
});

describe("stopping", () => {
  it("waits for what runs, takes nothing new, and aborts nothing before the deadline", async () => {
    let finish = () => {};
    let aborted = false;
    const w = run(async (_request, { signal }) => {
      signal.addEventListener("abort", () => {
        aborted = true;
      });
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
    });
    w.controller.enqueue("team/a");
    w.controller.enqueue("team/waiting");
    await settle();
    let stopped = false;
    void w.stop(new AbortController().signal).then(() => {
      stopped = true;
    });
    w.controller.enqueue("team/new");
    await w.clock.advance(59_999);
    expect([stopped, aborted]).toEqual([false, false]);
    finish();
    await until(() => stopped);
    expect([w.runs.length, aborted]).toEqual([1, false]);
  });

  it("aborts what still runs at the deadline", async () => {
    const w = run(
      (_request, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
        ),
    );
    w.controller.enqueue("team/a");
    await settle();
    const deadline = new AbortController();
    const stopped = w.stop(deadline.signal);
    deadline.abort();
    await stopped;
    expect(w.lines.find(({ level }) => level === 50)).toMatchObject({ reason: "the operator is stopping" });
  });
});

describe("metrics", () => {
  it("are there from the start, under controller-runtime's names", async () => {
    const { metrics } = run(scripted());
    const lines = (await metrics.registry.metrics()).split("\n");
    expect(lines).toContain('controller_runtime_reconcile_total{controller="thing",result="success"} 0');
    expect(lines).toContain('controller_runtime_max_concurrent_reconciles{controller="thing"} 1');
    expect(lines).toContain('workqueue_adds_total{name="thing"} 0');
  });

  it("tell how many seconds a reconcile took", async () => {
    const w = run(scripted());
    w.controller.enqueue("team/a");
    await w.clock.advance(0);
    const text = await w.metrics.registry.metrics();
    const [, seconds] = /controller_runtime_reconcile_time_seconds_sum\{.*\} (.*)/.exec(text) ?? [];
    expect(Number(seconds)).toBeGreaterThan(0);
    expect(Number(seconds)).toBeLessThan(1);
  });
});
