import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fromCurrent, fromEarlier } from "../../../../src/provider/endpoints/endpoint-record.ts";
import { endpointLimits } from "../../../../src/provider/endpoints/limits.ts";
import { ServiceError } from "../../../../src/provider/errors.ts";
import { billFrom, keyBudgetFrom } from "../../../../src/provider/money/money-records.ts";
import { resultsOf, taskResultFrom } from "../../../../src/provider/tasks/task-result.ts";
import { toBigInt, toNumber } from "../../../../src/provider/wire/lenient.ts";
import { ifUsable } from "../../../support/wire.ts";
import { failure, makeClient, type TestClient } from "./make-client.ts";
import { answer, type RawServer, startRawServer } from "./raw-server.ts";

/** Objects of the fields that the schemas know, with anything as their values. */
const KNOWN = [
  ...["id", "data", "endpoints", "endpoint", "status", "worker_config", "workers", "volumes", "envs", "ports", "port"],
  ...["policy", "health_check", "has_more", "next_cursor", "workerConfig", "image", "healthy", "state", "products"],
  ...["task", "videos", "audios", "images", "task_id", "audio", "bills", "key_budgets", "maxWorkerNum", "total"],
];
const { tree: anything } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { depthSize: "medium", withCrossShrink: true },
    fc.oneof(fc.jsonValue(), fc.constantFrom("60", "", "null", "-1", "1e3", " 7 ", 60, null, true)),
    fc.array(tie("tree"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...KNOWN), tie("tree"), { maxKeys: 8 }),
  ),
}));

describe("answers of any shape", () => {
  const readers = { fromCurrent, fromEarlier, endpointLimits, taskResultFrom, billFrom, keyBudgetFrom };
  it.each(Object.entries(readers))("%s: read or refused", (_name, read: (value: unknown) => unknown) => {
    fc.assert(
      fc.property(anything, (value) => {
        ifUsable(() => read(value));
      }),
      { numRuns: 500 },
    );
  });

  it("what is read is sound", () => {
    fc.assert(
      fc.property(anything, (value) => {
        const body = { ...(typeof value === "object" ? value : {}), id: "e" };
        for (const recordFrom of [fromCurrent, fromEarlier]) {
          const record = ifUsable(() => recordFrom(body));
          expect(record?.ports.every(Number.isFinite) ?? true).toBe(true);
        }
        const task = ifUsable(() =>
          taskResultFrom({ images: value, videos: value, audios: value, task: { status: "S" } }),
        );
        for (const result of task === undefined ? [] : resultsOf(task)) {
          expect(result.url).not.toBe("");
          expect(result.ttlSeconds ?? 1).toBeGreaterThan(0);
        }
      }),
      { numRuns: 500 },
    );
  });

  describe("through the client", () => {
    let body = "";
    let server: RawServer;
    let client: TestClient;
    beforeAll(async () => {
      server = await startRawServer((socket) => socket.end(answer(200, body, { connection: "close" })));
      client = makeClient(server.url);
    });
    afterAll(async () => {
      await server.close();
      await client.close();
    });

    it("end in a value or in UnreadableResponse", async () => {
      const calls = [
        () => client.listEndpoints({}),
        () => client.getEndpoint({ endpointID: "e" }),
        () => client.listEndpointsEarlier({ pageSize: 10, pageNum: 1 }),
        () => client.getTaskResult({ taskID: "t" }),
        () => client.getEndpointLimits(),
        () => client.submitVideoToVideo({ input: {} }),
        () => client.listKeyBudgets({ memberID: "m" }),
      ];
      await fc.assert(
        fc.asyncProperty(
          fc.oneof(
            fc.json(),
            fc.string(),
            anything.map((v) => JSON.stringify(v)),
          ),
          fc.constantFrom(...calls),
          async (text, call) => {
            body = text;
            await call().catch((error: unknown) => {
              expect(error).toBeInstanceOf(ServiceError);
              expect(error).toMatchObject({ kind: "UnreadableResponse", delivery: "Accepted" });
            });
          },
        ),
        { numRuns: 150 },
      );
    });

    it.each(["{}", "[]", '{"data":{}}', '{"data":[{"name":"no id"}]}', '{"next_cursor":""}'])(
      "%s is no page: it proves no absence",
      async (text) => {
        body = text;
        expect((await failure(client.listEndpoints({}))).kind).toBe("UnreadableResponse");
      },
    );

    it("null is an empty list", async () => {
      body = '{"data":null,"next_cursor":"","has_more":false}';
      expect(await client.listEndpoints({})).toEqual({ data: [], nextCursor: "", hasMore: false });
    });
  });
});

describe("scalars", () => {
  it("a number is the same as an integer and as a string", () => {
    fc.assert(
      fc.property(fc.integer(), (n) => {
        expect(toNumber(String(n))).toBe(toNumber(n));
        expect(toNumber(` ${n} `)).toBe(n);
        expect(toBigInt(String(n))).toBe(toBigInt(n));
        const config = (value: unknown) => ({ id: "e", worker_config: { idle_timeout: value }, ports: [value] });
        expect(fromCurrent(config(String(n)))).toEqual(fromCurrent(config(n)));
        const earlier = (value: unknown) => ({ id: "e", policy: { value }, ports: [{ port: value }] });
        expect(fromEarlier(earlier(String(n)))).toEqual(fromEarlier(earlier(n)));
      }),
    );
  });

  it("money of any size is exact", () => {
    fc.assert(
      fc.property(fc.bigInt(), (n) => {
        fc.pre(String(n).length <= 64);
        expect(toBigInt(String(n))).toBe(n);
      }),
    );
  });

  it("money that is not exact is not read", () => {
    expect(toBigInt("12.0")).toBe(12n);
    expect(toBigInt("12.5")).toBeUndefined();
    expect(toBigInt(2 ** 53)).toBeUndefined(); // JSON rounds 2^53 + 1 to it
  });

  it.each(["", " ", "0x10", "1,5", "12px", "NaN", "Infinity", "1e999", null, {}, [5], true])(
    "%j is no number",
    (value) => {
      expect(toNumber(value)).toBeUndefined();
    },
  );
});

describe("results", () => {
  it("of every kind, also images of either shape; a life of 0 or nonsense is unknown", () => {
    const result = taskResultFrom({
      task: { task_id: "t", status: "TASK_STATUS_SUCCEED", progress_percent: "100" },
      videos: [{ video_url: "http://v", video_url_ttl: "3600", video_type: "mp4" }, { video_url: "" }],
      audios: [{ audio_url: "http://a", audio_url_ttl: "0", audio_type: "mp3", audio_metadata: null }],
      images: ["http://i", { image_url: "http://j", image_url_ttl: "soon", image_type: "png" }],
    });
    expect(result.task).toEqual({
      taskID: "t",
      taskType: "",
      status: "TASK_STATUS_SUCCEED",
      state: "Succeeded",
      reason: "",
      progressPercent: 100,
    });
    expect(resultsOf(result)).toEqual([
      { kind: "Audio", url: "http://a", type: "mp3" },
      { kind: "Video", url: "http://v", type: "mp4", ttlSeconds: 3600 },
      { kind: "Image", url: "http://i", type: "" },
      { kind: "Image", url: "http://j", type: "png" },
    ]);
  });
});
