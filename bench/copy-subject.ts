// Copies at once, for bench/copy.ts: prints what lies in the store as it grows, then what came of them and the peak of memory.
import { once } from "node:events";
import { anyAddress } from "../src/base/address-guard.ts";
import { s3Store, volumeStore } from "../tools/artifacts/stores.ts";

type Task = {
  store: { kind: "volume"; root: string } | ({ kind: "s3" } & Parameters<typeof s3Store>[0]);
  url: string;
  keys: string[];
};
const { store: where, url, keys }: Task = JSON.parse(process.argv[2] ?? "");
const store = where.kind === "volume" ? await volumeStore(where.root) : await s3Store(where);
const before = process.memoryUsage.rss() / 1024;
const started = performance.now();
const copies = keys.map((key) =>
  store.copy(url, key, {
    lookup: anyAddress,
    signal: new AbortController().signal,
    onProgress: ({ bytes: stored }) => process.stdout.write(`${JSON.stringify({ stored })}\n`),
  }),
);
const sums = (await Promise.all(copies)).map(({ sha256 }) => sha256);
const { maxRSS } = process.resourceUsage();
const ms = performance.now() - started;
if (!process.stdout.write(`${JSON.stringify({ sums, ms, before, maxRSS })}\n`)) await once(process.stdout, "drain");
await store.dispose();
