import type { HttpAnswer } from "../../base/exchange.ts";
import { ServiceError } from "../errors.ts";
import { OPERATIONS, type Operation } from "../operations.ts";
import { type Reserve, SMALL_BODY_BYTES } from "../response-memory.ts";
import type { Guard } from "./exchange-guard.ts";

const NOTHING_HELD = () => {};

/** Reads a body into memory that is reserved for it. The time of the service does not run while the body waits for memory. */
export async function readBody(
  { body, headers }: HttpAnswer,
  operation: Operation,
  reserve: Reserve,
  guard: Guard,
): Promise<{ body: Buffer; release(): void }> {
  const limit = OPERATIONS[operation].maxResponseBytes;
  const length = /^\d+$/.test(String(headers["content-length"])) ? Number(headers["content-length"]) : undefined;
  if (length !== undefined && length > limit) throw tooLarge(operation, limit);
  const whole = (length ?? 0) <= SMALL_BODY_BYTES ? body.whole?.() : undefined;
  // The connection holds no more of a body that nobody reads: it is small.
  if (whole !== undefined) return { body: whole, release: NOTHING_HELD };
  const ours = async <T>(wait: Promise<T>): Promise<T> => {
    guard.rest();
    const value = await wait;
    guard.resume();
    return value;
  };
  const signal = guard.signal();
  const memory = await ours(reserve({ limit, length }, signal));
  try {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of body) {
      size += chunk.length;
      if (size > limit) throw tooLarge(operation, limit);
      await ours(memory.grow(size, signal));
      chunks.push(chunk);
    }
    return { body: Buffer.concat(chunks, size), release: memory.release };
  } catch (error) {
    memory.release();
    throw error;
  }
}

function tooLarge(operation: Operation, limit: number): ServiceError {
  return new ServiceError({
    operation,
    kind: "UnreadableResponse",
    delivery: "Accepted",
    message: `the answer is larger than ${limit} bytes`,
    tooLarge: true,
  });
}
