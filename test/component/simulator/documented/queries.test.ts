import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failure } from "../../provider/http/make-client.ts";
import { type Bench, startBench } from "../start.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await startBench({ timeScale: 0 });
});
afterAll(() => bench.close());

const V1 = "/gpu-instance/openapi/v1";
const BILLS = "/openapi/v1/billing/apikey/bill/list";
const BUDGETS = "/openapi/v1/user/team/key-budget-list";

describe("the service", () => {
  it.each([
    ["limit is an integer", "/gpus/v2/endpoints?limit=1.5"],
    ["limit >= 0", "/gpus/v2/endpoints?limit=-1"],
    ["a list by cursor has no page number", "/gpus/v2/endpoints?pageNum=1"],
    ["pageSize is an integer", `${V1}/endpoints?pageSize=1.5&pageNum=1`],
    ["pageNum is an integer", `${V1}/endpoints?pageSize=1&pageNum=first`],
    ["a list by page has no cursor", `${V1}/endpoints?pageSize=1&pageNum=1&cursor=`],
    ["id is the only query of the detail", `${V1}/endpoint?id=x&pageSize=1`],
    ["the limit operation has no query", `${V1}/endpoint/limit?id=x`],
    ["cycleType has three values", `${BILLS}?cycleType=day&startTime=1767225600&endTime=1767225601`],
    ["startTime is an integer", `${BILLS}?cycleType=Day&startTime=2026-01-01&endTime=1767225601`],
    ["endTime is an integer", `${BILLS}?cycleType=Day&startTime=1767225600&endTime=1767225601.5`],
    ["endTime is greater than startTime", `${BILLS}?cycleType=Day&startTime=1767225601&endTime=1767225600`],
    ["bills are not paged", `${BILLS}?cycleType=Day&startTime=1767225600&endTime=1767225601&pageNum=1`],
    ["member_id is required", `${BUDGETS}?memberID=member-1`],
  ])("refuses a query where %s", async (_rule, path) => {
    const { status, json } = await bench.ask(path);
    expect({ status, reason: json["reason"] }).toEqual({ status: 400, reason: "INVALID_REQUEST_PARAMETER" });
  });

  it.each([
    "/gpus/v2/endpoints?limit=0&cursor=&keyword=&member_ids=",
    "/gpus/v2/endpoints?limit=1000",
    // The interface shows no bounds of pageSize and pageNum.
    `${V1}/endpoints?pageSize=0&pageNum=0`,
    `${V1}/endpoints?pageSize=-1&pageNum=-1`,
    `${V1}/endpoints?pageSize=100000&pageNum=100000`,
    `${BILLS}?cycleType=Week&startTime=1767225600&endTime=9223372036854775807&category=&productName=`,
    `${BUDGETS}?member_id=nobody`,
  ])("accepts %s", async (path) => {
    expect(await bench.ask(path)).toMatchObject({ status: 200 });
  });
});

describe("the client does not send", () => {
  const refused = { kind: "InvalidRequest", delivery: "NotSent" };
  it.each<[string, () => Promise<unknown>]>([
    ["an empty endpoint id", () => bench.client.getEndpoint({ endpointID: "" })],
    ["an empty id of the earlier generation", () => bench.client.getEndpointEarlier({ id: "" })],
    ["an empty task id", () => bench.client.getTaskResult({ taskID: "" })],
    ["an empty member id", () => bench.client.listKeyBudgets({ memberID: "" })],
  ])("%s", async (_name, call) => {
    expect(await failure(call())).toMatchObject(refused);
  });
});
