import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ListBillsInput } from "../../../../src/provider/client.ts";
import { ServiceError } from "../../../../src/provider/errors.ts";
import { type BillQuery, BillsTooLargeError, createBillReader } from "../../../../src/provider/money/bill-reader.ts";
import type { Bill } from "../../../../src/provider/money/money-records.ts";
import { billsOfPeriod } from "../../../../src/provider/money/period.ts";
import type { TimeRange } from "../../../../src/provider/money/ranges.ts";
import { createTally } from "../../../../src/provider/money/tally.ts";
import { timeZone } from "../../../../src/provider/money/time-zone.ts";
import { periodOf } from "../../../../src/simulator/bills.ts";
import { billOf, seconds } from "../../../support/bills.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const signal = new AbortController().signal;
const utc = timeZone("UTC");

/** Which bills a service may list for a range: the interface does not say. */
const selections = {
  "that begin in it": (bill: TimeRange, range: TimeRange) =>
    bill.startTime >= range.startTime && bill.startTime < range.endTime,
  "that begin in it or at its end": (bill: TimeRange, range: TimeRange) =>
    bill.startTime >= range.startTime && bill.startTime <= range.endTime,
  "that overlap it": (bill: TimeRange, range: TimeRange) =>
    bill.endTime > range.startTime && bill.startTime < range.endTime,
  "that touch it": (bill: TimeRange, range: TimeRange) =>
    bill.endTime >= range.startTime && bill.startTime <= range.endTime,
};

function service(bills: readonly Bill[], selected: (bill: TimeRange, range: TimeRange) => boolean) {
  const asked: ListBillsInput[] = [];
  const listBills = async (query: ListBillsInput) => {
    asked.push(query);
    return bills.filter((bill) => selected({ startTime: bill.startTime ?? 0, endTime: bill.endTime ?? 0 }, query));
  };
  return { asked, reader: createBillReader({ client: { listBills } }) };
}

async function read(
  reader: ReturnType<typeof createBillReader>,
  period: TimeRange,
  { cycle = "Day", closedBefore = 0, ...query }: Partial<BillQuery> & { closedBefore?: number } = {},
): Promise<Bill[]> {
  const found: Bill[] = [];
  const options = { reader, query: { cycle, ...query }, period, zone: utc, closedBefore, signal };
  for await (const bills of billsOfPeriod(options)) found.push(...bills);
  return found;
}

const period = { startTime: seconds("2026-01-01T00:00:00Z"), endTime: seconds("2027-03-01T00:00:00Z") };

describe.each(Object.entries(selections))("a service that lists the bills %s", (_, selected) => {
  it.each(["Day", "Week", "Month"] as const)("loses and doubles none with cycle %s", async (cycle) => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(424 * 24), fc.nat(3)), { maxLength: 60 }), async (uses) => {
        const bills = uses.map(([hours, key], index) => {
          const { startMs, endMs } = periodOf((period.startTime + hours * 3600) * 1000, cycle, 0);
          const times = { startTime: String(startMs / 1000), endTime: String(endMs / 1000) };
          return billOf({ ...times, ownerID: `key-${key}`, amount: String(index) });
        });
        // The week in which the first bills are begins before them.
        const inPeriod = bills.filter((bill) =>
          selected({ startTime: bill.startTime ?? 0, endTime: bill.endTime ?? 0 }, period),
        );
        const expected = inPeriod.filter((bill) => (bill.startTime ?? 0) < period.endTime);
        const found = await read(service(bills, selected).reader, period, { cycle });
        const order = (list: Bill[]) => list.map(({ amount }) => Number(amount)).sort((a, b) => a - b);
        expect(order(found)).toEqual(order(expected));
      }),
      { numRuns: 25 },
    );
  });
});

