import type { LookupFunction } from "node:net";
import type { Dispatcher } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { createServiceClient } from "../../../../src/provider/client.ts";
import { createBreaker } from "../../../../src/provider/http/breaker.ts";
import { createGate } from "../../../../src/provider/http/gate.ts";
import { createTransport } from "../../../../src/provider/http/transport.ts";
import { createExchange, type Exchange } from "../../../sim/network/exchange.ts";
import { createFakeClock, settle, until } from "../../../support/fake-clock.ts";
import { InProcessDispatcher } from "../../../support/in-process-dispatcher.ts";
import { startBench } from "../../simulator/start.ts";
import { failure, KEY } from "./make-client.ts";

const ok = { status: 200, headers: { "content-type": "application/json" }, text: '{"task_id":"task-1"}' };

/** A network whose connections open when it is up. */
class Network extends InProcessDispatcher {
  isUp = false;
  readonly sentAt: number[] = [];
  readonly #now: () => number;
  #waiting: Exchange[] = [];

  constructor(now: () => number) {
    super();
    this.#now = now;
  }

  override dispatch(_options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const exchange = createExchange(handler, () => true);
    if (this.isUp) queueMicrotask(() => this.#connect(exchange));
    else this.#waiting.push(exchange);
    return true;
  }

  comeBack(): void {
    this.isUp = true;
    for (const exchange of this.#waiting.splice(0)) this.#connect(exchange);
  }

  #connect(exchange: Exchange): void {
    if (!exchange.start()) return;
    this.sentAt.push(this.#now());
    exchange.answer(ok);
  }
}

function setUp() {
  const clock = createFakeClock();
  const network = new Network(() => clock.monotonic() - 1_000_000);
  let serves = true;
  const assertServing = () => {
    if (!serves) throw new Error("the lease is lost");
  };
  const client = createServiceClient({
    transport: createTransport({ baseURL: "http://service", apiKey: () => KEY, clock, open: () => network }),
    clock,
    gate: createGate({ clock, random: () => 0.5, requestsPerSecond: 1, burst: 2 }),
    breaker: createBreaker({ clock, random: () => 0.5, assertServing }),
  });
  const steps: string[] = [];
  const submit = (name: string, signal?: AbortSignal) =>
    client.submitSpeech(
      { text: name, voice_setting: { voice_id: "announcer" }, audio_setting: {} },
      {
        ...(signal === undefined ? {} : { signal }),
        commit: async () => void steps.push(`commit ${name}`),
        beforeSend: () => void steps.push(`send ${name}`),
      },
    );
  const lose = () => {
    serves = false;
  };
  return { clock, network, client, steps, submit, lose };
}

describe("paid calls that wait for a connection while the network is away", () => {
  const names = ["a", "b", "c", "d", "e", "f"];

  it("leave at the rate when it is back, each once", async () => {
    const { clock, network, submit, steps } = setUp();
    const calls = names.map((name) => submit(name));
    await clock.advance(30_000);
    expect(network.sentAt).toEqual([]);
    network.comeBack();
    await clock.advance(0);
    expect(network.sentAt.filter((at) => at === 30_000).length).toBeLessThanOrEqual(4);
    await clock.advance(10_000);
    await Promise.all(calls);
    expect(network.sentAt).toHaveLength(names.length);
    const expected = names.flatMap((name) => [`commit ${name}`, `send ${name}`]);
    expect([...steps].sort()).toEqual(expected.sort());
    for (const from of network.sentAt) {
      const inWindow = network.sentAt.filter((at) => at >= from && at < from + 2_000).length;
      // The burst, and the rate for the window and for the second that a token holds.
      expect(inWindow).toBeLessThanOrEqual(2 + 3);
    }
  });

  it("leave at once when nothing else has left: the rate has room", async () => {
    const { clock, network, submit } = setUp();
    const call = submit("a");
    await clock.advance(30_000);
    network.comeBack();
    await call;
    expect(network.sentAt).toEqual([30_000]);
  });

  it("leave at the rate after a slow commit, which is not repeated", async () => {
    const { clock, network, client } = setUp();
    network.isUp = true;
    let commits = 0;
    let stalled = true;
    const commit = async () => {
      commits += 1;
      while (stalled) await new Promise<void>((resolve) => clock.setTimeout(resolve, 100));
    };
    const body = { text: "Ahoy.", voice_setting: { voice_id: "announcer" }, audio_setting: {} };
    const calls = names.map(() => client.submitSpeech(body, { commit }));
    await clock.advance(10_000);
    stalled = false;
    await clock.advance(10_000);
    await Promise.all(calls);
    expect([commits, network.sentAt.length]).toEqual([names.length, names.length]);
    const atOnce = network.sentAt.filter((at) => at <= (network.sentAt[0] ?? 0) + 500).length;
    expect(atOnce).toBeLessThanOrEqual(2 + 1);
  });

  it("are not sent when they are given up while they depart again", async () => {
    const { clock, network, submit, steps } = setUp();
    const stop = new AbortController();
    const ends = names.map((name) =>
      submit(name, stop.signal).then(
        () => "sent",
        (error: unknown) => error,
      ),
    );
    await clock.advance(30_000);
    network.comeBack();
    await settle();
    const sent = network.sentAt.length;
    expect(sent).toBeLessThan(names.length);
    stop.abort(new Error("the operator is stopping"));
    const results = await Promise.all(ends);
    expect(results.filter((result) => result !== "sent")).toEqual(
      Array.from({ length: names.length - sent }, () =>
        expect.objectContaining({ kind: "Aborted", delivery: "NotSent" }),
      ),
    );
    await clock.advance(10_000);
    expect(network.sentAt).toHaveLength(sent);
    expect(steps.filter((step) => step.startsWith("send"))).toHaveLength(sent);
  });

  it("are not sent when the lease is lost while they depart again", async () => {
    const { clock, network, submit, lose } = setUp();
    const ends = names.map((name) =>
      submit(name).then(
        () => undefined,
        (error: unknown) => error,
      ),
    );
    await clock.advance(30_000);
    network.comeBack();
    await settle();
    const sent = network.sentAt.length;
    lose();
    await clock.advance(10_000);
    await Promise.all(ends);
    expect(network.sentAt).toHaveLength(sent);
    expect(await failure(submit("later"))).toMatchObject({ kind: "Aborted", delivery: "NotSent" });
  });
});

it("calls over sockets that open late are sent once each, with new turns", async () => {
  const bench = await startBench();
  const clock = createFakeClock();
  const connecting: (() => void)[] = [];
  let isUp = false;
  const lookup: LookupFunction = (address, _options, callback) => {
    const connect = () => callback(null, address, 4);
    if (isUp) connect();
    else connecting.push(connect);
  };
  const transport = createTransport({ baseURL: bench.url, apiKey: () => KEY, clock, connect: { lookup } });
  onTestFinished(async () => {
    await transport.close();
    await bench.close();
  });
  const gate = createGate({ clock, random: () => 0.5, requestsPerSecond: 1, burst: 2 });
  const client = createServiceClient({ transport, clock, gate });
  const body = { text: "Ahoy.", voice_setting: { voice_id: "announcer" }, audio_setting: {} };
  const calls = [1, 2, 3, 4, 5].map(() => client.submitSpeech(body));
  await until(() => connecting.length === 5, { clock, stepMs: 100 });
  await clock.advance(2_000);
  isUp = true;
  for (const connect of connecting) connect();
  let ended = false;
  const all = Promise.all(calls).finally(() => {
    ended = true;
  });
  await until(() => ended, { clock, stepMs: 10 });
  expect(new Set((await all).map(({ taskID }) => taskID)).size).toBe(5);
  expect(await bench.audit("?operation=submitSpeech")).toHaveLength(5);
});
