/**
 * Measures several processes that divide the accounts (--shard), and prints the figures.
 * Run: npm run bench -- shards [--shards 3] [--objects 10000] [--accounts 12]
 */
import { parseArgs } from "node:util";
import { BENCH_TOOLS, prepareTools } from "../tools/programs/tool.ts";
import { measureShards } from "./shards.ts";

const { values } = parseArgs({
  options: {
    shards: { type: "string", default: "3" },
    objects: { type: "string", default: "10000" },
    accounts: { type: "string", default: "12" },
  },
});

const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupted.abort());
const say = (line: string) => void process.stderr.write(`${line}\n`);

await prepareTools(BENCH_TOOLS, say);
const figures = await measureShards({
  say,
  signal: interrupted.signal,
  endpoints: Number(values.objects),
  shards: Number(values.shards),
  accounts: Number(values.accounts),
});
process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`);
