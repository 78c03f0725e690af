import { operationMeter, productMeter } from "../../src/controllers/billing/meters.ts";
import type { Usage } from "../../src/controllers/billing/usage.ts";
import type { Operation } from "../../src/provider/operations.ts";

export const YEAR = {
  startTime: Date.parse("2026-01-01T00:00:00Z") / 1000,
  endTime: Date.parse("2027-01-01T00:00:00Z") / 1000,
};

const ACCOUNT = "ClusterAccount/default";
const DAY_SECONDS = 86_400;
/** 1/10000 yuan per card and hour. No price divides the seconds of a day. */
const PRODUCTS = { "gpu-small": 23_457, "gpu-large": 187_003 } as const;
/** 1/10000 yuan per 1000 characters, or per second of video. */
const OPERATIONS = [
  { operation: "synthesizeSpeech", product: "speech-2.6-turbo", price: 1_999, per: 1_000, unit: () => 200 },
  {
    operation: "submitSpeech",
    product: "speech-2.6-hd",
    price: 3_501,
    per: 1_000,
    unit: (n: number) => 1_000 + n * 37,
  },
  { operation: "submitImageToVideo", product: "vid-i2v", price: 3_333, per: 1, unit: () => 5 },
  {
    operation: "submitVideoToVideo",
    product: "vid2.6-v2v",
    price: 7_919,
    per: 1,
    unit: (n: number) => (n % 2 === 0 ? 5 : 10),
  },
] as const satisfies {
  operation: Operation;
  product: string;
  price: number;
  per: number;
  unit: (n: number) => number;
}[];
const NAMESPACES = ["ads", "film", "games", "news", "shop"];

/** A charge as the simulator takes it. */
type Charge = {
  time: string;
  key: number;
  productID: string;
  productName: string;
  category: string;
  usage: number;
  unitPrice: number;
  amount: number;
};

/** A year of an account: what the service charges, what the operator observes, and what each namespace really costs. */
export type BillYear = { charges: Charge[]; usage: Usage[]; costs: Map<string, bigint>; total: bigint };

/**
 * @param random in [0, 1)
 * @param observed the share of the workers' time and of the jobs that the operator observes, 0 to 1
 */
export function billYear(random: () => number, observed = 1): BillYear {
  const year: BillYear = { charges: [], usage: [], costs: new Map(), total: 0n };
  const pick = (count: number) => Math.floor(random() * count);

  function charge(namespace: string, { amount, ...entry }: Omit<Charge, "time"> & { at: number }): void {
    const { at, ...rest } = entry;
    year.charges.push({ ...rest, amount, time: new Date(at * 1000).toISOString() });
    year.total += BigInt(amount);
    year.costs.set(namespace, (year.costs.get(namespace) ?? 0n) + BigInt(amount));
  }

  function use(usage: Omit<Usage, "account">): void {
    if (random() < observed) year.usage.push({ account: ACCOUNT, ...usage });
  }

  for (let at = YEAR.startTime; at < YEAR.endTime; at += DAY_SECONDS) {
    const day = new Date(at * 1000).toISOString().slice(0, 10);
    for (const [index, [product, unitPrice]] of Object.entries(PRODUCTS).entries()) {
      // The last namespace is "": an endpoint of the account that no object owns.
      for (const namespace of [...NAMESPACES, ""]) {
        const seconds = pick(3) * pick(DAY_SECONDS);
        if (seconds === 0) continue;
        const amount = Math.floor((seconds * unitPrice) / 3_600);
        const entry = { productID: product, productName: "GPU serverless", category: "gpu", usage: seconds, unitPrice };
        charge(namespace, { ...entry, key: index, at: at + pick(DAY_SECONDS), amount });
        const object = namespace === "" ? "" : `GpuEndpoint/chat-${index}`;
        use({ namespace, object, created: 0, meter: productMeter(product), day, quantity: seconds, requests: 0 });
      }
    }
    for (const { operation, product, price, per, unit } of OPERATIONS) {
      for (let job = pick(6); job > 0; job--) {
        const namespace = NAMESPACES[pick(NAMESPACES.length)] ?? "";
        const quantity = unit(pick(50));
        const amount = Math.ceil((quantity * price) / per);
        const entry = {
          productID: product,
          productName: product,
          category: "gen_api",
          usage: quantity,
          unitPrice: price,
        };
        charge(namespace, { ...entry, key: 0, at: at + pick(DAY_SECONDS), amount });
        const object = `Job/${day}-${job}`;
        use({ namespace, object, created: 0, meter: operationMeter(operation), day, quantity, requests: 1 });
      }
    }
    const tokens = { productID: "llm-4", productName: "Language model", category: "llm", usage: 1, unitPrice: 12 };
    charge("", { ...tokens, key: 1, at: at + 60, amount: 1 + pick(99_999) });
    if (pick(30) === 0)
      charge("", { ...tokens, productID: "gpu-large", category: "gpu", key: 0, at, amount: -pick(500) });
  }
  return year;
}

/** Adds the charges to a simulator. */
export async function postCharges(simulatorURL: string, { charges }: BillYear): Promise<void> {
  const answer = await fetch(`${simulatorURL}/__state/charges`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(charges),
  });
  if (!answer.ok) throw new Error(await answer.text());
}
