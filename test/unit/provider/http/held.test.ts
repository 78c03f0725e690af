import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../../src/clock.ts";
import { createServiceClient } from "../../../../src/provider/client.ts";
import { createBreaker } from "../../../../src/provider/http/breaker.ts";
import { createLimiter } from "../../../../src/provider/http/limiter.ts";
import { createTransport } from "../../../../src/provider/http/transport.ts";
import { startBench } from "../../simulator/start.ts";
import { failure, KEY } from "./make-client.ts";

it("a call whose account comes to be held while its intent is committed is not sent", async () => {
  const bench = await startBench();
  const transport = createTransport({ baseURL: bench.url, apiKey: () => KEY, requestTimeoutMs: 5_000 });
  onTestFinished(async () => {
    await transport.close();
    await bench.close();
  });
  let held: string | undefined;
  const client = createServiceClient({
    transport,
    clock: systemClock,
    limiter: createLimiter({ clock: systemClock, random: () => 0.5, requestsPerSecond: 1e6, burst: 1e6 }),
    breaker: createBreaker({ clock: systemClock, random: () => 0.5, held: () => held, probe: "getEndpointLimits" }),
  });
  const body = { text: "Ahoy.", voice_setting: { voice_id: "announcer" }, audio_setting: {} };
  const submit = (commit: () => Promise<void>) => client.submitSpeech(body, { commit });
  const refused = await failure(
    submit(async () => {
      await client.getEndpointLimits({});
      held = "the service refuses the key";
    }),
  );
  expect(refused).toMatchObject({ kind: "BreakerOpen", delivery: "NotSent" });
  expect(await bench.audit("?operation=submitSpeech")).toEqual([]);
  held = undefined;
  await submit(async () => {});
  expect(await bench.audit("?operation=submitSpeech")).toHaveLength(1);
});
