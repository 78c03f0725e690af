import { describe, expect, it } from "vitest";
import { createAccountBodies, createResponseMemory, SMALL_BODY_BYTES } from "../../../src/provider/response-memory.ts";
import { createFakeClock, settle } from "../../support/fake-clock.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const { signal } = new AbortController();
const clock = createFakeClock();

/** Whether a promise has resolved by now. */
async function resolved(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  promise.then(
    () => {
      done = true;
    },
    () => {},
  );
  await settle();
  return done;
}

describe("the memory of all accounts", () => {
  /** Bodies of accounts of their own. */
  const bodiesAt = (memory: ReturnType<typeof createResponseMemory>, service: string) =>
    createAccountBodies(memory, service, clock);

  it("is never exceeded, and serves the bodies of a service in the order of asking", async () => {
    const memory = createResponseMemory(3 * MIB);
    const bodies = [2 * MIB, 2 * MIB, MIB].map((length) => bodiesAt(memory, "a")({ limit: 16 * MIB, length }, signal));
    const [first, second, third] = bodies;
    expect(await Promise.all(bodies.map(resolved))).toEqual([true, false, false]);
    (await first)?.release();
    expect(await resolved(second as Promise<unknown>)).toBe(true);
    expect(await resolved(third as Promise<unknown>)).toBe(false);
    (await second)?.release();
    expect(await resolved(third as Promise<unknown>)).toBe(true);
    expect(memory.inUse()).toBeLessThanOrEqual(3 * MIB);
    (await third)?.release();
    expect(memory.inUse()).toBe(0);
  });

  it("no service takes all of it", async () => {
    const memory = createResponseMemory(3 * MIB);
    const greedy = Array.from({ length: 50 }, () =>
      bodiesAt(memory, "greedy")({ limit: 16 * MIB, length: 2 * MIB }, signal),
    );
    await greedy[0];
    (await bodiesAt(memory, "other")({ limit: 16 * MIB, length: 512 * KIB }, signal)).release();
    for (const body of greedy) (await body).release();
    expect(memory.inUse()).toBe(0);
  });

  it("a body without a length takes nothing until it grows, and then all that it may need", async () => {
    const memory = createResponseMemory(48 * MIB);
    const body = await bodiesAt(memory, "a")({ limit: 16 * MIB, length: undefined }, signal);
    await body.grow(SMALL_BODY_BYTES, signal);
    expect(memory.inUse()).toBe(0);
    await body.grow(SMALL_BODY_BYTES + 1, signal);
    expect(memory.inUse()).toBe(16 * MIB);
    await body.grow(16 * MIB, signal);
    body.release();
    body.release();
    expect(memory.inUse()).toBe(0);
  });

  it("a body larger than it has it alone instead of waiting for ever", async () => {
    const memory = createResponseMemory(MIB);
    const body = await bodiesAt(memory, "a")({ limit: 16 * MIB, length: 10 * MIB }, signal);
    expect(memory.inUse()).toBeLessThanOrEqual(MIB);
    body.release();
  });

  it("bodies that all grow at once do not wait for each other for ever, and small ones not for them", async () => {
    const memory = createResponseMemory(3 * MIB);
    let grown = 0;
    let grownBeforeSmall = 0;
    const bodies = Array.from({ length: 64 }, async (_, index) => {
      const body = await bodiesAt(memory, `s${index % 4}`)({ limit: 2 * MIB, length: undefined }, signal);
      await body.grow(2 * MIB, signal);
      expect(memory.inUse()).toBeLessThanOrEqual(3 * MIB);
      grown += 1;
      await settle();
      body.release();
    });
    const small = bodiesAt(memory, "small")({ limit: MIB, length: KIB }, signal).then((body) => {
      grownBeforeSmall = grown;
      body.release();
    });
    await Promise.all([...bodies, small]);
    expect(grown).toBe(64);
    expect(grownBeforeSmall).toBeLessThan(64);
    expect(memory.inUse()).toBe(0);
  });

  it("a body whose call is aborted leaves the line", async () => {
    const memory = createResponseMemory(MIB);
    const first = await bodiesAt(memory, "a")({ limit: MIB, length: MIB }, signal);
    const caller = new AbortController();
    const second = bodiesAt(memory, "a")({ limit: MIB, length: MIB }, caller.signal);
    const third = bodiesAt(memory, "a")({ limit: MIB, length: MIB }, signal);
    caller.abort(new Error("given up"));
    await expect(second).rejects.toThrow("given up");
    first.release();
    (await third).release();
    expect(memory.inUse()).toBe(0);
  });
});

describe("the turn of an account", () => {
  it("one account reads one large body at a time, and pauses after each; small ones and other accounts do not wait", async () => {
    const clock = createFakeClock();
    const memory = createResponseMemory(64 * MIB);
    const reserve = createAccountBodies(memory, "one", clock);
    const size = { limit: 16 * MIB, length: 8 * MIB };
    const first = await reserve(size, signal);
    const second = reserve(size, signal);
    const small = await reserve({ limit: 16 * MIB, length: 1024 }, signal);
    const other = await createAccountBodies(memory, "other", clock)(size, signal);
    expect(await resolved(second)).toBe(false);

    first.release();
    first.release();
    await clock.advance(999);
    expect(await resolved(second)).toBe(false);
    await clock.advance(1);
    expect(await resolved(second)).toBe(true);
    for (const body of [small, other, await second]) body.release();
    expect(memory.inUse()).toBe(0);
  });

  it("a body that grows large takes it, and one that is given up lets the next one in", async () => {
    const clock = createFakeClock();
    const reserve = createAccountBodies(createResponseMemory(64 * MIB), "one", clock);
    const growing = await reserve({ limit: 4 * MIB, length: undefined }, signal);
    await growing.grow(MIB, signal);
    const leaving = new AbortController();
    const given = reserve({ limit: 4 * MIB, length: MIB }, leaving.signal);
    const next = reserve({ limit: 4 * MIB, length: MIB }, signal);
    leaving.abort(new Error("given up"));
    await expect(given).rejects.toThrow("given up");
    expect(await resolved(next)).toBe(false);
    growing.release();
    await clock.advance(125);
    expect(await resolved(next)).toBe(true);
  });
});
