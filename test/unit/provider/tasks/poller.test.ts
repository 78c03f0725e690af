import { describe, expect, it, onTestFinished } from "vitest";
import { delay } from "../../../../src/base/clock.ts";
import { ServiceError } from "../../../../src/provider/errors.ts";
import { createPace, nextPollMs } from "../../../../src/provider/tasks/pace.ts";
import { createTaskPoller, isNoticeable, type TaskPoller } from "../../../../src/provider/tasks/poller.ts";
import type { TaskResult } from "../../../../src/provider/tasks/task-result.ts";
import { createFakeClock, type FakeClock, settle } from "../../../support/fake-clock.ts";
import { taskOf, video } from "../../../support/jobs.ts";

type World = {
  clock: FakeClock;
  poller: TaskPoller;
  polls: { taskID: string; at: number }[];
  told: string[];
  errors: unknown[];
};

/** `answer` stands for the service; random 0.5 makes the jitter nothing. */
function follow(answer: (taskID: string) => TaskResult | Promise<TaskResult>, { starts = true } = {}): World {
  const clock = createFakeClock();
  const began = clock.now();
  const polls: World["polls"] = [];
  const told: string[] = [];
  const errors: unknown[] = [];
  const poller = createTaskPoller({
    clock,
    random: () => 0.5,
    client: {
      getTaskResult: async ({ taskID }) => {
        polls.push({ taskID, at: clock.now() - began });
        const result = await answer(taskID);
        return result.task.taskID === "task-1" ? { ...result, task: { ...result.task, taskID } } : result;
      },
    },
    onChange: (taskID) => told.push(taskID),
    onError: (error) => errors.push(error),
  });
  onTestFinished(() => poller.stop());
  if (starts) poller.start();
  return { clock, poller, polls, told, errors };
}
const away = () => {
  throw new ServiceError({ operation: "getTaskResult", kind: "Timeout", delivery: "Unknown", message: "no answer" });
};
const minute = 60_000;

describe("a task", () => {
  it("is asked about 3 s after it was submitted, and not after it is forgotten", async () => {
    const w = follow(() => taskOf("TASK_STATUS_PROCESSING"));
    w.poller.follow("t", w.clock.now(), "team");
    await w.clock.advance(2_999);
    expect(w.polls).toEqual([]);
    await w.clock.advance(1);
    expect(w.polls).toEqual([{ taskID: "t", at: 3_000 }]);
    w.poller.forget("t");
    await w.clock.advance(minute);
    expect([w.polls.length, w.poller.inFlight(), w.poller.latest("t")]).toEqual([1, 0, undefined]);
  });

  it("is asked about after 3 s, also when the wall clock was set back since it was submitted", async () => {
    const w = follow(() => taskOf("TASK_STATUS_PROCESSING"));
    w.poller.follow("t", w.clock.now() + 60 * minute, "team");
    await w.clock.advance(3_000);
    expect(w.polls).toEqual([{ taskID: "t", at: 3_000 }]);
  });

  it("is asked about every 3 to 10 s, then, after 10 minutes, every 30 s", async () => {
    const w = follow(() => taskOf("TASK_STATUS_PROCESSING"));
    w.poller.follow("t", w.clock.now(), "team");
    await w.clock.advance(30 * minute);
    const gaps = w.polls.slice(1).map(({ at }, i) => at - (w.polls[i]?.at ?? 0));
    expect(gaps.slice(0, 2)).toEqual([3_000, 3_000]);
    expect(Math.max(...gaps.filter((_, i) => (w.polls[i]?.at ?? 0) < 10 * minute))).toBe(10_000);
    expect(gaps.at(-1)).toBe(30_000);
  });

  it("is followed once, however often that is asked for", async () => {
    const w = follow(() => taskOf("TASK_STATUS_PROCESSING"));
    for (let i = 0; i < 3; i++) w.poller.follow("t", w.clock.now(), "team");
    await w.clock.advance(3_000);
    expect(w.polls).toHaveLength(1);
  });

  it("of before a restart is asked about within 3 s", async () => {
    const w = follow(() => taskOf("TASK_STATUS_PROCESSING"));
    w.poller.follow("t", w.clock.now() - 5 * minute, "team");
    await w.clock.advance(3_000);
    expect(w.polls.map(({ at }) => at)).toEqual([1_500]);
  });

  it("whose poll fails is asked about later, and keeps what was known", async () => {
    const answers: (() => TaskResult)[] = [() => taskOf("TASK_STATUS_QUEUED"), away, away, away];
    const w = follow(() => (answers.shift() ?? away)());
    w.poller.follow("t", w.clock.now(), "team");
    await w.clock.advance(minute);
    const gaps = w.polls.slice(1).map(({ at }, i) => at - (w.polls[i]?.at ?? 0));
    expect(gaps.slice(0, 5)).toEqual([3_000, 3_000, 6_000, 10_000, 10_000]);
    expect(w.told).toEqual(["t"]);
    expect(w.poller.latest("t")?.result.task.status).toBe("TASK_STATUS_QUEUED");
    expect(w.errors.length).toBe(w.polls.length - 1);
  });
});

