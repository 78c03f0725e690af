import { expect, it, onTestFinished } from "vitest";
import { startBench } from "../../simulator/start.ts";
import { failure, makeClient } from "./make-client.ts";

it.each([".", ".."])("an endpoint ID %j is refused before it is sent: in a URL it names another path", async (id) => {
  const bench = await startBench();
  const client = makeClient(bench.url, {}, { method: "DELETE", path: "/endpoints/{id}" });
  onTestFinished(async () => {
    await client.close();
    await bench.close();
  });
  for (const call of [client.getEndpoint({ endpointID: id }), client.deleteEndpoint?.({ endpointID: id })]) {
    const refused = await failure(Promise.resolve(call));
    expect(refused).toMatchObject({ kind: "InvalidRequest", delivery: "NotSent" });
    expect(refused.message).toMatch(/must not be "\." or "\.\."/);
  }
  expect(await bench.audit("")).toEqual([]);
});
