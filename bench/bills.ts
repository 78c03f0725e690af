import { fileURLToPath } from "node:url";
import { z } from "zod";
import { NODE_FLAGS } from "../scripts/node-flags.ts";
import { fillBills } from "../tools/bills/bill-months.ts";
import { startGuarded } from "../tools/cluster/guarded.ts";
import { runProgram } from "../tools/cluster/run-program.ts";
import type { BenchOptions } from "./cluster.ts";
import { describeMachine } from "./machine.ts";
import { API_KEY, startSimulator } from "./remotes.ts";
import type { Bills } from "./scenario-figures.ts";

export type BillsOptions = BenchOptions & { records: number };

const SUBJECT = fileURLToPath(new URL("bills-subject.ts", import.meta.url));

const reading = z.object({
  seconds: z.number(),
  calls: z.number(),
  records: z.number(),
  /** An integer, which may be larger than a number can be exactly. */
  amount: z.string(),
  csvMiB: z.number(),
});
const report = z.object({
  readings: z.tuple([reading, reading]),
  cpuSeconds: z.number(),
  longestBlockMs: z.number(),
  beforeMiB: z.number(),
  peakMiB: z.number(),
});
/** What bills-subject.ts prints. */
export type BillsSubjectReport = z.output<typeof report>;

/**
 * A report over fourteen months of bills, in a process of its own, and the same report again.
 * @throws Error when a sum differs from a straight one
 */
export async function measureBills({ records, say, signal }: BillsOptions): Promise<Bills> {
  const guarded = await startGuarded();
  try {
    const machine = await describeMachine();
    const { baseURL } = await startSimulator(guarded);
    const sum = await fillBills(baseURL, records);
    say(`${records} bills at the simulator`);
    signal.throwIfAborted();
    const args = [...NODE_FLAGS, SUBJECT, baseURL, API_KEY];
    const printed = await runProgram(process.execPath, args, { signal });
    const { readings, ...figures } = report.parse(JSON.parse(printed));
    const [first, again] = readings;
    for (const one of readings) {
      if (one.amount === String(sum) && one.records === records) continue;
      throw new Error(`${one.records} of ${records} bills with a sum of ${one.amount} instead of ${sum}`);
    }
    const costOf = ({ seconds, calls }: typeof first) => ({ seconds, calls });
    const { csvMiB } = first;
    return {
      scenario: "bills",
      machine,
      size: { records },
      first: costOf(first),
      again: costOf(again),
      csvMiB,
      ...figures,
    };
  } finally {
    await guarded.stop();
  }
}
