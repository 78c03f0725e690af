import { describe, expect, it } from "vitest";
import { createShareCosts } from "../../../../src/controllers/billing/share-costs.ts";
import type { Usage } from "../../../../src/controllers/billing/usage.ts";
import { createFakeClock, START } from "../../../support/fake-clock.ts";

const ACCOUNT = "Account/team/default";
const DAY_MS = 86_400_000;
const signal = new AbortController().signal;

const used = (change: Partial<Usage> = {}): Usage => ({
  ...{ account: ACCOUNT, namespace: "film", object: "SpeechJob/a", created: 1, meter: "model/hd" },
  ...{ day: "2026-03-01", quantity: 10, requests: 1 },
  ...change,
});

/** Each unit of `model/hd` costs 2; the price of other meters is not known. `split`: what the bills of the month show, and when. */
async function costsOf({ kept = [] as Usage[], ofJobs = [] as Usage[], split = 0n, splitAt = START } = {}) {
  const clock = createFakeClock();
  const estimate = {
    at: splitAt,
    result: { shares: () => [{ namespace: "film", amount: split }] },
  };
  const costs = createShareCosts({
    ledger: { read: async () => kept },
    estimates: {
      get: () => estimate as never,
      priceOf: (_account, meter, quantity) => (meter === "model/hd" ? BigInt(quantity) * 2n : undefined),
    },
    timeZoneOf: () => "UTC",
    clock,
  });
  await costs.load(ACCOUNT, () => ofJobs, signal);
  return { clock, costs, spent: (...namespaces: string[]) => costs.spent(ACCOUNT, namespaces) };
}

describe("what namespaces of a shared account have cost", () => {
  it("is the usage of the day and of the month, at the last known prices", async () => {
    const { clock, costs, spent } = await costsOf({ kept: [used()] });
    costs.add(used({ namespace: "song", quantity: 1 }));
    expect(spent("film")).toEqual({ day: 20n, month: 20n, unpriced: undefined });
    expect(spent("film", "song")).toMatchObject({ day: 22n, month: 22n });
    await clock.advance(DAY_MS);
    costs.add(used({ day: "2026-03-02", quantity: 3 }));
    expect(spent("film")).toMatchObject({ day: 6n, month: 26n });
    await clock.advance(31 * DAY_MS);
    expect(spent("film")).toMatchObject({ day: 0n, month: 0n });
  });

  it("is at least what the bills of this month show; those of an earlier month do not count", async () => {
    expect((await costsOf({ kept: [used()], split: 50n })).spent("film")).toMatchObject({ day: 20n, month: 50n });
    expect((await costsOf({ kept: [used()], split: 5n })).spent("film")).toMatchObject({ month: 20n });
    const earlier = await costsOf({ kept: [used()], split: 50n, splitAt: START - 2 * DAY_MS });
    expect(earlier.spent("film")).toMatchObject({ month: 20n });
  });

  it("has of each object the higher of ledger and jobs, once, and nothing of another month", async () => {
    const ofJobs = [used({ quantity: 14 }), used({ object: "SpeechJob/b", quantity: 1 }), used({ day: "2026-02-28" })];
    const { costs, spent } = await costsOf({ kept: [used()], ofJobs });
    expect(spent("film")).toMatchObject({ day: 30n, month: 30n });
    // Only the first call counts.
    await costs.load(ACCOUNT, () => ofJobs, signal);
    expect(spent("film")).toMatchObject({ month: 30n });
  });

  it("counts the ledger against all jobs of a batch, which are one object there", async () => {
    const ofJobs = [used({ quantity: 6 }), used({ quantity: 6 })];
    const { spent } = await costsOf({ kept: [used({ quantity: 10 })], ofJobs });
    expect(spent("film")).toMatchObject({ day: 24n, month: 24n });
  });

  it("names a meter without a price, and has nothing of an account that was not loaded or is forgotten", async () => {
    const { costs, spent } = await costsOf();
    costs.add(used({ meter: "model/new" }));
    expect(spent("film")).toEqual({ day: 0n, month: 0n, unpriced: "new" });
    costs.forget(ACCOUNT);
    costs.add(used());
    expect(spent("film")).toEqual({ day: 0n, month: 0n, unpriced: undefined });
  });
});
