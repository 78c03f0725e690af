import { afterEach, describe, expect, it } from "vitest";
import type { DeleteOperation } from "../../../src/provider/operations.ts";
import { failure, makeClient } from "../provider/http/make-client.ts";
import { type Bench, endpointBody, startBench } from "./start.ts";

let bench: Bench;
afterEach(() => bench.close());

/** A simulator that deletes so, and a client that is told `told`. */
async function start(deleteOperation: DeleteOperation | null, told = deleteOperation ?? undefined) {
  bench = await startBench({ bootDelayMs: 0, deleteOperation });
  const client = makeClient(bench.url, {}, told);
  const { id } = await client.createEndpoint(endpointBody());
  const read = () => client.getEndpoint({ endpointID: id });
  const erase = async (endpointID = id) => {
    if (client.deleteEndpoint === undefined) throw new Error("no delete operation");
    await client.deleteEndpoint({ endpointID });
  };
  return { client, id, read, erase };
}

const ROOT = "/gpus/v2/endpoints";

describe("deleting an endpoint, which the interface does not show", () => {
  it.each<{ operation: DeleteOperation; where: string; path: string; body: object | null }>([
    { operation: { method: "DELETE", path: `${ROOT}/{id}` }, where: "in the path", path: `${ROOT}/ID`, body: null },
    {
      operation: { method: "POST", path: `${ROOT}/{id}/delete` },
      where: "in the middle of the path",
      path: `${ROOT}/ID/delete`,
      body: null,
    },
    {
      operation: { method: "DELETE", path: ROOT, idField: "endpoint_id" },
      where: "in the query",
      path: ROOT,
      body: null,
    },
    {
      operation: { method: "POST", path: "/gpu-instance/delete", idField: "id" },
      where: "in the body",
      path: "/gpu-instance/delete",
      body: {},
    },
    {
      operation: { method: "PUT", path: "/gpu-instance/delete", idField: "id" },
      where: "in the body",
      path: "/gpu-instance/delete",
      body: {},
    },
  ])("$operation names it $where", async ({ operation, path, body }) => {
    const { id, read, erase } = await start(operation);
    await erase();
    expect((await failure(read())).kind).toBe("NotFound");
    const [entry] = await bench.audit("?operation=deleteEndpoint");
    expect(entry).toMatchObject({
      method: operation.method,
      path: path.replace("ID", id),
      effect: "EndpointDeleted",
      id,
    });
    expect(entry?.body).toEqual(body === null ? null : { id });
    expect((await failure(erase())).kind).toBe("NotFound");
  });

  it("is not supported where no operation is configured", async () => {
    const { client, read } = await start(null);
    expect(client.deleteEndpoint).toBeUndefined();
    await bench.ask("/gpus/v2/endpoints/delete", {});
    expect((await read()).status.status).toBe("running");
  });

  it("by a path that the service does not have is NotFound, and the endpoint is still there", async () => {
    const told: DeleteOperation = { method: "DELETE", path: "/wrong/{id}" };
    const { read, erase } = await start({ method: "DELETE", path: `${ROOT}/{id}` }, told);
    expect((await failure(erase())).kind).toBe("NotFound");
    expect((await read()).status.status).toBe("running");
  });

  it("without an identifier is refused before it is sent", async () => {
    const { erase } = await start({ method: "DELETE", path: `${ROOT}/{id}` });
    expect(await failure(erase(""))).toMatchObject({ kind: "InvalidRequest", delivery: "NotSent" });
    expect(await bench.audit("?operation=deleteEndpoint")).toEqual([]);
  });

  it("may take a while, during which it is shown as being deleted", async () => {
    const { client, read, erase } = await start({ method: "DELETE", path: `${ROOT}/{id}` });
    await bench.configure({ deleteDelayMs: 5_000 });
    await erase();
    expect((await read()).status.status).toBe("terminating");
    bench.pass(4_999);
    expect((await client.listEndpoints({})).data).toHaveLength(1);
    bench.pass(1);
    expect((await client.listEndpoints({})).data).toEqual([]);
    expect((await failure(read())).kind).toBe("NotFound");
  });
});
