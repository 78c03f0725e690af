import { manifest } from "../../../support/manifests.ts";

import { API_KEY, type Stage, waitForCondition } from "../../stage/stage.ts";
import type { Scenario } from "../scenario.ts";

const NEXT_KEY = "simulator-key-2";
const FROM = "2026-02-01T00:00:00Z";
const TO = "2026-03-01T00:00:00Z";
const charge = (time: string, amount: number) => ({ time, amount, productName: "Model A", category: "llm" });

async function rotateKey(stage: Stage): Promise<void> {
  await stage.patch("Secret", "key", { data: { apiKey: Buffer.from(NEXT_KEY).toString("base64") } });
  await stage.eventually("the account uses the new key", async () => {
    const calls = await stage.audit();
    const [first, last] = [calls[0], calls.at(-1)];
    return keyHashOf(first) !== keyHashOf(last);
  });
  await stage.apply(manifest("turbo", {}, "after"));
  await waitForCondition(stage, "SpeechJob", "after", "Complete");
  await waitForCondition(stage, "Account", "default", "Ready");
}

function keyHashOf(entry: object | undefined): unknown {
  return entry === undefined ? undefined : Reflect.get(entry, "keyHash");
}

export const ACCOUNT_SCENARIOS: readonly Scenario[] = [
  {
    name: "account: the first start of the operator",
    fromStart: true,
    act: (stage) => waitForCondition(stage, "Account", "default", "Ready"),
  },
  {
    name: "account: key rotation",
    simulator: { apiKeys: [API_KEY, NEXT_KEY], speechLatencyMs: 50 },
    account: { endpoints: { syncInterval: "1s" } },
    prepare: async (stage) => {
      await stage.apply(manifest("endpoint", {}, "echo"));
      await waitForCondition(stage, "GpuEndpoint", "echo", "Ready");
    },
    act: rotateKey,
  },
  {
    name: "bill report with an export",
    account: { billing: { interval: "1s", settleTime: "1s" } },
    prepare: (stage) =>
      stage.control("POST", "/__state/charges", [charge("2026-02-01T00:00:00Z", 300), charge(FROM, 20)]),
    act: async (stage) => {
      const spec = { lastDays: null, startTime: FROM, endTime: TO, exportTo: { configMap: { name: "february" } } };
      await stage.apply(manifest("bill", spec, "february"));
      await waitForCondition(stage, "BillReport", "february", "Ready");
    },
  },
];
