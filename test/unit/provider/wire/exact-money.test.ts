import { expect, it } from "vitest";
import { systemClock } from "../../../../src/base/clock.ts";
import { billFrom } from "../../../../src/provider/money/money-records.ts";
import { bill } from "../../../../src/provider/wire/billing.ts";
import { readPage } from "../../../../src/provider/wire/pages.ts";

it.each(["amount", "voucherAmount", "payAmount", "requestCount"] as const)(
  "%s of a bill as a number beyond 2^53 is exact",
  async (field) => {
    const body = Buffer.from(`{"bills":[{"${field}":9007199254740993}]}`);
    const page = { list: "bills", record: bill.transform((wire) => billFrom(wire)), most: 10 };
    const read = await readPage(body, page, systemClock);
    expect(read).toMatchObject({ bills: [{ [field]: 9007199254740993n }] });
  },
);
