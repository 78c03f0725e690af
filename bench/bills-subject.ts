// Two reports over the bills of a simulator, for bench/bills.ts: `node bench/bills-subject.ts URL KEY` prints what they cost.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { readMonths } from "../tools/bills/bill-months.ts";
import type { BillsSubjectReport } from "./bills.ts";

const [url = "", apiKey = ""] = process.argv.slice(2);
const MIB = 2 ** 20;
const beforeMiB = process.memoryUsage.rss() / MIB;
const [cpu, delay] = [process.cpuUsage(), monitorEventLoopDelay({ resolution: 5 })];
delay.enable();
const [first, again] = await readMonths(url, apiKey, 2);
delay.disable();
const { user, system } = process.cpuUsage(cpu);
if (first === undefined || again === undefined) throw new Error("a reading is missing");
const shown = ({ ms, calls, records, amount, fileBytes }: typeof first) => ({
  seconds: ms / 1_000,
  calls,
  records,
  amount: String(amount),
  csvMiB: fileBytes / MIB,
});
const report: BillsSubjectReport = {
  readings: [shown(first), shown(again)],
  cpuSeconds: (user + system) / 1e6,
  longestBlockMs: delay.max / 1e6,
  beforeMiB,
  peakMiB: process.resourceUsage().maxRSS / 1024,
};
process.stdout.write(JSON.stringify(report));
