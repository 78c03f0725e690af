// A report over fourteen months of bills against a simulator of its own process: `node bench/bills.ts [RECORDS]` after
// `npm run build`. Prints time, processor time, memory and whether the sums equal a straight one.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { fillBills, readMonths } from "../tools/bills/bill-months.ts";

const records = Number(process.argv[2] ?? 100_000);
const bundle = fileURLToPath(new URL("../dist/mooring.mjs", import.meta.url));
const simulator = spawn(process.execPath, [bundle, "simulator", "--port", "0"], {
  stdio: ["ignore", "pipe", "inherit"],
});
const [line] = (await once(simulator.stdout, "data")) as [Buffer];
const url = /http:\S+/.exec(line.toString())?.[0] ?? "";
const mib = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MiB`;

try {
  const sum = await fillBills(url, records);
  const atStart = process.memoryUsage().rss;
  let peak = atStart;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 20);
  const [cpu, held] = [process.cpuUsage(), monitorEventLoopDelay({ resolution: 5 })];
  held.enable();
  const readings = await readMonths(url, "simulator-key", 2);
  clearInterval(watch);
  held.disable();
  const { user, system } = process.cpuUsage(cpu);
  for (const [index, { ms, calls, amount, fileBytes, ...reading }] of readings.entries()) {
    console.log(
      `${index === 0 ? "first reading" : "read again"}: ${reading.records} records, ${calls} calls, ${(ms / 1000).toFixed(2)} s, CSV ${mib(fileBytes)}, sum ${amount === sum ? "equals" : "DIFFERS FROM"} the straight one (${sum})`,
    );
  }
  console.log(
    `processor: ${((user + system) / 1e6).toFixed(1)} s for both readings; nothing else ran for ${Math.round(held.max / 1e6)} ms at most`,
  );
  const after = process.resourceUsage().maxRSS * 1024;
  console.log(`memory: ${mib(atStart)} resident before, ${mib(Math.max(peak, after))} at most`);
  if (readings.some(({ amount, records: found }) => amount !== sum || found !== records)) process.exitCode = 1;
} finally {
  simulator.kill();
}