describe("bills of a period", () => {
  const february = seconds("2026-02-01T00:00:00Z");
  const march = { startTime: seconds("2026-01-01T00:00:00Z"), endTime: seconds("2026-03-01T00:00:00Z") };

  it("two parts of a bill that a range cuts are both counted", async () => {
    // The service clips what it sums up to the range, by another clock than the account's.
    const times = { startTime: String(february - 3600), endTime: String(february + 82_800) };
    const answers = [[billOf({ ...times, amount: "3" })], [billOf({ ...times, amount: "4" })]];
    const reader = createBillReader({ client: { listBills: async () => answers.shift() ?? [] } });
    expect((await read(reader, march)).map(({ amount }) => amount)).toEqual([3n, 4n]);
  });

  it("one that overlaps two periods is in the one in which it begins", async () => {
    const week = { startTime: String(february - 2 * 86_400), endTime: String(february + 5 * 86_400) };
    for (const selected of Object.values(selections)) {
      const { reader } = service([billOf({ ...week, amount: "7" })], selected);
      const january = { startTime: march.startTime, endTime: february };
      const february28 = { startTime: february, endTime: march.endTime };
      const amounts = async (range: TimeRange) =>
        (await read(reader, range, { cycle: "Week", closedBefore: march.endTime })).map(({ amount }) => amount);
      expect([await amounts(january), await amounts(february28)]).toEqual([[7n], []]);
    }
  });

  it("both parts of one that the service cuts at its end are in it", async () => {
    const week = { startTime: february - 2 * 86_400, endTime: february + 5 * 86_400 };
    const listBills = async (query: ListBillsInput) => {
      const [from, to] = [Math.max(query.startTime, week.startTime), Math.min(query.endTime, week.endTime)];
      const times = { startTime: String(week.startTime), endTime: String(week.endTime) };
      return from < to ? [billOf({ ...times, amount: String((to - from) / 86_400) })] : [];
    };
    const reader = createBillReader({ client: { listBills } });
    const sum = async (startTime: number, endTime: number) => {
      const bills = await read(reader, { startTime, endTime }, { cycle: "Week", closedBefore: march.endTime });
      return bills.reduce((total, { amount = 0n }) => total + amount, 0n);
    };
    expect([await sum(march.startTime, february), await sum(february, march.endTime)]).toEqual([7n, 0n]);
  });

  it("equal bills of one answer are two bills", async () => {
    const { reader } = service([billOf({ amount: "5" }), billOf({ amount: "5" })], selections["that begin in it"]);
    expect(await read(reader, march)).toHaveLength(2);
  });

  it("a closed range is queried once, the last one each time, and the cached range gives the same bills", async () => {
    const bills = [
      billOf({ amount: "7", tieredConfig: { a: [1] } }),
      billOf({ startTime: String(february), amount: "" }),
    ];
    const { asked, reader } = service(bills, selections["that begin in it"]);
    const closedBefore = february;
    const first = await read(reader, march, { closedBefore });
    const again = await read(reader, march, { closedBefore });
    expect(again).toEqual(first);
    expect(first).toEqual(bills);
    expect(asked.map(({ startTime }) => startTime)).toEqual([march.startTime, february, february]);
    await read(reader, march, { closedBefore, category: "llm" });
    expect(asked).toHaveLength(5);
    expect(asked.at(-1)).toEqual({ cycleType: "Day", category: "llm", startTime: february, endTime: march.endTime });
  });

  it("few bills are kept and read again within a turn of the event loop, so that what follows is the same in each simulation", async () => {
    const bills = Array.from({ length: 100 }, (_, index) => billOf({ amount: String(index) }));
    const reader = createBillReader({ client: { listBills: async () => bills } });
    const range = { startTime: 0, endTime: 3_600 };
    for (const time of ["first", "second"]) {
      let read: Bill[] = [];
      void reader.read({ cycle: "Day" }, range, { closed: true, signal }).then((found) => {
        read = found;
      });
      await new Promise(setImmediate);
      expect(read, time).toEqual(bills);
    }
  });

  it("the cache drops its oldest ranges when it is full", async () => {
    const asked: number[] = [];
    const listBills = async ({ startTime }: ListBillsInput) => {
      asked.push(startTime);
      return [billOf()];
    };
    const reader = createBillReader({ client: { listBills }, maxKeptBytes: 1200 });
    const ask = (startTime: number) =>
      reader.read({ cycle: "Day" }, { startTime, endTime: startTime + 1 }, { closed: true, signal });
    for (const startTime of [1, 2, 3, 4, 5, 5, 1]) await ask(startTime);
    expect(asked).toEqual([1, 2, 3, 4, 5, 1]);
  });

  it("queries of an account run one at a time; one that fails or is aborted does not block the next", async () => {
    let open = 0;
    let most = 0;
    const listBills = async ({ startTime }: ListBillsInput) => {
      most = Math.max(most, ++open);
      await new Promise((resolve) => setImmediate(resolve));
      open--;
      if (startTime === 2) throw new Error("refused");
      return [];
    };
    const reader = createBillReader({ client: { listBills } });
    const given = new AbortController();
    const ask = (startTime: number, own = signal) =>
      reader.read({ cycle: "Day" }, { startTime, endTime: 9 }, { closed: false, signal: own });
    const all = [ask(1), ask(2), ask(3, given.signal), ask(4), ask(5)];
    given.abort(new Error("given up"));
    const outcomes = await Promise.allSettled(all);
    expect(outcomes.map(({ status }) => status)).toEqual([
      "fulfilled",
      "rejected",
      "rejected",
      "fulfilled",
      "fulfilled",
    ]);
    expect(most).toBe(1);
  });
});

