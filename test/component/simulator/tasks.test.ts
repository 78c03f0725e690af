import { afterEach, describe, expect, it } from "vitest";
import { resultsOf } from "../../../src/provider/tasks/task-result.ts";
import type { AssumptionsInput } from "../../../src/simulator/assumptions.ts";
import { collect, failure } from "../provider/http/make-client.ts";
import { type Bench, endpointBody, startBench } from "./start.ts";

let bench: Bench;
const start = async (config: AssumptionsInput = {}) => {
  bench = await startBench(config);
  return bench.client;
};
afterEach(() => bench.close());

const speech = (text = "hello there", audio_setting = {}) => ({
  text,
  voice_setting: { voice_id: "v" },
  audio_setting,
});
const download = async (url: string, headers: Record<string, string> = {}) => {
  const response = await fetch(url, { headers });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
};

describe("a task", () => {
  it("is queued, works, and finishes with a URL", async () => {
    const client = await start({ queueMs: [1000, 1000], videoTaskMs: [10_000, 10_000] });
    const { taskID } = await client.submitImageToVideo({ prompt: "a ship", image_url: "http://x" });
    const look = async (ms: number) => {
      bench.pass(ms);
      const { task, videos } = await client.getTaskResult({ taskID });
      return { status: task.status, progress: task.progressPercent, eta: task.eta, videos: videos.length };
    };
    expect(await look(0)).toEqual({ status: "TASK_STATUS_QUEUED", progress: 0, eta: 11, videos: 0 });
    expect(await look(3500)).toEqual({ status: "TASK_STATUS_PROCESSING", progress: 25, eta: 8, videos: 0 });
    expect(await look(7499)).toEqual({ status: "TASK_STATUS_PROCESSING", progress: 99, eta: 1, videos: 0 });
    expect(await look(1)).toEqual({ status: "TASK_STATUS_SUCCEED", progress: 100, eta: 0, videos: 1 });
    const result = await client.getTaskResult({ taskID });
    expect(result.task).toMatchObject({ taskID, taskType: "VIDEO_IMG_TO_VIDEO", reason: "" });
    expect(resultsOf(result)).toMatchObject([{ kind: "Video", type: "mp4", ttlSeconds: 86_400 }]);
  });

  it.each([
    ["as its text asks", {}, "Please FAIL now"],
    ["by chance", { failTasks: 1 }, "a ship"],
  ])("fails %s, with a reason, without a URL, without a charge", async (_name, config, prompt) => {
    const client = await start({ timeScale: 0, ...config });
    const { taskID } = await client.submitVideoToVideo({ input: { prompt } });
    const result = await client.getTaskResult({ taskID });
    expect(result.task).toMatchObject({ status: "TASK_STATUS_FAILED", reason: expect.stringContaining("failed") });
    expect(resultsOf(result)).toEqual([]);
    expect(JSON.parse((await bench.ask("/__state")).text)).toMatchObject({ spent: 0 });
  });

  it("that does not exist is NotFound", async () => {
    const client = await start();
    expect((await failure(client.getTaskResult({ taskID: "x" }))).kind).toBe("NotFound");
  });

  it("of video needs enterprise verification", async () => {
    const client = await start({ enterpriseVerified: false });
    const refused = { kind: "NotEntitled", delivery: "Refused", status: 403 };
    expect(await failure(client.submitImageToVideo({ prompt: "a", image_url: "x" }))).toMatchObject(refused);
    expect(await failure(client.submitVideoToVideo({ input: { prompt: "a" } }))).toMatchObject(refused);
    await expect(client.submitSpeech(speech())).resolves.toHaveProperty("taskID");
  });
});

const ignore = async () => {};

