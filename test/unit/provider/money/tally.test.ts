import { expect, it } from "vitest";
import { createTally } from "../../../../src/provider/money/tally.ts";
import { billOf } from "../../../support/bills.ts";

it("the tables are bounded, whatever names the bills have: what has no row of its own counts as (other)", () => {
  const tally = createTally();
  for (let i = 0; i < 10_050; i++) {
    const names = { productName: `p-${i}`, productId: `p-${i}`, category: `c-${i}`, ownerID: `k-${i}` };
    tally.add(billOf({ ...names, amount: i < 10_000 ? "2" : "1" }));
  }
  for (const rows of [tally.byProduct(), tally.byCategory(), tally.byKey()]) {
    expect(rows).toHaveLength(10_001);
    expect(rows.reduce((sum, { amount }) => sum + amount, 0n)).toBe(20_050n);
  }
  expect(tally.byCategory()[0]).toMatchObject({ category: "(other)", amount: 50n, records: 50 });
});
