import { expect, it } from "vitest";
import { billsOfDay, isProductOf } from "../../../../../src/cli/operate/resolve/bills.ts";
import type { Bill } from "../../../../../src/provider/money/money-records.ts";
import type { BillsOfPeriod } from "../../../../../src/provider/money/period.ts";

const bill = (productName: string, amount: bigint | undefined): Bill => ({
  userID: "u",
  startTime: undefined,
  endTime: undefined,
  billingMethod: 1,
  productName,
  category: "gen_api",
  keyID: "k",
  keyName: "team",
  keyMask: "sk-***",
  productID: "p",
  usage: [],
  basePrices: [],
  discountPrices: [],
  amount,
  voucherAmount: 0n,
  payAmount: amount,
  payAmountDisplay: undefined,
  pricePrecision: 1,
  llmSeries: "",
  requestCount: 2n,
});

it.each([
  ["submitSpeech", "vendor-speech-2.6-hd", true],
  ["submitSpeech", "Speech 2.6 HD (async)", true],
  ["submitSpeech", "vendor-speech-2.6-turbo", false],
  ["synthesizeSpeech", "VENDOR_SPEECH_2.6_TURBO", true],
  ["submitImageToVideo", "vid-i2v", true],
  ["submitImageToVideo", "vid2.6-v2v", false],
  ["submitVideoToVideo", "vid2.6-v2v", true],
] as const)("for %s, a bill of %s matches: %s", (operation, productName, matches) => {
  expect(isProductOf(operation, { productName, productID: "" })).toBe(matches);
});

it("given a time, reads the bills of its day by the clock of the account, those of the product first", async () => {
  const asked: BillsOfPeriod[] = [];
  const money = {
    settings: () => ({ timeZone: "Asia/Shanghai", settleMs: 0 }) as never,
    async *bills(request: BillsOfPeriod) {
      asked.push(request);
      yield [bill("gpu-4090", 5n), bill("vendor-speech-2.6-hd", undefined)];
    },
  };
  const time = Date.parse("2026-03-01T17:00:00Z"); // 2 March in Shanghai
  const found = await billsOfDay(money, "submitSpeech", time, new AbortController().signal);
  expect(found).toMatchObject([
    { product: "vendor-speech-2.6-hd", matches: true, amount: "", requests: 2 },
    { product: "gpu-4090", matches: false, amount: "0.0005" },
  ]);
  expect(asked[0]?.period).toEqual({
    startTime: Date.parse("2026-03-01T16:00:00Z") / 1000,
    endTime: Date.parse("2026-03-02T16:00:00Z") / 1000,
  });
});