describe("given polls that keep failing", () => {
  const notFound = () => {
    const message = "the service answered 404: TASK_NOT_FOUND";
    throw new ServiceError({ operation: "getTaskResult", kind: "NotFound", delivery: "Refused", message });
  };

  it("the user hears of it after a minute, once, and again when they succeed", async () => {
    let answer: () => TaskResult = () => taskOf("TASK_STATUS_PROCESSING");
    const w = follow(() => answer());
    w.poller.follow("t", w.clock.now(), "team");
    await w.clock.advance(3_000);
    answer = notFound;
    const from = w.clock.now();
    await w.clock.advance(minute);
    expect([w.told.length, w.poller.failing("t")]).toEqual([1, undefined]);
    await w.clock.advance(30 * minute);
    expect(w.told.length).toBe(2);
    expect(w.poller.failing("t")).toMatchObject({ since: from + 3_000, error: { kind: "NotFound" } });
    answer = () => taskOf("TASK_STATUS_PROCESSING");
    await w.clock.advance(minute);
    expect([w.told.length, w.poller.failing("t")]).toEqual([3, undefined]);
  });

  it("the user hears when the task is not found any more instead of not readable", async () => {
    let answer: () => TaskResult = away;
    const w = follow(() => answer());
    w.poller.follow("t", w.clock.now(), "team");
    await w.clock.advance(3 * minute);
    expect([w.told.length, w.poller.failing("t")]).toMatchObject([1, { error: { kind: "Timeout" } }]);
    answer = notFound;
    await w.clock.advance(3 * minute);
    expect([w.told.length, w.poller.failing("t")]).toMatchObject([2, { error: { kind: "NotFound" } }]);
  });

  it("a clock that is set back does not hide it", async () => {
    const w = follow(away);
    w.poller.follow("t", w.clock.now(), "team");
    await w.clock.advance(5_000);
    w.clock.setWallClock(-3_600_000);
    await w.clock.advance(2 * minute);
    expect(w.told.length).toBe(1);
  });
});

describe("polls that show nothing to go on with", () => {
  const empty = taskOf("TASK_STATUS_SUCCEED", { progressPercent: 100 });
  const full = taskOf("TASK_STATUS_SUCCEED", { videos: [video] });
  const unknown = (change = {}) => taskOf("TASK_STATUS_ENDED", change);

  it.each<{ name: string; first: TaskResult; useless: object; afterMs: number; next: TaskResult }>([
    {
      name: "success without results, for a minute",
      first: empty,
      useless: { kind: "NoResults", omitted: 0 },
      afterMs: minute,
      next: full,
    },
    {
      name: "an unknown status, for an hour",
      first: unknown(),
      useless: { kind: "UnknownStatus", status: "TASK_STATUS_ENDED" },
      afterMs: 60 * minute,
      next: taskOf("TASK_STATUS_PROCESSING"),
    },
  ])("$name: the user hears of it once, and again when they show more", async ({ first, useless, afterMs, next }) => {
    let answer = first;
    const w = follow(() => answer);
    w.poller.follow("t", w.clock.now(), "team");
    const since = w.clock.now() + 3_000;
    await w.clock.advance(afterMs);
    expect([w.told.length, w.poller.failing("t")]).toEqual([1, undefined]);
    await w.clock.advance(afterMs);
    expect([w.told.length, w.poller.failing("t")]).toEqual([2, { since, useless }]);
    answer = next;
    await w.clock.advance(minute);
    expect([w.told.length, w.poller.failing("t")]).toEqual([3, undefined]);
  });

  it("a task that makes progress in an unknown status is not stuck", async () => {
    let progressPercent = 0;
    const w = follow(() => unknown({ progressPercent: progressPercent++ / 20 }));
    w.poller.follow("t", w.clock.now(), "team");
    await w.clock.advance(120 * minute);
    expect(w.poller.failing("t")).toBeUndefined();
  });

  it("an answer about another task is a failed poll", async () => {
    const w = follow(() => taskOf("TASK_STATUS_SUCCEED", { taskID: "another", videos: [video] }));
    w.poller.follow("t", w.clock.now(), "team");
    await w.clock.advance(2 * minute);
    expect(w.poller.latest("t")).toBeUndefined();
    expect(w.poller.failing("t")).toMatchObject({
      error: { kind: "UnreadableResponse", message: "getTaskResult: the service shows task another instead" },
    });
  });
});

