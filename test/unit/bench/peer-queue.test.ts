import { expect, it } from "vitest";
import { createQueue } from "../../../bench/peers/client-node/queue.ts";

/** A queue whose work ends when the test says so. `started` has all keys so far. */
function heldQueue(workers: number) {
  const started: string[] = [];
  const running = new Map<string, PromiseWithResolvers<void>>();
  const queue = createQueue(workers, (key) => {
    started.push(key);
    const held = Promise.withResolvers<void>();
    running.set(key, held);
    return held.promise;
  });
  const end = async (key: string) => {
    running.get(key)?.resolve();
    await new Promise(setImmediate);
  };
  return { queue, started, end };
}

it("the queue of the client-node peer works on no more keys at once than it has workers", async () => {
  const { queue, started, end } = heldQueue(2);
  for (const key of ["a", "b", "c"]) queue.add(key);
  expect(started).toEqual(["a", "b"]);
  await end("a");
  expect(started).toEqual(["a", "b", "c"]);
});

it("a key that is added while it is worked on runs again once, after that", async () => {
  const { queue, started, end } = heldQueue(2);
  for (const key of ["a", "a", "a", "b"]) queue.add(key);
  expect(started).toEqual(["a", "b"]);
  await end("a");
  expect(started).toEqual(["a", "b", "a"]);
  await end("a");
  expect(started).toHaveLength(3);
});
