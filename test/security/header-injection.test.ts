/** Nothing that a tenant writes becomes a header or another request. */
import { expect, it } from "vitest";
import { failure, KEY, makeClient } from "../component/provider/http/make-client.ts";
import { scriptedService } from "../support/service-account.ts";

const INJECTIONS = ["\r\nx-evil: 1", "\n\nGET /evil HTTP/1.1", "\0", "é", " space"];

it.each(INJECTIONS)("an API key with %j is not sent", async (injection) => {
  const service = await scriptedService(() => ({ body: {} }));
  const client = makeClient(service.url, { apiKey: () => `${KEY}${injection}${KEY}` });
  expect(await failure(client.getEndpointLimits())).toMatchObject({ kind: "Misconfigured", delivery: "NotSent" });
  await client.close();
  expect(service.requests).toEqual([]);
});

it.each([...INJECTIONS, "/../../evil", "?a=b", "#a"])(
  "an identifier with %j stays one segment of the path",
  async (injection) => {
    const service = await scriptedService(() => ({ body: { id: "e", task: { status: "S" } } }));
    const client = makeClient(service.url);
    await client.getEndpoint({ endpointID: `e${injection}` });
    await client.getTaskResult({ taskID: `t${injection}` });
    await client.close();
    expect(service.requests.map(({ path }) => path)).toEqual([
      `/gpus/v2/endpoints/${encodeURIComponent(`e${injection}`)}`,
      `/v3/async/task-result?${new URLSearchParams({ task_id: `t${injection}` })}`,
    ]);
  },
);
