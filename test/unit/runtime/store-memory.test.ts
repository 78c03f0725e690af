import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";

it("the texts that objects share are in memory once: the store takes less than the objects alone", async () => {
  const worker = new Worker(new URL("./stored-bytes.ts", import.meta.url));
  const [{ alone, stored }] = await once(worker, "message");
  expect(stored).toBeLessThan(alone * 0.85);
});
