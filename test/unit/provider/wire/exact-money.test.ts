import { expect, it } from "vitest";
import { systemClock } from "../../../../src/base/clock.ts";
import { billFrom } from "../../../../src/provider/money/money-records.ts";
import { readPage } from "../../../../src/provider/wire/pages.ts";

it.each(["amount", "voucherAmount", "payAmount", "requestCount"] as const)(
  "%s of a bill as a number beyond 2^53 is exact",
  async (field) => {
    const body = Buffer.from(`{"bills":[{"${field}":9007199254740993}]}`);
    const page = { list: "bills", record: (value: unknown) => billFrom(value), most: 10 };
    const { records } = await readPage(body, page, systemClock);
    expect(records).toMatchObject([{ [field]: 9007199254740993n }]);
  },
);