/** A service whose answers have at most `most` bills, and what it was asked for. */
function limitedService(bills: readonly Bill[], most: number, clock = createFakeClock()) {
  const asked: string[] = [];
  const listBills = async ({ startTime, endTime }: ListBillsInput) => {
    const time = (seconds: number) => new Date(seconds * 1000).toISOString().slice(5, 16);
    asked.push(`${time(startTime)} ${time(endTime)}`);
    const found = bills.filter((bill) => selections["that begin in it"](bill as TimeRange, { startTime, endTime }));
    if (found.length <= most) return found;
    const kind = "UnreadableResponse";
    throw new ServiceError({ operation: "listBills", kind, delivery: "Unknown", message: "too large", tooLarge: true });
  };
  return { asked, clock, reader: createBillReader({ client: { listBills }, clock }) };
}

describe("a range with more bills than one answer can have", () => {
  const start = seconds("2026-03-01T00:00:00Z");
  const month = { startTime: start, endTime: seconds("2026-04-01T00:00:00Z") };
  const at = (hours: number, amount: number) =>
    billOf({
      startTime: String(start + hours * 3600),
      endTime: String(start + hours * 3600 + 1),
      amount: String(amount),
    });

  it("is read by days, and a day by hours; the next time it is not asked for as a whole", async () => {
    const bills = Array.from({ length: 31 * 24 }, (_, hour) => at(hour, hour));
    bills.push(...Array.from({ length: 30 }, (_, index) => at(24 * 9 + (index % 24), 10_000 + index)));
    const { asked, reader } = limitedService(bills, 24);
    const found = await read(reader, month, { closedBefore: month.endTime });
    expect(found).toHaveLength(bills.length);
    expect(new Set(found).size).toBe(bills.length);
    expect(asked).toHaveLength(1 + 31 + 24);
    expect(asked.slice(0, 2)).toEqual(["03-01T00:00 04-01T00:00", "03-01T00:00 03-02T00:00"]);
    await read(reader, month, { closedBefore: month.endTime });
    expect(asked).toHaveLength(1 + 31 + 24);
    await read(reader, { ...month, endTime: month.endTime + 60 });
    expect(asked.slice(1 + 31 + 24)).not.toContainEqual(expect.stringMatching(/03-01T00:00 04/));
  });

  it("fails when an hour has too many, and does not ask for it again for six hours", async () => {
    const { asked, reader, clock } = limitedService([at(0.1, 1), at(0.2, 2), at(0.3, 3)], 2);
    const attempt = () => read(reader, month, { closedBefore: month.endTime });
    await expect(attempt()).rejects.toThrow(
      "the bills of 2026-03-01T00:00:00Z to 2026-03-01T01:00:00Z are more than 33554432 bytes or 50000 bills: use cycle Day, or narrow the report by category or productName",
    );
    expect(asked).toHaveLength(3);
    await expect(attempt()).rejects.toThrow(BillsTooLargeError);
    expect(asked).toHaveLength(3);
    await clock.advance(6 * 3_600_000);
    await expect(attempt()).rejects.toThrow(BillsTooLargeError);
    expect(asked).toHaveLength(6);
  });

  it("is read by weeks with cycle Week, and not in parts of a bill", async () => {
    const { asked, reader } = limitedService([at(0, 1), at(24, 2), at(200, 3)], 2);
    const weeks = { startTime: start, endTime: start + 28 * 86_400 };
    expect(await read(reader, weeks, { cycle: "Week" })).toHaveLength(3);
    expect(asked.slice(0, 3)).toEqual([
      "03-01T00:00 03-29T00:00",
      "03-01T00:00 03-02T00:00",
      "03-02T00:00 03-09T00:00",
    ]);
    await expect(read(reader, weeks, { cycle: "Month" })).rejects.toThrow(BillsTooLargeError);
  });
});

