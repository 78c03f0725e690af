/**
 * Measures what several processes that divide the accounts cost, and one more that serves nothing, and prints the figures.
 * Run: npm run bench -- replicas [--replicas 3] [--objects 6000] [--accounts 30] [--rest 60]
 */
import { parseArgs } from "node:util";
import { BENCH_TOOLS, prepareTools } from "../tools/programs/tool.ts";
import { measureReplicas } from "./replicas.ts";

const { values } = parseArgs({
  options: {
    replicas: { type: "string", default: "3" },
    objects: { type: "string", default: "6000" },
    accounts: { type: "string", default: "30" },
    rest: { type: "string", default: "60" },
  },
});

const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupted.abort());
const say = (line: string) => void process.stderr.write(`${line}\n`);

await prepareTools(BENCH_TOOLS, say);
const figures = await measureReplicas({
  say,
  signal: interrupted.signal,
  endpoints: Number(values.objects),
  accounts: Number(values.accounts),
  replicas: Number(values.replicas),
  restSeconds: Number(values.rest),
});
process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`);