describe("pacing", () => {
  const at = (ageMs: number, change: Partial<TaskResult["task"]> = {}, failures = 0, stretch = 1) =>
    nextPollMs({ submittedAt: 0, failures, latest: { result: taskOf("X", change) } }, ageMs, stretch);
  it.each([
    ["half of what the service expects to need", at(5_000, { eta: 8 }), 4_000],
    ["at least 1 s", at(5_000, { eta: 1 }), 1_000],
    ["at most 10 s", at(5_000, { eta: 900 }), 10_000],
    ["at most 30 s for a long task", at(11 * minute, { eta: 900 }), 30_000],
    ["by progress: half of what is left at this pace", at(20_000, { progressPercent: 80 }), 2_500],
    ["by age when progress stands at 100 without an end", at(20_000, { progressPercent: 100 }), 5_000],
    ["by age when there is nothing to go by", at(20_000), 5_000],
    ["3 s at first", at(100), 3_000],
    ["by failures", at(5_000, { eta: 2 }, 2), 6_000],
    ["longer for a far task where the rate is short", at(5_000, { eta: 900 }, 0, 4), 40_000],
    ["close to the end that is expected, where the rate is short", at(5_000, { eta: 16 }, 0, 4), 14_000],
    ["1 s at the end, however short the rate is", at(5_000, { eta: 1 }, 0, 4), 1_000],
  ])("%s", (_name, ms, expected) => {
    expect(ms).toBe(expected);
  });
});

it("the pace slackens while polls are late, up to four times, and comes back", () => {
  const pace = createPace();
  const told = (ms: number, times: number) => {
    for (let i = 0; i < times; i++) pace.polledLate(ms);
    return pace.stretch();
  };
  expect(told(0, 10)).toBe(1);
  expect(told(5_000, 20)).toBeGreaterThan(1.3);
  expect(told(5_000, 500)).toBe(4);
  expect(told(0, 500)).toBe(1);
});

