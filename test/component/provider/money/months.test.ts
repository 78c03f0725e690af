import { expect, it, onTestFinished } from "vitest";
import { createSimulator } from "../../../../src/simulator/server.ts";
import { fillBills, readMonths } from "../../../../tools/bills/bill-months.ts";

// `npm run bench -- --scenario bills` is the same over 100,000 bills.
it("fourteen months over HTTP equal a straight sum; closed months are not queried again", async () => {
  const simulator = await createSimulator();
  onTestFinished(() => simulator.close());
  const amount = await fillBills(simulator.url, 2_000);
  const [first, again] = await readMonths(simulator.url, "simulator-key", 2);
  expect(first).toMatchObject({ records: 2_000, amount, calls: 14 });
  expect(again).toMatchObject({ records: 2_000, amount, calls: 1, fileBytes: first?.fileBytes });
});