describe("results", () => {
  const magic: [format: string, head: string][] = [
    ["wav", "52494646"],
    ["flac", "664c6143"],
    ["mp3", "fffb"],
    ["pcm", ""],
  ];
  it.each(magic)("%s: the same from a task, a URL, in hex and as a stream", async (format, head) => {
    const client = await start({ timeScale: 0 });
    const body = speech("x".repeat(60), { format });
    const { taskID } = await client.submitSpeech(body);
    const [fromTask] = resultsOf(await client.getTaskResult({ taskID }));
    expect(fromTask).toMatchObject({ kind: "Audio", type: format });
    const { bytes } = await download(fromTask?.url ?? "");
    const pieces: Uint8Array[] = [];
    await client.synthesizeSpeech(body, {}, async (piece) => void pieces.push(piece));
    const audio = Buffer.concat(pieces).toString("hex");
    const { url } = (await client.synthesizeSpeech({ ...body, output_format: "url" })) as { url: string };
    const streamed = await collect(client.streamSpeech(body));
    expect(audio.slice(0, head.length)).toBe(head);
    expect(audio).toBe(bytes.toString("hex"));
    expect((await download(url)).bytes.equals(bytes)).toBe(true);
    expect(Buffer.concat(streamed.map((chunk) => chunk.audio)).equals(bytes)).toBe(true);
    expect(streamed.length).toBeGreaterThan(1);
  });

  it("URLs work for their life, need no key, and are gone after it", async () => {
    const client = await start({ timeScale: 0, videoUrlSeconds: 60 });
    const { taskID } = await client.submitVideoToVideo({ input: { prompt: "a" }, parameters: { size: "960*960" } });
    const [video] = resultsOf(await client.getTaskResult({ taskID }));
    const url = video?.url ?? "";
    expect((await download(url)).headers.get("content-type")).toBe("video/mp4");
    bench.pass(59_999);
    expect((await download(url)).status).toBe(200);
    bench.pass(1);
    expect((await download(url)).status).toBe(403);
    await bench.configure({ expiredUrlStatus: 410 });
    expect((await download(url)).status).toBe(410);
    expect((await download(`${bench.url}/__files/none/a.mp4`)).status).toBe(404);
  });

  it("can be resumed, also long ones", async () => {
    const client = await start({ timeScale: 0, videoPaddingBytes: 3_000_000 });
    const { taskID } = await client.submitImageToVideo({ prompt: "a", image_url: "x" });
    const url = resultsOf(await client.getTaskResult({ taskID }))[0]?.url ?? "";
    const whole = await download(url);
    expect(whole.bytes.length).toBeGreaterThan(3_000_000);
    const cut = 1000;
    const rest = await download(url, { range: `bytes=${cut}-` });
    expect(rest.status).toBe(206);
    expect(rest.headers.get("content-range")).toBe(`bytes ${cut}-${whole.bytes.length - 1}/${whole.bytes.length}`);
    expect(Buffer.concat([whole.bytes.subarray(0, cut), rest.bytes]).equals(whole.bytes)).toBe(true);
    expect((await download(url, { range: "bytes=4-7" })).bytes.toString("latin1")).toBe("ftyp");
    expect((await download(url, { range: "bytes=-5" })).bytes).toHaveLength(5);
  });
});