describe("many tasks", () => {
  it("are asked about in the order in which they are due, at most 16 at a time", async () => {
    const release: ((result: TaskResult) => void)[] = [];
    const w = follow(() => new Promise((resolve) => release.push(resolve)));
    for (let i = 0; i < 40; i++) w.poller.follow(`t${i}`, w.clock.now() - 2_000 + (i % 2 === 0 ? -500 : 0), "team");
    await w.clock.advance(10_000);
    expect(w.polls).toHaveLength(16);
    while (w.polls.length < 40 && release.length > 0) {
      release.shift()?.(taskOf("TASK_STATUS_PROCESSING"));
      await settle();
    }
    const first = w.polls.slice(0, 40).map(({ taskID }) => taskID);
    expect(new Set(first).size).toBe(40);
    expect(first.slice(0, 20).every((taskID) => Number(taskID.slice(1)) % 2 === 0)).toBe(true);
    for (const resolve of release.splice(0)) resolve(taskOf("TASK_STATUS_PROCESSING"));
  });

  it("whose turn comes are asked about as soon as one of the 16 has its answer, before any time passes", async () => {
    const release: ((result: TaskResult) => void)[] = [];
    const w = follow(() => new Promise((resolve) => release.push(resolve)));
    for (let i = 0; i < 17; i++) w.poller.follow(`t${i}`, w.clock.now(), "team");
    await w.clock.advance(3_000);
    expect(w.polls).toHaveLength(16);
    release.shift()?.(taskOf("TASK_STATUS_PROCESSING"));
    await settle();
    expect(w.polls).toHaveLength(17);
    for (const resolve of release.splice(0)) resolve(taskOf("TASK_STATUS_PROCESSING"));
  });

  it("that are forgotten while they wait for their turn are not asked about", async () => {
    const release: ((result: TaskResult) => void)[] = [];
    const w = follow(() => new Promise((resolve) => release.push(resolve)));
    for (let i = 0; i < 17; i++) w.poller.follow(`t${i}`, w.clock.now(), "team");
    await w.clock.advance(3_000);
    const waits = [...Array(17).keys()].map((i) => `t${i}`).find((id) => w.polls.every(({ taskID }) => taskID !== id));
    w.poller.forget(waits ?? "");
    for (const resolve of release.splice(0)) resolve(taskOf("TASK_STATUS_PROCESSING"));
    await settle();
    expect(w.polls).toHaveLength(16);
  });

  it("that are due when the poller starts are asked about at once", async () => {
    const w = follow(() => taskOf("TASK_STATUS_PROCESSING"), { starts: false });
    w.poller.follow("t", w.clock.now(), "team");
    await w.clock.advance(60_000);
    expect(w.polls).toEqual([]);
    w.poller.start();
    await settle();
    expect(w.polls).toHaveLength(1);
  });

  it("under a low rate are all served: none waits much longer than its share", async () => {
    const rate = 2; // a second
    let free = 0;
    const clock = createFakeClock();
    const polls: { taskID: string; at: number }[] = [];
    const poller = createTaskPoller({
      clock,
      random: () => 0.5,
      client: {
        getTaskResult: async ({ taskID }, options) => {
          free = Math.max(free, clock.monotonic()) + 1000 / rate;
          await delay(clock, free - clock.monotonic(), options?.signal);
          polls.push({ taskID, at: clock.monotonic() });
          return taskOf("TASK_STATUS_PROCESSING", { eta: Number(taskID) % 2 === 0 ? 1 : 900 });
        },
      },
      onChange: () => {},
      onError: () => {},
    });
    onTestFinished(() => poller.stop());
    poller.start();
    for (let i = 0; i < 60; i++) poller.follow(String(i), clock.now(), "team");
    await clock.advance(10 * minute);
    for (let i = 0; i < 60; i++) {
      const times = polls.filter(({ taskID }) => taskID === String(i)).map(({ at }) => at);
      const gaps = times.slice(1).map((at, n) => at - (times[n] ?? 0));
      expect(Math.max(...gaps), `task ${i}`).toBeLessThan(100_000);
    }
  });

  it("of one namespace do not delay the polls of another", async () => {
    const rate = 10; // a second: 10,000 tasks in a line take 1,000 s
    const stages: Record<string, number[]> = {};
    let free = 0;
    const clock = createFakeClock();
    const poller = createTaskPoller({
      clock,
      random: () => 0.5,
      client: {
        getTaskResult: async ({ taskID }, options) => {
          free = Math.max(free, clock.monotonic()) + 1000 / rate;
          await delay(clock, free - clock.monotonic(), options?.signal);
          stages[taskID] = [...(stages[taskID] ?? []), clock.monotonic()];
          return taskOf("TASK_STATUS_PROCESSING", { eta: 900 });
        },
      },
      onChange: () => {},
      onError: () => {},
    });
    onTestFinished(() => poller.stop());
    poller.start();
    for (let i = 0; i < 10_000; i++) poller.follow(`busy-${i}`, clock.now(), "busy");
    await clock.advance(minute);
    const submitted = clock.monotonic();
    poller.follow("quiet", clock.now(), "quiet");
    await clock.advance(3 * minute);
    const polls = stages["quiet"] ?? [];
    expect((polls[0] ?? Number.POSITIVE_INFINITY) - submitted).toBeLessThan(minute / 6);
    // It is polled as often as alone: the pace of the other namespace is not its own.
    const gaps = polls.slice(1).map((at, n) => at - (polls[n] ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(13_000);
    expect(Object.keys(stages).length).toBeGreaterThan(2_000);
  });

  it("are let go when the account ends: nothing is asked any more", async () => {
    const w = follow(() => taskOf("TASK_STATUS_PROCESSING"));
    w.poller.follow("t", w.clock.now(), "team");
    await w.poller.stop();
    await w.clock.advance(minute);
    expect([w.polls, w.clock.timers()]).toEqual([[], 0]);
  });
});

describe("a change", () => {
  const seen = (status: string, change: Parameters<typeof taskOf>[1] = {}, at = 0) => ({
    result: taskOf(status, change),
    at,
  });
  it.each([
    ["is the first answer", undefined, seen("X"), true],
    ["is not the same answer again", seen("X"), seen("X", {}, 99_999), false],
    ["is another status", seen("X"), seen("Y"), true],
    ["is another reason", seen("X"), seen("X", { reason: "r" }), true],
    ["is a result", seen("X"), seen("X", { videos: [video] }), true],
    ["is progress by 10 points", seen("X", { progressPercent: 10 }), seen("X", { progressPercent: 20 }), true],
    ["is not progress by 9 points", seen("X", { progressPercent: 10 }), seen("X", { progressPercent: 19 }), false],
    [
      "is any progress after 15 s",
      seen("X", { progressPercent: 10 }),
      seen("X", { progressPercent: 11 }, 15_000),
      true,
    ],
    [
      "is not the same progress after 15 s",
      seen("X", { progressPercent: 10 }),
      seen("X", { progressPercent: 10 }, 15_000),
      false,
    ],
    ["is not another estimate alone", seen("X", { eta: 9 }), seen("X", { eta: 3 }), false],
  ])("%s", (_name, told, latest, expected) => {
    expect(isNoticeable(told, latest)).toBe(expected);
  });

  it("is told; small steps add up against what was told last", async () => {
    const progress = [0, 4, 8, 12, 16];
    const w = follow(() => taskOf("X", { eta: 1, progressPercent: progress.shift() ?? 16 }));
    w.poller.follow("t", w.clock.now(), "team");
    await w.clock.advance(3_000);
    expect(w.told).toHaveLength(1);
    await w.clock.advance(3_000); // 4, 8, 12
    expect(w.told).toHaveLength(2);
  });
});
