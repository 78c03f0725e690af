import { afterEach, describe, expect, it } from "vitest";
import type { AssumptionsInput } from "../../../src/simulator/assumptions.ts";
import { type Answer, type Bench, endpointBody, startBench, updateBody } from "./start.ts";

const V1 = "/gpu-instance/openapi/v1";
const V2 = "/gpus/v2/endpoints";

let bench: Bench;
const start = async (config: AssumptionsInput) => {
  bench = await startBench({ bootDelayMs: 0, ...config });
};
afterEach(() => bench.close());

const create = async (changes: Record<string, unknown> = {}) =>
  String((await bench.ask(`${V1}/endpoint/create`, { endpoint: endpointBody(changes) })).json["id"]);
const update = (id: string) => bench.ask(`${V1}/endpoint/update`, updateBody(id));
const at = (value: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((parent, name) => Reflect.get(Object(parent), name), value);
const finished = async (path: string, body: object): Promise<Answer> => {
  const { json } = await bench.ask(path, body);
  bench.pass(60_000);
  return bench.ask(`/v3/async/task-result?task_id=${json["task_id"]}`);
};
const speech = { text: "Ahoy", voice_setting: {} };
const video = { prompt: "a ship", image_url: "https://example.com/ship.png" };

describe("responses", () => {
  it.each([200, 201, 202] as const)("an accepted request is %d, a read is 200", async (acceptedStatus) => {
    await start({ acceptedStatus });
    const id = await create();
    expect((await update(id)).status).toBe(acceptedStatus);
    expect((await bench.ask(`${V2}/${id}`)).status).toBe(200);
  });

  it.each([
    { errorBody: "Reasons" as const, body: { code: 400, reason: "SERVERLESS_ENDPOINT_NOT_FOUND" } },
    { errorBody: "Wrapped" as const, body: { error: { code: 400, reason: "SERVERLESS_ENDPOINT_NOT_FOUND" } } },
    { errorBody: "MessageOnly" as const, body: { message: "endpoint no does not exist" } },
  ])("a refusal with errorBody $errorBody", async ({ errorBody, body }) => {
    await start({ errorBody });
    expect(await bench.ask(`${V2}/no`)).toMatchObject({ status: 400, json: body });
  });

  it.each([
    { path: `${V2}/no`, text: "null" },
    { path: `${V1}/endpoint?id=no`, text: '{"endpoint":null}' },
    { path: "/v3/async/task-result?task_id=no", text: "null" },
  ])("$path with notFound 404 and Null", async ({ path, text }) => {
    await start({ notFound: "404" });
    expect((await bench.ask(path)).status).toBe(404);
    await bench.configure({ notFound: "Null" });
    expect(await bench.ask(path)).toMatchObject({ status: 200, text });
    // A write has no such response.
    expect((await update("no")).status).toBe(400);
  });

  it("forbiddenOperations are refused with 403 and have no effect", async () => {
    await start({ forbiddenOperations: ["createEndpoint"] });
    const { status, json } = await bench.ask(`${V1}/endpoint/create`, { endpoint: endpointBody() });
    expect([status, json["reason"]]).toEqual([403, "PERMISSION_DENIED"]);
    expect((await bench.ask(V2)).json["data"]).toEqual([]);
  });

  it("emptyValues and numbersAs change records and nothing that the interface promises", async () => {
    await start({ emptyValues: "Null", numbersAs: "Texts" });
    const id = await create({ name: "", envs: [] });
    const { json } = await bench.ask(`${V2}/${id}`);
    expect(json).toMatchObject({ id, name: null, envs: null, policy: { value: "10" } });
    await bench.configure({ emptyValues: "Absent" });
    const page = (await bench.ask(V2)).json;
    expect(page).toMatchObject({ next_cursor: "", has_more: false });
    expect(at(page, "data.0")).not.toHaveProperty("envs");
  });
});

describe("endpoints", () => {
  it("generationDelayMs hides a new endpoint from the lists and reads of one generation", async () => {
    await start({ generationDelayMs: { current: 5_000 } });
    const id = await create();
    expect((await bench.ask(`${V2}/${id}`)).status).toBe(400);
    expect((await bench.ask(V2)).json["data"]).toEqual([]);
    expect((await bench.ask(`${V1}/endpoint?id=${id}`)).status).toBe(200);
    expect((await update(id)).status).toBe(200);
    bench.pass(5_000);
    expect((await bench.ask(`${V2}/${id}`)).status).toBe(200);
  });

  it.each([
    { updateResponse: "EmptyObject" as const, text: "{}" },
    { updateResponse: "Nothing" as const, text: "" },
    { updateResponse: "Endpoint" as const, text: expect.stringMatching(/^\{"endpoint":\{"id"/) },
  ])("an update with updateResponse $updateResponse", async ({ updateResponse, text }) => {
    await start({ updateResponse });
    expect((await update(await create())).text).toEqual(text);
  });

  it.each([
    { valueOrder: "AsSent" as const, keys: ["B", "A", "C"] },
    { valueOrder: "Sorted" as const, keys: ["A", "B", "C"] },
    { valueOrder: "Reversed" as const, keys: ["C", "A", "B"] },
  ])("variables with valueOrder $valueOrder", async ({ valueOrder, keys }) => {
    await start({ valueOrder });
    const id = await create({ envs: ["B", "A", "C"].map((key) => ({ key, value: "1" })) });
    const { json } = await bench.ask(`${V2}/${id}`);
    expect(at(json, "envs")).toEqual(keys.map((key) => ({ key, value: "1" })));
  });

  it("timeoutUnit, createdAtUnit and showsURL", async () => {
    await start({
      timeoutUnit: "Milliseconds",
      createdAtUnit: "Milliseconds",
      showsURL: "WhenServing",
      bootDelayMs: 10,
    });
    const id = await create();
    const { json } = await bench.ask(`${V2}/${id}`);
    expect(at(json, "worker_config.idle_timeout")).toBe(60_000);
    expect(json["created_at"]).toBe(Date.parse("2026-03-04T10:00:00Z"));
    expect(json["url"]).toBe("");
    bench.pass(10);
    expect((await bench.ask(`${V2}/${id}`)).json["url"]).toContain("chat-1");
  });

  it("totalCounts and pageBehindEnd", async () => {
    await start({ totalCounts: "Page", pageBehindEnd: "Refusal" });
    for (const appName of ["a", "b", "c"]) await create({ appName });
    expect((await bench.ask(`${V1}/endpoints?pageSize=2&pageNum=2`)).json["total"]).toBe(1);
    expect((await bench.ask(`${V1}/endpoints?pageSize=2&pageNum=3`)).status).toBe(400);
  });

  it("cursorMeans Offset: a create between two pages repeats an endpoint", async () => {
    await start({ cursorMeans: "Offset" });
    for (const appName of ["a", "b"]) await create({ appName });
    const first = (await bench.ask(`${V2}?limit=1`)).json;
    await create({ appName: "c" });
    const second = (await bench.ask(`${V2}?limit=1&cursor=${String(first["next_cursor"])}`)).json;
    expect(at(second, "data.0.id")).toBe(at(first, "data.0.id"));
  });
});

describe("tasks", () => {
  it("taskStatuses, etaUnit and progress", async () => {
    await start({
      taskStatuses: { queued: "WAITING" },
      etaUnit: "Milliseconds",
      progress: "Hundred",
      queueMs: [900, 900],
    });
    const { json } = await bench.ask("/v3/async/vendor-speech-2.6-hd", speech);
    const { json: result } = await bench.ask(`/v3/async/task-result?task_id=${json["task_id"]}`);
    expect(result["task"]).toMatchObject({ status: "WAITING", progress_percent: 100 });
    expect(at(result, "task.eta")).toBeGreaterThan(900);
    await bench.configure({ progress: "Zero", etaUnit: "None" });
    const { json: later } = await bench.ask(`/v3/async/task-result?task_id=${json["task_id"]}`);
    expect(later["task"]).toMatchObject({ eta: 0, progress_percent: 0 });
  });

  it.each([
    { ttlUnit: "Seconds" as const, ttl: "60" },
    { ttlUnit: "Milliseconds" as const, ttl: "60000" },
    { ttlUnit: "None" as const, ttl: "" },
  ])("the validity of a URL with ttlUnit $ttlUnit", async ({ ttlUnit, ttl }) => {
    await start({ ttlUnit, videoUrlSeconds: 60, videoTaskMs: [30_000, 30_000], queueMs: [30_000, 30_000] });
    expect(at((await finished("/v3/async/vid-i2v", video)).json, "videos.0.video_url_ttl")).toBe(ttl);
  });

  it("extraContents and a ttlUnit of Date", async () => {
    await start({ extraContents: "Filled", ttlUnit: "Date" });
    const { json } = await finished("/v3/async/vendor-speech-2.6-hd", speech);
    expect(json["extra"]).toEqual(at(json, "audios.0.audio_metadata"));
    expect(at(json, "audios.0.audio_url_ttl")).toMatch(/^2026-03-05T10:00:\d\d/);
    await bench.configure({ extraContents: "Null" });
    expect((await finished("/v3/async/vendor-speech-2.6-hd", speech)).json["extra"]).toBeNull();
  });

  it("keySeesTasks Member: the key of another member does not find the task", async () => {
    await start({ keySeesTasks: "Member" });
    const { json } = await bench.ask("/v3/async/vendor-speech-2.6-hd", speech);
    const path = `/v3/async/task-result?task_id=${json["task_id"]}`;
    expect((await bench.ask(path)).status).toBe(200);
    expect((await bench.ask(path, undefined, { authorization: "Bearer second-key" })).status).toBe(400);
  });

  it("streamEnd and streamSeparator", async () => {
    await start({ streamEnd: "WholeAudio", streamSeparator: "CRLF", streamChunkBytes: 1_000_000 });
    const { text } = await bench.ask("/v3/vendor-speech-2.6-turbo", {
      ...speech,
      voice_setting: { voice_id: "anna" },
      stream: true,
    });
    const [first, last] = text.split("\r\n\r\n").map((line) => (line === "" ? {} : JSON.parse(line.slice(5))));
    expect(last).toEqual({ ...first, status: 2 });
  });
});

describe("money", () => {
  const bills = async () => {
    const { json } = await bench.ask(
      "/openapi/v1/billing/apikey/bill/list?cycleType=Month&startTime=1772323200&endTime=1774915200",
    );
    return json["bills"];
  };

  it("chargeTasks AtSubmission, chargeDelayMs and fractionalAmounts", async () => {
    await start({ chargeTasks: "AtSubmission", chargeDelayMs: 5_000, fractionalAmounts: true });
    await bench.ask("/v3/async/vid-i2v", video);
    expect(await bills()).toEqual([]);
    bench.pass(5_000);
    expect(await bills()).toMatchObject([{ amount: "15000.25", payAmount: "15000.25", payAmountDisplay: 1.500025 }]);
  });
});
