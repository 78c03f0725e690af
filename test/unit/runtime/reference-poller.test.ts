import { expect, it, onTestFinished } from "vitest";
import { secretResource } from "../../../src/controllers/references.ts";
import { createReferencePoller } from "../../../src/runtime/reference-poller.ts";
import { createFakeClock, until } from "../../support/fake-clock.ts";
import { type Answer, failure, scriptedApi, silentLog } from "../../support/scripted-api-server.ts";

const secret = (version: number): Answer => ({
  body: { metadata: { name: "key", namespace: "team", uid: "u", resourceVersion: String(version) } },
});
const reference = { resource: secretResource, namespace: "team", name: "key" };

async function world(answer: Answer = secret(1)) {
  const clock = createFakeClock();
  const changed: string[] = [];
  const api = await scriptedApi(() => answer);
  const poller = createReferencePoller({
    client: api.client,
    clock,
    intervalMs: 20_000,
    log: silentLog,
    onChange: (key) => changed.push(key),
  });
  onTestFinished(() => poller.stop());
  const round = async (count: number) => {
    await until(() => api.requests.length === count && clock.timers() === 1);
  };
  return { clock, changed, api, poller, round };
}

it("reads each referenced object once an interval, however many refer to it", async () => {
  const w = await world();
  for (let index = 0; index < 100; index++) w.poller.track(`e-${index}`, [reference, reference]);
  w.poller.start();
  await w.round(1);
  await w.clock.advance(20_000);
  await w.round(2);
  expect(w.poller.size()).toBe(1);
  expect(
    w.api.requests.every(({ method, path }) => method === "GET" && path.endsWith("/namespaces/team/secrets/key")),
  ).toBe(true);
});

it("notifies dependants at the first read, at a change, and when the object disappears or appears; not otherwise", async () => {
  const w = await world();
  w.poller.track("a", [reference]);
  w.poller.start();
  await w.round(1);
  expect(w.changed).toEqual(["a"]);
  await w.clock.advance(20_000);
  await w.round(2);
  expect(w.changed).toEqual(["a"]);
  w.api.answer(() => secret(2));
  await w.clock.advance(20_000);
  await w.round(3);
  w.api.answer(() => failure(404, "NotFound"));
  await w.clock.advance(20_000);
  await w.round(4);
  await w.clock.advance(20_000);
  await w.round(5);
  w.api.answer(() => secret(3));
  await w.clock.advance(20_000);
  await w.round(6);
  expect(w.changed).toEqual(["a", "a", "a", "a"]);
});

it("a failing API server is no change", async () => {
  const w = await world();
  w.poller.track("a", [reference]);
  w.poller.start();
  await w.round(1);
  w.api.answer(() => failure(500, "InternalError"));
  await w.clock.advance(20_000);
  await w.round(2);
  expect(w.changed).toEqual(["a"]);
});

it("an object without references is no longer read", async () => {
  const w = await world();
  w.poller.track("a", [reference]);
  w.poller.track("b", [reference]);
  w.poller.track("a", []);
  expect(w.poller.size()).toBe(1);
  w.poller.forget("b");
  expect(w.poller.size()).toBe(0);
  w.poller.start();
  await w.clock.advance(60_000);
  expect(w.api.requests).toEqual([]);
});
