import { describe, expect, it } from "vitest";
import { createAbandonedTasks } from "../../../../src/controllers/account/abandoned-tasks.ts";
import { createAccountRegistry } from "../../../../src/controllers/account/registry.ts";
import { workOf } from "../../../../src/controllers/jobs/types.ts";
import type { TaskResult } from "../../../../src/provider/tasks/task-result.ts";
import { createSpendingAdmission } from "../../../../src/submission/admission.ts";
import { type Allowance, NO_ALLOWANCE } from "../../../../src/submission/allowance.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { fakeTasks } from "../../../support/fake-tasks.ts";
import { taskOf, videoJobOf } from "../../../support/jobs.ts";
import { accountAt } from "../../../support/service-account.ts";

const ACCOUNT = "Account/team/default";
const bound = { kind: "Account" as const, name: "default", baseURL: "https://api.example.com" };
const HOUR_MS = 3_600_000;

/** A running job of an account that allows one task, deleted; the next job waits. */
function setUp(allowed: Partial<Allowance> = { maxTasks: 1 }) {
  const clock = createFakeClock();
  const allowance: Allowance = { ...NO_ALLOWANCE, ...allowed };
  const admission = createSpendingAdmission({ clock, allowance: () => allowance, inFlight: () => [] });
  const accounts = createAccountRegistry(
    () => true,
    () => {},
  );
  const results = new Map<string, TaskResult>();
  const open = (baseURL = bound.baseURL) => {
    const { polled, tasks } = fakeTasks({
      latest: (taskID) => {
        const result = polled.has(taskID) ? results.get(taskID) : undefined;
        return result && { result, at: 0 };
      },
    });
    const handle = accountAt(baseURL, { allowance: () => allowance, tasks });
    accounts.set(ACCOUNT, { state: { kind: "Ready" }, handle });
    return polled;
  };
  const abandoned = createAbandonedTasks({ accounts, admission, clock });
  const work = workOf(videoJobOf("image"));
  const polled = open();
  admission.running(ACCOUNT, work);
  abandoned.follow({ work, account: bound, taskID: "task-1", submittedAt: clock.now() });
  const admit = (uid: string) => admission.request(ACCOUNT, { ...work, uid }, () => {}).kind;
  const read = (used: bigint) => admission.moneyRead(ACCOUNT, [{ book: "keys", used, startedAt: clock.monotonic() }]);
  return { clock, accounts, admission, abandoned, results, open, polled, work, admit, read };
}

describe("a task that runs on without its job", () => {
  it("keeps its place until a poll shows its end", () => {
    const w = setUp();
    w.results.set("task-1", taskOf("TASK_STATUS_PROCESSING"));
    w.abandoned.check(ACCOUNT);
    expect([w.admit("next"), [...w.polled]]).toEqual(["Waiting", ["task-1"]]);
    w.results.set("task-1", taskOf("TASK_STATUS_SUCCEED"));
    w.abandoned.check(ACCOUNT);
    expect([w.admit("next"), [...w.polled]]).toEqual(["Admitted", []]);
  });

  it("reserves its cost until then, and until its charge shows", async () => {
    const budget = { kind: "Limited", headroom: 30n, message: "" } as const;
    const w = setUp({ budget, reserve: 30n, settleMs: 60_000 });
    w.read(0n);
    await w.clock.advance(75_000);
    w.read(0n);
    w.abandoned.check(ACCOUNT);
    expect(w.admit("again")).toBe("Waiting");
    w.results.set("task-1", taskOf("TASK_STATUS_FAILED"));
    w.abandoned.check(ACCOUNT);
    await w.clock.advance(5_000);
    w.read(0n);
    expect(w.admit("again")).toBe("Waiting");
    await w.clock.advance(61_000);
    w.read(0n);
    expect(w.admit("again")).toBe("Admitted");
  });

  it("gives its place back after a day without an end", async () => {
    const w = setUp();
    await w.clock.advance(23 * HOUR_MS);
    w.abandoned.check(ACCOUNT);
    expect(w.admit("next")).toBe("Waiting");
    await w.clock.advance(HOUR_MS);
    w.abandoned.check(ACCOUNT);
    expect([w.admit("next"), [...w.polled]]).toEqual(["Admitted", []]);
  });

  it("is polled on by the account's new session when its spec changes", () => {
    const w = setUp();
    const polled = w.open();
    w.abandoned.check(ACCOUNT);
    expect([...polled]).toEqual(["task-1"]);
    expect(w.abandoned.has(w.work.uid)).toBe(true);
  });

  it("is not polled when nothing limits the account, or when the account is gone", () => {
    const unlimited = setUp({});
    expect([...unlimited.polled]).toEqual([]);
    const w = setUp();
    w.accounts.remove(ACCOUNT);
    w.abandoned.check(ACCOUNT);
    expect([w.abandoned.has(w.work.uid), [...w.polled]]).toEqual([false, []]);
  });

  it("is followed on after a restart, from the account's status", () => {
    const w = setUp();
    const shown = w.abandoned.shown(ACCOUNT);
    expect(shown).toEqual([
      {
        uid: w.work.uid,
        namespace: "team",
        operation: "submitImageToVideo",
        taskID: "task-1",
        submitTime: "2026-03-01T00:00:00Z",
      },
    ]);
    const after = setUp();
    after.results.set("task-1", taskOf("TASK_STATUS_SUCCEED"));
    after.abandoned.check(ACCOUNT);
    after.abandoned.restore(ACCOUNT, shown);
    after.results.clear();
    after.abandoned.check(ACCOUNT);
    expect([after.admit("next"), [...after.polled]]).toEqual(["Waiting", ["task-1"]]);
    after.results.set("task-1", taskOf("TASK_STATUS_SUCCEED"));
    after.abandoned.check(ACCOUNT);
    after.abandoned.restore(ACCOUNT, shown); // the status of before
    expect([after.admit("next"), after.abandoned.shown(ACCOUNT)]).toEqual(["Admitted", []]);
  });

  it("is not asked for at another service", () => {
    const w = setUp();
    const polled = w.open("https://other.example.com");
    w.abandoned.check(ACCOUNT);
    expect([w.abandoned.has(w.work.uid), [...polled]]).toEqual([false, []]);
  });
});
