import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../../src/base/clock.ts";
import { createServiceClient } from "../../../../src/provider/client.ts";
import { createBreaker } from "../../../../src/provider/http/breaker.ts";
import { createGate } from "../../../../src/provider/http/gate.ts";
import { createTransport } from "../../../../src/provider/http/transport.ts";
import { startBench } from "../../simulator/start.ts";
import { failure, KEY } from "./make-client.ts";

it("a call whose account comes to be held while its intent is committed is not sent", async () => {
  const bench = await startBench();
  const transport = createTransport({ baseURL: bench.url, apiKey: () => KEY, requestTimeoutMs: 60_000 });
  onTestFinished(async () => {
    await transport.close();
    await bench.close();
  });
  let held: string | undefined;
  const client = createServiceClient({
    transport,
    clock: systemClock,
    gate: createGate({ clock: systemClock, random: () => 0.5, requestsPerSecond: 1e6, burst: 1e6 }),
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

describe("while another process may serve the account", () => {
  const body = { text: "Ahoy.", voice_setting: { voice_id: "announcer" }, audio_setting: {} };
  const givenUp = { kind: "Aborted", delivery: "NotSent", message: expect.stringContaining("the lease is lost") };

  async function setUp() {
    const bench = await startBench();
    const transport = createTransport({ baseURL: bench.url, apiKey: () => KEY, requestTimeoutMs: 60_000 });
    onTestFinished(async () => {
      await transport.close();
      await bench.close();
    });
    let serves = true;
    const lose = () => {
      serves = false;
    };
    const assertServing = () => {
      if (!serves) throw new Error("the lease is lost");
    };
    const client = createServiceClient({
      transport,
      clock: systemClock,
      gate: createGate({ clock: systemClock, random: () => 0.5, requestsPerSecond: 1e6, burst: 1e6 }),
      breaker: createBreaker({ clock: systemClock, random: () => 0.5, assertServing, probe: "getEndpointLimits" }),
    });
    return { bench, client, lose };
  }

  it("no call is sent, not even the probe", async () => {
    const { bench, client, lose } = await setUp();
    lose();
    expect(await failure(client.getEndpointLimits({}))).toMatchObject(givenUp);
    expect(await failure(client.listEndpoints({}))).toMatchObject(givenUp);
    expect(await bench.audit("")).toEqual([]);
  });

  it("a call that had its turn before is not sent", async () => {
    const { bench, client, lose } = await setUp();
    expect(await failure(client.submitSpeech(body, { commit: async () => lose() }))).toMatchObject(givenUp);
    expect(await bench.audit("")).toEqual([]);
  });

  it("a call that waits for a connection is not sent", async () => {
    const { bench, client, lose } = await setUp();
    const call = client.submitSpeech(body, { commit: async () => void setImmediate(lose) });
    expect(await failure(call)).toMatchObject(givenUp);
    expect(await bench.audit("")).toEqual([]);
  });
});
