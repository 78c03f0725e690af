import { expect, it } from "vitest";
import { speechJobResource } from "../../../src/api/v1alpha1/kinds.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { runReflector } from "../../../src/runtime/reflector.ts";
import { failure, scriptedApi, silentLog } from "../../support/scripted-api-server.ts";

const COUNT = 40;
const text = "t".repeat(1_000_000);
const jobs = Array.from({ length: COUNT }, (_, index) => ({
  metadata: { name: `job-${index}`, namespace: "team", uid: `u-${index}`, resourceVersion: "5" },
  spec: { text },
}));

it("a page of objects that are too large together is asked for again with fewer", async () => {
  const ended = Promise.withResolvers<ReadonlySet<string>>();
  let largest = 0;
  const api = await scriptedApi(({ query }) => {
    if (query.get("sendInitialEvents") === "true") return failure(422, "Invalid");
    if (query.get("watch") === "true") return { stream: () => {} };
    const from = Number(query.get("continue") ?? 0);
    const items = jobs.slice(from, from + Number(query.get("limit")));
    const next = from + items.length;
    return { body: { metadata: { resourceVersion: "9", ...(next < COUNT ? { continue: String(next) } : {}) }, items } };
  });
  const stop = new AbortController();
  const run = runReflector(
    {
      client: api.client,
      resource: speechJobResource,
      sink: { listed: () => {}, listEnded: (keys) => ended.resolve(keys), changed: () => {}, has: () => false },
      clock: systemClock,
      random: () => 0,
      log: silentLog,
    },
    stop.signal,
  );
  expect((await ended.promise).size).toBe(COUNT);
  const limits = api.requests.flatMap(({ query }) => (query.get("limit") === null ? [] : [query.get("limit")]));
  for (const limit of limits.slice(2)) largest = Math.max(largest, Number(limit));
  expect(limits.slice(0, 3)).toEqual(["500", "62", "7"]);
  expect(largest).toBe(7);
  stop.abort();
  await run;
});
