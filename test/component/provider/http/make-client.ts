import { systemClock } from "../../../../src/base/clock.ts";
import type { CallEvent } from "../../../../src/provider/call-options.ts";
import { createServiceClient, type ServiceClient } from "../../../../src/provider/client.ts";
import { ServiceError } from "../../../../src/provider/errors.ts";
import { createGate } from "../../../../src/provider/http/gate.ts";
import { createTransport, type TransportOptions } from "../../../../src/provider/http/transport.ts";
import type { DeleteOperation } from "../../../../src/provider/operations.ts";

export const KEY = "sk-very-secret-0123456789";

export type TestClient = ServiceClient & { events: CallEvent[]; close(): Promise<void> };

/** Far beyond what a busy machine takes for hundreds of requests at once. */
const GENEROUS_MS = 60_000;

/** A client with a gate that holds nothing up. */
export function makeClient(
  baseURL: string,
  options: Partial<TransportOptions> = {},
  deleteOperation?: DeleteOperation,
): TestClient {
  const events: CallEvent[] = [];
  const transport = createTransport({ baseURL, apiKey: () => KEY, requestTimeoutMs: GENEROUS_MS, ...options });
  const gate = createGate({ clock: systemClock, random: () => 0.5, requestsPerSecond: 1e6, burst: 1e6 });
  const client = createServiceClient({
    transport,
    clock: systemClock,
    gate,
    deleteOperation,
    onCall: (event) => events.push(event),
  });
  return { ...client, events, close: () => transport.close() };
}

/** The ServiceError that the call ends with; anything else fails the test. */
export async function failure(call: Promise<unknown>): Promise<ServiceError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error("the call succeeded");
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}
