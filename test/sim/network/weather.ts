import type { Random } from "../../../src/simulator/random.ts";

/** What can happen to a request on its way. */
export const REQUEST_FAULTS = [
  /** The connection breaks before the request arrives. */
  "requestLost",
  /** The request takes effect, and the connection breaks before the response arrives. */
  "responseLost",
  /** The request does not arrive, and nothing tells so. */
  "requestSwallowed",
  /** The request takes effect, and the response does not arrive. */
  "responseSwallowed",
  /** An error of the server (5xx) in its own format, without effect. */
  "errorBefore",
  /** The request takes effect, and the response is an error in the server's own format (5xx). */
  "errorAfter",
  /** A gateway's page instead of the request. */
  "gatewayBefore",
  /** The request takes effect, and the response is a gateway's page. */
  "gatewayAfter",
  /** 429, without effect. */
  "throttled",
  /** The response breaks off half-way. */
  "truncated",
  /** The request arrives late. */
  "late",
  /** No connection. */
  "refused",
] as const;
export type RequestFault = (typeof REQUEST_FAULTS)[number] | RecordWriteFault;

/** What can happen to a write of a record or of an outcome at the API server, besides. */
export const RECORD_WRITE_FAULTS = [
  /** The request arrives when the fault ends, with all the others. */
  "stalled",
  /** 422 without effect. */
  "invalid",
  /** 413 without effect. */
  "tooLarge",
] as const;
export type RecordWriteFault = (typeof RECORD_WRITE_FAULTS)[number];

/** What the network does now. */
export type Weather = {
  /** Share of requests that a fault hits, 0 to 1. */
  faults: number;
  /** Longest usual way of a message, ms. */
  latencyMs: number;
  /** No connection at all. */
  down: boolean;
  /** The faults that may happen. */
  kinds: readonly RequestFault[];
  /** Faults hit only requests that can change something. */
  writesOnly: boolean;
  /** Faults hit only the API writes of records, or only those of whole statuses with the outcome of a request. */
  only?: RecordWrite | undefined;
  /** When this weather ends, ms since the beginning. */
  until?: number;
};

export type RecordWrite = "Record" | "Outcome";

export const CALM: Weather = { faults: 0, latencyMs: 20, down: false, kinds: REQUEST_FAULTS, writesOnly: false };

export type FaultCounts = Map<string, number>;

/** Draws what happens to a request. */
export function drawFault(weather: Weather, random: Random, method: string): RequestFault | undefined {
  if (weather.down) return "refused";
  if (weather.writesOnly && method === "GET") return undefined;
  if (random.next() >= weather.faults) return undefined;
  return weather.kinds[Math.floor(random.next() * weather.kinds.length)];
}

export function countFault(counts: FaultCounts, kind: string): void {
  counts.set(kind, (counts.get(kind) ?? 0) + 1);
}

/** One way of a message: usually short, at times much longer, so that messages overtake each other. */
export function drawLatency({ latencyMs }: Weather, random: Random): number {
  const share = random.next();
  return 0.1 + latencyMs * (share < 0.9 ? share : share * random.next() * 20);
}
