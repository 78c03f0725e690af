import { expect, it, onTestFinished } from "vitest";
import { accountSpecSchema } from "../../../../src/api/v1alpha1/account.ts";
import { anyAddress } from "../../../../src/base/address-guard.ts";
import type { BudgetSpec } from "../../../../src/controllers/account/budget.ts";
import { createAccountHandle } from "../../../../src/controllers/account/handle.ts";
import { createRecordBudget } from "../../../../src/provider/endpoints/record-budget.ts";
import { createResponseMemory } from "../../../../src/provider/response-memory.ts";
import type { BookReading } from "../../../../src/submission/allowance.ts";
import { createFakeClock, settle, until } from "../../../support/fake-clock.ts";
import { manifest } from "../../../support/manifests.ts";
import { silentLog } from "../../../support/scripted-api-server.ts";
import { type ServiceAnswer, scriptedService, WHOLE } from "../../../support/service-account.ts";

const KEY_BUDGET = {
  key_id: "k1",
  key_name: "main",
  budget_type: "One-time",
  budget_limit: 90,
  used: 0,
  remaining: 90,
};

/** A started account with a budget. `answer.budgets` is what the service answers to the next read of the key budgets. */
async function setUp(budget: BudgetSpec, { showsSpending = true, boundEndpoints = [] as string[] } = {}) {
  const shown: string[] = [];
  const seen: string[] = [];
  const answer: { budgets: ServiceAnswer } = { budgets: { body: { key_budgets: [KEY_BUDGET] } } };
  const reads = { budgets: 0, bills: 0 };
  const service = await scriptedService(({ path }) => {
    if (path.startsWith("/gpus/")) return { body: { data: shown.map((id) => ({ id })), has_more: false } };
    const budgets = path.includes("key-budget-list");
    reads[budgets ? "budgets" : "bills"]++;
    return budgets ? answer.budgets : { body: { bills: [] } };
  });
  const clock = createFakeClock();
  const readings: (readonly BookReading[])[] = [];
  const handle = createAccountHandle({
    key: "Account/team/default",
    spec: accountSpecSchema.parse(manifest("account", { baseURL: service.url }).spec),
    live: {
      apiKey: "sk-test",
      keyVersion: "0123456789abcdef",
      billing: { intervalMs: 60_000, timeZone: "UTC", settleMs: 86_400_000 },
      budget,
      shares: undefined,
      showsSpending,
    },
    usage: {
      held: () => undefined,
      assertServing: () => {},
      isOutdated: () => false,
      refusal: async () => undefined,
      reportableKeys: async () => ({ kind: "All" }),
      sharing: WHOLE,
      endpointsWanted: () => boundEndpoints.length > 0,
      detailsWanted: () => false,
      moneyWanted: () => true,
      moneyUrgency: () => "None",
      boundEndpoints: () => boundEndpoints,
    },
    observers: {
      onEndpoint: () => {},
      onEndpointsListed: () => void seen.push("listed"),
      onEndpointsShown: () => void seen.push("shown"),
      onTask: () => {},
      onMoneyRead: (books) => void readings.push(books),
      onMoneyFailed: () => {},
      onCall: () => {},
      onObserverError: () => {},
    },
    lookup: undefined,
    memory: createResponseMemory(),
    records: createRecordBudget(),
    open: undefined,
    resultLookup: anyAddress,
    clock,
    random: () => 0.5,
    log: silentLog,
  });
  handle.start();
  onTestFinished(() => handle.close());
  return { clock, answer, reads, readings, handle, shown, seen };
}

it("a reading of the key budgets that fails after a success counts for two intervals and a minute, then the gate holds", async () => {
  const w = await setUp({ memberID: "member-1", action: "HoldNew" });
  const state = () => w.handle.allowance().budget;
  await until(() => state()?.kind === "Limited", { clock: w.clock, stepMs: 100 });
  w.answer.budgets = { status: 403, body: { code: 403, reason: "NO_RIGHT", message: "no", metadata: {} } };
  const readAt = w.clock.monotonic();
  await until(() => w.clock.monotonic() > readAt + 170_000, { clock: w.clock, stepMs: 1_000 });
  expect(state()?.kind).toBe("Limited");
  await until(() => w.clock.monotonic() > readAt + 190_000, { clock: w.clock, stepMs: 1_000 });
  expect(state()).toMatchObject({
    kind: "Unknown",
    message: expect.stringMatching(
      /^The key budgets of member member-1 were not read since 2026-03-01T00:00:\d\dZ, which is longer than twice billing.interval and a minute: .*403/,
    ),
  });
  w.answer.budgets = { body: { key_budgets: [KEY_BUDGET] } };
  await until(() => state()?.kind === "Limited", { clock: w.clock, stepMs: 1_000 });
});

it("a reading of the bills is no reading of the key budgets", async () => {
  const w = await setUp({ memberID: "member-1", action: "HoldNew" });
  await until(() => w.readings.length >= 2 && w.handle.money.budgets() !== undefined, { clock: w.clock, stepMs: 100 });
  w.answer.budgets = "cut";
  const [bills, startedAt] = [w.reads.bills, w.handle.money.lastRead().budgets?.monotonic];
  await until(() => w.reads.bills > bills + 1, { clock: w.clock, stepMs: 1_000 });
  expect(w.readings.at(-1)).toEqual([{ book: '["keys","member-1",null]', used: 0n, startedAt }]);
});

it("an account that does not show its spending keeps amounts and keys out of its jobs' messages", async () => {
  const w = await setUp({ memberID: "member-1", minRemaining: "1", action: "HoldNew" }, { showsSpending: false });
  await until(() => w.handle.allowance().budget?.kind === "Limited", { clock: w.clock, stepMs: 100 });
  expect(w.handle.allowance().budget?.message).toBe(
    "The budget is exceeded; Account team/default does not show amounts (spending.showInStatus)",
  );
  expect(w.handle.budget()?.keys).toBeUndefined();
});

it("the first call of a process waits, because the process before may have used up the burst", async () => {
  const w = await setUp({ action: "HoldNew" });
  const ended = w.handle.probe(new AbortController().signal).catch(() => undefined);
  await settle();
  expect(w.handle.requests.waiting()).toBeGreaterThan(0);
  await until(() => w.handle.requests.waiting() === 0, { clock: w.clock, stepMs: 100 });
  await ended;
});

it("an object that waits until the service shows an endpoint of the account hears of the list that does, once", async () => {
  const w = await setUp({ action: "HoldNew" }, { boundEndpoints: ["a", "b"] });
  const listed = async (times: number) => {
    const before = w.seen.length;
    await until(() => w.seen.length >= before + times, { clock: w.clock, stepMs: 1_000 });
  };
  await listed(2);
  expect(w.handle.vanished()).toBe(2);
  w.shown.push("other");
  await listed(2);
  expect(w.seen).not.toContain("shown");
  w.shown.push("b");
  await listed(2);
  expect(w.seen.at(-1)).toBe("shown");
  await listed(2);
  expect([w.handle.vanished(), w.seen.filter((what) => what === "shown").length]).toEqual([0, 1]);
});
