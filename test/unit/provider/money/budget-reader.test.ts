import { expect, it, onTestFinished } from "vitest";
import { type Delivery, ServiceError, type ServiceErrorKind } from "../../../../src/provider/errors.ts";
import { createBudgetReader } from "../../../../src/provider/money/account-money.ts";
import type { KeyBudget } from "../../../../src/provider/money/money-records.ts";
import type { MoneySettings } from "../../../../src/provider/money/spend.ts";
import { moneySettings } from "../../../support/bills.ts";
import { createFakeClock, START } from "../../../support/fake-clock.ts";
import { capturedLog } from "../../../support/scripted-api-server.ts";

const HOUR_MS = 3_600_000;
const iso = (ms: number) => new Date(ms).toISOString();

const recurring = (used: bigint, periodEnd: number): KeyBudget => ({
  keyID: "key-1",
  keyName: "default",
  type: "Recurring",
  limit: 100n,
  used,
  remaining: 100n - used,
  cycle: "Monthly",
  periodStart: iso(START - 24 * HOUR_MS),
  periodEnd: iso(periodEnd),
});

function follow(
  budgets: () => KeyBudget[],
  { onFailed = () => {}, ...settings }: Partial<MoneySettings> & { onFailed?: () => void } = {},
) {
  const clock = createFakeClock();
  const { log, lines } = capturedLog("warn");
  const reads: number[] = [];
  const reader = createBudgetReader({
    client: {
      listKeyBudgets: async () => {
        reads.push(clock.now() - START);
        return budgets();
      },
    },
    settings: moneySettings({ memberID: () => "member-1", ...settings }),
    clock,
    log,
    onRead: () => {},
    onFailed,
  });
  reader.start();
  onTestFinished(() => reader.stop());
  return { clock, reads, reader, lines };
}

it("a budget is read again as its period ends, not only an interval later", async () => {
  const end = START + 10 * 60_000;
  let budget = recurring(100n, end);
  const { clock, reads, reader } = follow(() => [budget]);
  await clock.advance(10 * 60_000 - 2_000);
  expect(reads).toEqual([0]);
  expect(reader.latest()?.[0]?.remaining).toBe(0n);
  budget = recurring(0n, end + 30 * 24 * HOUR_MS);
  await clock.advance(4_000);
  expect(reads).toHaveLength(2);
  expect(reads[1]).toBeGreaterThanOrEqual(end - START);
  expect(reader.latest()?.[0]?.remaining).toBe(100n);
  await clock.advance(30 * 60_000);
  expect(reads).toHaveLength(2);
});

it("a service that keeps showing the past period is not queried in a loop", async () => {
  const { clock, reads } = follow(() => [recurring(100n, START + 5_000)]);
  await clock.advance(30 * 60_000);
  expect(reads).toHaveLength(2);
});

it.each([
  ["Settling", 5_000],
  ["Waiting", 60_000],
  ["None", HOUR_MS],
] as const)("while what it is read for is %s, it is read every %s ms", async (urgency, every) => {
  const { clock, reads } = follow(() => [recurring(0n, START + 90 * 24 * HOUR_MS)], { budgetsUrgency: () => urgency });
  await clock.advance(3 * every + 1_000);
  expect(reads).toEqual([0, every, 2 * every, 3 * every]);
});

it("a failed reading is reported until one succeeds; the last reading stays", async () => {
  let told = 0;
  let fails = true;
  const budgets = () => {
    if (fails) throw new Error("the service answered 403");
    return [recurring(1n, START + 90 * 24 * HOUR_MS)];
  };
  const { clock, reader } = follow(budgets, { onFailed: () => told++ });
  await clock.advance(1_000);
  expect([reader.latest(), reader.failure(), told]).toEqual([undefined, "the service answered 403", 1]);
  fails = false;
  await clock.advance(61_000);
  expect([reader.latest()?.length, reader.failure()]).toEqual([1, undefined]);
  fails = true;
  await clock.advance(HOUR_MS + 1_000);
  expect([reader.latest()?.length, reader.failure(), told]).toEqual([1, "the service answered 403", 2]);
});

it("a budget that cannot be read is worth a warning, but not when this process may not send", async () => {
  const failing = (kind: ServiceErrorKind, delivery: Delivery) =>
    follow(() => {
      throw new ServiceError({ operation: "listKeyBudgets", kind, delivery, message: "it fails" });
    });
  const failed = failing("ServerError", "Unknown");
  await failed.clock.advance(1_000);
  expect(failed.lines).toMatchObject([{ reason: "listKeyBudgets: it fails" }]);
  const unserved = failing("Aborted", "NotSent");
  await unserved.clock.advance(1_000);
  expect([unserved.reads, unserved.lines]).toEqual([[0], []]);
});
