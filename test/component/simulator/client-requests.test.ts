import { afterAll, beforeAll, expect, it } from "vitest";
import { OPERATION_NAMES } from "../../../src/provider/operations.ts";
import { collect } from "../provider/http/make-client.ts";
import { MAXIMAL, MINIMAL } from "./requests.ts";
import { type Bench, startBench } from "./start.ts";

let bench: Bench;
/** An endpoint and a task that exist. */
let endpointID = "";
let taskID = "";
beforeAll(async () => {
  bench = await startBench({ timeScale: 0, duplicateAppName: "Accept" });
  // Two endpoints, so that the list has a second page.
  await bench.client.createEndpoint(MINIMAL.createEndpoint.endpoint);
  endpointID = (await bench.client.createEndpoint(MINIMAL.createEndpoint.endpoint)).id;
  taskID = (await bench.client.submitSpeech(MINIMAL.submitSpeech)).taskID;
});
afterAll(() => bench.close());

const V1 = "/gpu-instance/openapi/v1";
const TURBO = "/v3/vendor-speech-2.6-turbo";
const HD = "/v3/async/vendor-speech-2.6-hd";
const BILLS = "/openapi/v1/billing/apikey/bill/list";
const bills = { cycleType: "Day" as const, startTime: 1_767_225_600, endTime: 1_767_312_000 };
const { stream: _default, ...wholeSpeech } = MAXIMAL.synthesizeSpeech;

/** What the client is asked for, and the request that the interface document shows for it. */
type Sent = { path: string; query?: Record<string, string>; body?: object };
type Row = { operation: string; size: "minimal" | "maximal"; call: () => unknown; sent: () => Sent };