describe("a tally", () => {
  it("sums exactly by product, category and key, most expensive first", () => {
    const tally = createTally();
    const big = "9007199254740993"; // not a double
    tally.add(billOf({ amount: big, voucherAmount: "1", payAmount: "2", requestCount: "10" }));
    tally.add(billOf({ amount: big, voucherAmount: "1", payAmount: "2", requestCount: "5", apikeyName: "renamed" }));
    tally.add(billOf({ amount: "-5", ownerID: "key-2", productName: "Model B", category: "gen_api" }));
    tally.add(billOf({ amount: "-5", ownerID: "key-3", productName: "Model B", category: "gen_api", apikeyName: "a" }));
    expect(tally.totals()).toEqual({
      amount: 18_014_398_509_481_976n,
      voucher: 2n,
      paid: 4n,
      records: 4,
      requests: 15n,
    });
    expect(tally.byProduct().map(({ productName, amount }) => [productName, amount])).toEqual([
      ["Model A", 18_014_398_509_481_986n],
      ["Model B", -10n],
    ]);
    expect(tally.byCategory().map(({ category, records }) => [category, records])).toEqual([
      ["llm", 2],
      ["gen_api", 2],
    ]);
    expect(tally.byKey().map(({ keyID, keyName }) => [keyID, keyName])).toEqual([
      ["key-1", "renamed"],
      ["key-3", "a"],
      ["key-2", "default"],
    ]);
    expect(tally.unreadable()).toBe(0);
  });

  it("says how many amounts it could not read", () => {
    const tally = createTally();
    tally.add(billOf({ amount: "12.5", payAmount: "3" }));
    tally.add(billOf({ amount: "1" }));
    expect([tally.unreadable(), tally.totals()]).toEqual([
      1,
      { amount: 1n, voucher: 0n, paid: 3n, records: 2, requests: 0n },
    ]);
  });

  it("equals a straight sum over any bills", () => {
    const amounts = fc.array(fc.tuple(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n }), fc.nat(5), fc.nat(3)));
    fc.assert(
      fc.property(amounts, (list) => {
        const tally = createTally();
        for (const [amount, key, product] of list) {
          tally.add(billOf({ amount: String(amount), ownerID: `k${key}`, productName: `p${product}` }));
        }
        const sum = list.reduce((total, [amount]) => total + amount, 0n);
        expect(tally.totals().amount).toBe(sum);
        for (const rows of [tally.byProduct(), tally.byCategory(), tally.byKey()]) {
          expect(rows.reduce((total, { amount }) => total + amount, 0n)).toBe(sum);
        }
      }),
    );
  });
});