describe("money", () => {
  const from = Date.parse("2026-01-01T00:00:00Z") / 1000;
  const bills = (cycleType: "Day" | "Week" | "Month" = "Day") =>
    bench.client.listBills({ cycleType, startTime: from, endTime: from + 365 * 86_400 });

  it("bills grow with use, in every field of the interface", async () => {
    const client = await start({ timeScale: 0 });
    expect(await bills()).toEqual([]);
    await client.synthesizeSpeech(speech("x".repeat(500)), {}, ignore);
    await client.synthesizeSpeech(speech("x".repeat(1000)), {}, ignore);
    const { taskID } = await client.submitImageToVideo({ prompt: "a", image_url: "x" });
    await client.getTaskResult({ taskID });
    const day = Date.parse("2026-03-04T00:00:00Z") / 1000;
    const found = await bills();
    expect(found).toMatchObject([
      {
        productName: "speech-2.6-turbo",
        category: "gen_api",
        amount: 3000n,
        payAmount: 3000n,
        payAmountDisplay: 0.3,
        pricePrecision: 1,
        billingMethod: 1,
        requestCount: 2n,
        startTime: day,
        endTime: day + 86_400,
        keyName: "default",
      },
      { productName: "vid-i2v", amount: 15000n },
    ]);
    for (const { usage, basePrices, discountPrices } of found) {
      expect([usage.slice(0, 6), basePrices, discountPrices].flat().every((text) => /^\d+$/.test(text))).toBe(true);
    }
  });

  it("bills follow the cycle, the filters and the hours of running endpoints", async () => {
    const client = await start({ timeScale: 0 });
    await bench.ask("/__state/charges", [
      { time: "2026-03-02T10:00:00Z", productName: "Model A", category: "llm", amount: 5 },
      { time: "2026-03-03T10:00:00Z", productName: "Model A", category: "llm", amount: 7 },
      { time: "2026-02-27T10:00:00Z", productName: "Model B", category: "web_search", amount: 11 },
    ]);
    await client.createEndpoint(endpointBody());
    bench.pass(3_600_000);
    const sums = async (cycle: "Day" | "Week" | "Month") =>
      (await bills(cycle)).map((bill) => `${bill.category} ${bill.amount}`);
    expect(await sums("Day")).toEqual(["llm 5", "llm 7", "web_search 11", "gpu 30000"]);
    expect(await sums("Week")).toEqual(["llm 12", "web_search 11", "gpu 30000"]);
    const query = { cycleType: "Month" as const, startTime: from, endTime: from + 365 * 86_400 };
    expect(await client.listBills({ ...query, category: "llm" })).toHaveLength(1);
    expect(await client.listBills({ ...query, productName: "model" })).toHaveLength(2);
    expect(await client.listBills({ ...query, endTime: from + 86_400 })).toEqual([]);
  });

  it("budgets count what their key used, also below zero, and begin again each month", async () => {
    const client = await start({
      timeScale: 0,
      budgets: [
        { memberID: "m", keyName: "once", type: "One-time", limit: 1000 },
        { memberID: "m", keyName: "monthly", type: "Recurring", limit: 5000 },
        { memberID: "m", keyID: "key-other", keyName: "free" },
        { memberID: "n", keyName: "not theirs" },
      ],
    });
    await client.synthesizeSpeech(speech("x".repeat(1000)), {}, ignore);
    expect(await client.listKeyBudgets({ memberID: "m" })).toMatchObject([
      { keyName: "once", type: "One-time", limit: 1000n, used: 2000n, remaining: -1000n, cycle: "" },
      {
        keyName: "monthly",
        used: 2000n,
        remaining: 3000n,
        cycle: "Monthly",
        periodStart: "2026-03-01T00:00:00Z",
        periodEnd: "2026-04-01T00:00:00Z",
      },
      { keyID: "key-other", type: "Unlimited", limit: 0n, used: 0n },
    ]);
    bench.pass(31 * 86_400_000);
    const [once, monthly] = await client.listKeyBudgets({ memberID: "m" });
    expect([once?.used, monthly?.used]).toEqual([2000n, 0n]);
    expect(await client.listKeyBudgets({ memberID: "nobody" })).toEqual([]);
  });

  it("a budget may begin again at another time than the calendar's month", async () => {
    const budget = { memberID: "m", type: "Recurring" as const, limit: 5000, monthsFrom: "2026-06-15T12:00:00Z" };
    const client = await start({ timeScale: 0, budgets: [budget] });
    await client.synthesizeSpeech(speech("x".repeat(1000)), {}, ignore);
    const [before] = await client.listKeyBudgets({ memberID: "m" });
    expect(before).toMatchObject({
      used: 2000n,
      periodStart: "2026-02-15T12:00:00Z",
      periodEnd: "2026-03-15T12:00:00Z",
    });
    bench.pass(12 * 86_400_000);
    const [after] = await client.listKeyBudgets({ memberID: "m" });
    expect(after).toMatchObject({ used: 0n, periodStart: before?.periodEnd });
  });

  it("that has run out refuses paid calls", async () => {
    const client = await start({ timeScale: 0, balance: 1000 });
    await client.synthesizeSpeech(speech("x".repeat(1000)), {}, ignore);
    expect(await failure(client.submitSpeech(speech()))).toMatchObject({
      kind: "InsufficientBalance",
      delivery: "Refused",
    });
    await bench.configure({
      balance: null,
      enforceBudgets: true,
      budgets: [{ memberID: "m", type: "One-time", limit: 1 }],
    });
    expect(await failure(client.submitSpeech(speech()))).toMatchObject({ kind: "QuotaExceeded", delivery: "Refused" });
  });
});
