import { getEventListeners } from "node:events";
import { setImmediate } from "node:timers/promises";
import type { Dispatcher } from "undici";
import { describe, expect, it } from "vitest";
import { bytesOf, type ExchangeOptions, exchange } from "../../../src/base/exchange.ts";
import { gc } from "../../support/gc.ts";

type Handler = Required<Dispatcher.DispatchHandler>;

/** One request over a connection that the test plays. */
function begin(options: ExchangeOptions = {}) {
  const log: string[] = [];
  let handler: Handler | undefined;
  const controller: Dispatcher.DispatchController = {
    aborted: false,
    paused: false,
    reason: null,
    abort(reason) {
      log.push(`abort: ${reason.message}`);
      handler?.onResponseError(controller, reason);
    },
    pause() {
      log.push("pause");
      Object.assign(controller, { paused: true });
    },
    resume() {
      log.push("resume");
      Object.assign(controller, { paused: false });
    },
  };
  const dispatch = (_: unknown, given: Dispatcher.DispatchHandler) => {
    handler = given as Handler;
    return true;
  };
  const answer = exchange({ dispatch }, { method: "GET", path: "/" }, options);
  answer.catch(() => undefined);
  if (handler === undefined) throw new Error("nothing was dispatched");
  const { onRequestStart, onResponseStart, onResponseData, onResponseEnd, onResponseError } = handler as Handler;
  return {
    log,
    answer,
    controller,
    start: () => onRequestStart(controller, null),
    head: (status = 200) => onResponseStart(controller, status, {}, ""),
    data: (text: string) => onResponseData(controller, Buffer.from(text)),
    end: () => onResponseEnd(controller, {}),
    fail: (message: string) => onResponseError(controller, new Error(message)),
  };
}

describe("exchange", () => {
  it("resolves with the head, and the body is read as it arrives", async () => {
    const sent = begin();
    sent.start();
    sent.head(103); // of an informational response
    sent.head();
    sent.data("a");
    const { statusCode, body } = await sent.answer;
    const text = bytesOf(body).then(String);
    sent.data("b");
    sent.end();
    expect([statusCode, await text, sent.log]).toEqual([200, "ab", []]);
  });

  it("gives a body that has arrived at once, and no other one", async () => {
    const sent = begin();
    sent.start();
    sent.head();
    sent.data("a");
    const { body } = await sent.answer;
    expect(body.whole?.()).toBeUndefined();
    sent.data("b");
    sent.end();
    expect(String(body.whole?.())).toBe("ab");

    const empty = begin();
    empty.start();
    empty.head();
    empty.end();
    expect(String((await empty.answer).body.whole?.())).toBe("");

    const cut = begin();
    cut.start();
    cut.head();
    cut.data("a");
    cut.fail("cut");
    expect((await cut.answer).body.whole?.()).toBeUndefined();
  });

  it.each([true, false])("refuses a body with too many bytes, whether or not it has arrived: %s", async (arrived) => {
    const sent = begin();
    sent.start();
    sent.head();
    sent.data("abc");
    if (arrived) sent.end();
    await expect(bytesOf((await sent.answer).body, 2)).rejects.toThrow("the response has more than 2 bytes");
  });

  it("holds 64 KiB that nobody reads, then pauses the connection until its reader has caught up", async () => {
    const sent = begin();
    sent.start();
    sent.head();
    sent.data("x".repeat(64 * 1024 - 1));
    expect(sent.log).toEqual([]);
    sent.data("x");
    expect(sent.log).toEqual(["pause"]);
    const size = bytesOf((await sent.answer).body).then(({ length }) => length);
    sent.end();
    expect([await size, sent.log]).toEqual([64 * 1024, ["pause", "resume"]]);
  });

  it("ends the connection when its reader leaves early, or when the body is too large", async () => {
    const sent = begin();
    sent.start();
    sent.head();
    sent.data("abc");
    await expect(bytesOf((await sent.answer).body, 2)).rejects.toThrow("the response has more than 2 bytes");
    expect(sent.log).toEqual(["abort: the response is not read to its end"]);
  });

  it("throws the error of a connection that breaks before the head or in the body, at once", async () => {
    const early = begin();
    early.start();
    early.fail("cut");
    await expect(early.answer).rejects.toThrow("cut");
    const late = begin();
    late.start();
    late.head();
    late.data("half");
    late.fail("cut");
    await expect(bytesOf((await late.answer).body)).rejects.toThrow("cut");
  });

  it("sends nothing when the last check throws", async () => {
    const refused = new Error("no longer wanted");
    const sent = begin({
      onStart() {
        throw refused;
      },
    });
    sent.start();
    await expect(sent.answer).rejects.toBe(refused);
    expect(sent.log).toEqual(["abort: no longer wanted"]);
  });

  it("an abort ends the request at its connection or in its response, and no check runs after it", async () => {
    const giving = new AbortController();
    let checks = 0;
    const waiting = begin({ signal: giving.signal, onStart: () => void checks++ });
    const running = begin({ signal: giving.signal });
    running.start();
    running.head();
    giving.abort(new Error("given up"));
    waiting.start();
    await expect(waiting.answer).rejects.toThrow("given up");
    await expect(bytesOf((await running.answer).body)).rejects.toThrow("given up");
    expect([checks, waiting.log, running.log]).toEqual([0, ["abort: given up"], ["abort: given up"]]);
  });

  it("keeps nothing of the connection after the response, however long somebody has the answer", async () => {
    const respond = async () => {
      const sent = begin();
      sent.start();
      sent.head();
      sent.data("a");
      sent.end();
      const { body } = await sent.answer;
      return { body, text: String(await bytesOf(body)), controller: new WeakRef(sent.controller) };
    };
    const { body, text, controller } = await respond();
    await setImmediate();
    gc();
    expect([text, controller.deref(), typeof body.whole]).toEqual(["a", undefined, "function"]);
  });

  it("listens to the signal no longer than its request lasts", async () => {
    const { signal } = new AbortController();
    const sent = begin({ signal });
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    sent.start();
    sent.head();
    sent.end();
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});