const rows: Row[] = [
  {
    operation: "listEndpoints",
    size: "minimal",
    call: () => bench.client.listEndpoints({}),
    sent: () => ({ path: "/gpus/v2/endpoints" }),
  },
  {
    operation: "listEndpoints",
    size: "maximal",
    call: async () => {
      const { nextCursor } = await bench.client.listEndpoints({ limit: 1 });
      await bench.client.listEndpoints({ limit: 5, cursor: nextCursor, keyword: "chat", memberIDs: ["m-1", "m-2"] });
    },
    sent: () => ({
      path: "/gpus/v2/endpoints",
      query: { limit: "5", cursor: expect.stringMatching(/./), keyword: "chat", member_ids: "m-1,m-2" },
    }),
  },
  {
    operation: "getEndpoint",
    size: "minimal",
    call: () => bench.client.getEndpoint({ endpointID }),
    sent: () => ({ path: `/gpus/v2/endpoints/${endpointID}` }),
  },
  {
    operation: "listEndpointsEarlier",
    size: "minimal",
    call: () => bench.client.listEndpointsEarlier({ pageSize: 10, pageNum: 1 }),
    sent: () => ({ path: `${V1}/endpoints`, query: { pageSize: "10", pageNum: "1" } }),
  },
  {
    operation: "getEndpointEarlier",
    size: "minimal",
    call: () => bench.client.getEndpointEarlier({ id: endpointID }),
    sent: () => ({ path: `${V1}/endpoint`, query: { id: endpointID } }),
  },
  {
    operation: "createEndpoint",
    size: "minimal",
    call: () => bench.client.createEndpoint(MINIMAL.createEndpoint.endpoint),
    sent: () => ({ path: `${V1}/endpoint/create`, body: MINIMAL.createEndpoint }),
  },
  {
    operation: "createEndpoint",
    size: "maximal",
    call: () => bench.client.createEndpoint(MAXIMAL.createEndpoint.endpoint),
    sent: () => ({ path: `${V1}/endpoint/create`, body: MAXIMAL.createEndpoint }),
  },
  {
    operation: "updateEndpoint",
    size: "minimal",
    call: () => bench.client.updateEndpoint({ ...MINIMAL.updateEndpoint, id: endpointID }),
    sent: () => ({ path: `${V1}/endpoint/update`, body: { ...MINIMAL.updateEndpoint, id: endpointID } }),
  },
  {
    operation: "updateEndpoint",
    size: "maximal",
    call: () => bench.client.updateEndpoint({ ...MAXIMAL.updateEndpoint, id: endpointID }),
    sent: () => ({ path: `${V1}/endpoint/update`, body: { ...MAXIMAL.updateEndpoint, id: endpointID } }),
  },
  {
    operation: "getEndpointLimits",
    size: "minimal",
    call: () => bench.client.getEndpointLimits(),
    sent: () => ({ path: `${V1}/endpoint/limit` }),
  },
  {
    operation: "getTaskResult",
    size: "minimal",
    call: () => bench.client.getTaskResult({ taskID }),
    sent: () => ({ path: "/v3/async/task-result", query: { task_id: taskID } }),
  },
  {
    operation: "synthesizeSpeech",
    size: "minimal",
    call: () => bench.client.synthesizeSpeech(MINIMAL.synthesizeSpeech, {}, async () => {}),
    sent: () => ({ path: TURBO, body: { ...MINIMAL.synthesizeSpeech, stream: false } }),
  },
  {
    operation: "synthesizeSpeech",
    size: "maximal",
    call: () => bench.client.synthesizeSpeech(wholeSpeech, {}, async () => {}),
    sent: () => ({ path: TURBO, body: MAXIMAL.synthesizeSpeech }),
  },
  {
    operation: "streamSpeech",
    size: "minimal",
    call: () => collect(bench.client.streamSpeech(MINIMAL.synthesizeSpeech)),
    sent: () => ({ path: TURBO, body: { ...MINIMAL.synthesizeSpeech, stream: true } }),
  },
  {
    operation: "streamSpeech",
    size: "maximal",
    call: () => collect(bench.client.streamSpeech(wholeSpeech)),
    sent: () => ({ path: TURBO, body: { ...MAXIMAL.synthesizeSpeech, stream: true } }),
  },
  {
    operation: "submitSpeech",
    size: "minimal",
    call: () => bench.client.submitSpeech(MINIMAL.submitSpeech),
    sent: () => ({ path: HD, body: MINIMAL.submitSpeech }),
  },
  {
    operation: "submitSpeech",
    size: "maximal",
    call: () => bench.client.submitSpeech(MAXIMAL.submitSpeech),
    sent: () => ({ path: HD, body: MAXIMAL.submitSpeech }),
  },
  {
    operation: "submitImageToVideo",
    size: "minimal",
    call: () => bench.client.submitImageToVideo(MINIMAL.submitImageToVideo),
    sent: () => ({ path: "/v3/async/vid-i2v", body: MINIMAL.submitImageToVideo }),
  },
  {
    operation: "submitImageToVideo",
    size: "maximal",
    call: () => bench.client.submitImageToVideo(MAXIMAL.submitImageToVideo),
    sent: () => ({ path: "/v3/async/vid-i2v", body: MAXIMAL.submitImageToVideo }),
  },
  {
    operation: "submitVideoToVideo",
    size: "minimal",
    call: () => bench.client.submitVideoToVideo(MINIMAL.submitVideoToVideo),
    sent: () => ({ path: "/v3/async/vid2.6-v2v", body: MINIMAL.submitVideoToVideo }),
  },
  {
    operation: "submitVideoToVideo",
    size: "maximal",
    call: () => bench.client.submitVideoToVideo(MAXIMAL.submitVideoToVideo),
    sent: () => ({ path: "/v3/async/vid2.6-v2v", body: MAXIMAL.submitVideoToVideo }),
  },
  {
    operation: "listBills",
    size: "minimal",
    call: () => bench.client.listBills(bills),
    sent: () => ({ path: BILLS, query: { cycleType: "Day", startTime: "1767225600", endTime: "1767312000" } }),
  },
  {
    operation: "listBills",
    size: "maximal",
    call: () => bench.client.listBills({ ...bills, cycleType: "Month", category: "llm", productName: "speech" }),
    sent: () => ({
      path: BILLS,
      query: {
        cycleType: "Month",
        category: "llm",
        productName: "speech",
        startTime: "1767225600",
        endTime: "1767312000",
      },
    }),
  },
  {
    operation: "listKeyBudgets",
    size: "minimal",
    call: () => bench.client.listKeyBudgets({ memberID: "member-1" }),
    sent: () => ({ path: "/openapi/v1/user/team/key-budget-list", query: { member_id: "member-1" } }),
  },
];

it.each(rows)("$operation, $size: the service receives the documented request", async ({ operation, call, sent }) => {
  await call();
  const entry = (await bench.audit()).at(-1);
  const { path, query = {}, body = null } = sent();
  expect(entry).toMatchObject({ operation, method: body === null ? "GET" : "POST", path, status: 200 });
  expect(entry?.query).toEqual(query);
  expect(entry?.body).toEqual(body);
});

it("every operation of the interface has a row", () => {
  // The interface shows no deletion: the account sets its method and path.
  const documented = OPERATION_NAMES.filter((name) => name !== "deleteEndpoint");
  expect([...new Set(rows.map(({ operation }) => operation))].sort()).toEqual([...documented].sort());
});
