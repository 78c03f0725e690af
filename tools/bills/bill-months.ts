import { systemClock } from "../../src/base/clock.ts";
import { counted, fileOf } from "../../src/controllers/billing/report/file.ts";
import { createServiceClient } from "../../src/provider/client.ts";
import { createGate } from "../../src/provider/http/gate.ts";
import { createTransport } from "../../src/provider/http/transport.ts";
import { createBillReader } from "../../src/provider/money/bill-reader.ts";
import { billsOfPeriod } from "../../src/provider/money/period.ts";
import { createTally } from "../../src/provider/money/tally.ts";
import { timeZone } from "../../src/provider/money/time-zone.ts";

/** Unix seconds of an RFC 3339 time. */
const seconds = (time: string) => Date.parse(time) / 1000;

/** Fourteen months, the last ten weeks of them still open. */
export const PERIOD = { startTime: seconds("2026-01-01T00:00:00Z"), endTime: seconds("2027-03-01T00:00:00Z") };
const CLOSED_BEFORE = seconds("2027-02-01T00:00:00Z");
const CHUNK = 5_000;

export type Reading = { records: number; amount: bigint; fileBytes: number; calls: number; ms: number };

/** Fills a simulator with that many bills, spread over the period. Returns the straight sum of their amounts. */
export async function fillBills(simulatorURL: string, records: number): Promise<bigint> {
  let sum = 0n;
  for (let from = 0; from < records; from += CHUNK) {
    const charges = Array.from({ length: Math.min(CHUNK, records - from) }, (_, index) => {
      const id = from + index;
      const at = PERIOD.startTime + Math.floor((id / records) * (PERIOD.endTime - PERIOD.startTime));
      const amount = ((id * 2_654_435_761) % 1_000_000_007) + 1;
      sum += BigInt(amount);
      return {
        time: new Date(at * 1000).toISOString(),
        key: id % 50,
        // Every charge its own bill: the simulator makes one of each day, key and product.
        productID: `product-${id}`,
        productName: `Model ${id % 40}`,
        category: ["llm", "gen_api", "web_search"][id % 3],
        unitPrice: id % 1000,
        pricePrecision: 100,
        amount,
      };
    });
    const answer = await fetch(`${simulatorURL}/__state/charges`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(charges),
    });
    if (!answer.ok) throw new Error(await answer.text());
  }
  return sum;
}

/** Reads the whole period as a report does, sums it and writes it as CSV to nowhere; as often as asked, by one reader. */
export async function readMonths(simulatorURL: string, apiKey: string, times: number): Promise<Reading[]> {
  const transport = createTransport({ baseURL: simulatorURL, apiKey: () => apiKey, requestTimeoutMs: 120_000 });
  const gate = createGate({ clock: systemClock, random: Math.random, requestsPerSecond: 10, burst: 20 });
  let calls = 0;
  const client = createServiceClient({ transport, clock: systemClock, gate, onCall: () => calls++ });
  const reader = createBillReader({ client });
  const readings: Reading[] = [];
  for (let time = 0; time < times; time++) {
    const [began, before] = [performance.now(), calls];
    const tally = createTally();
    const bills = billsOfPeriod({
      reader,
      query: { cycle: "Day" },
      period: PERIOD,
      zone: timeZone("UTC"),
      closedBefore: CLOSED_BEFORE,
      signal: new AbortController().signal,
    });
    let fileBytes = 0;
    for await (const part of fileOf("CSV", counted(bills, tally), () => ({}))) fileBytes += Buffer.byteLength(part);
    const { records, amount } = tally.totals();
    readings.push({ records, amount, fileBytes, calls: calls - before, ms: performance.now() - began });
  }
  await transport.close();
  return readings;
}
