import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Bench, endpointBody, startBench, updateBody } from "./start.ts";

let bench: Bench;
let id = "";
beforeAll(async () => {
  bench = await startBench({ timeScale: 0, storages: { "disk-1": "cluster-1" } });
  id = (await bench.client.createEndpoint(endpointBody({ appName: "taken" }))).id;
});
afterAll(() => bench.close());

const V1 = "/gpu-instance/openapi/v1";
const CREATE = `${V1}/endpoint/create`;
const UPDATE = `${V1}/endpoint/update`;
const workers = (changes: Record<string, unknown>) => ({
  workerConfig: { ...endpointBody().workerConfig, ...changes },
});
const without = (body: object, field: string) => Object.fromEntries(Object.entries(body).filter(([k]) => k !== field));
const network = { type: "network", id: "disk-1", mountPath: "/data" };
const local = { type: "local", size: 30, mountPath: "/data" };

/** Changes to a create that the interface forbids, and what the refusal must name. */
const CREATES: [name: string, endpoint: object, names: string][] = [
  ["a name of 221 characters", endpointBody({ name: "n".repeat(221) }), "name"],
  ["a taken app name", endpointBody({ appName: "taken" }), "taken"],
  ...["workerConfig", "ports", "policy", "image", "products", "rootfsSize", "volumeMounts", "healthy"].map(
    (field): [string, object, string] => [`no ${field}`, without(endpointBody(), field), field],
  ),
  ...["minNum", "maxNum", "freeTimeout", "maxConcurrent", "gpuNum", "requestTimeout"].flatMap(
    (field): [string, object, string][] => [
      [`no ${field}`, endpointBody({ workerConfig: without(endpointBody().workerConfig, field) }), field],
      [`${field} as text`, endpointBody(workers({ [field]: "1" })), field],
      [`${field} below its range`, endpointBody(workers({ [field]: -1 })), field],
      [`${field} above its range`, endpointBody(workers({ [field]: 100_000 })), field],
    ],
  ),
  ["minNum above maxNum", endpointBody(workers({ minNum: 4 })), "minNum"],
  ["no port", endpointBody({ ports: [] }), "exactly one port"],
  ["two ports", endpointBody({ ports: [{ port: "80" }, { port: "81" }] }), "exactly one port"],
  ...["0", "65536", "2222", "2223", "2224", "http", "-1", "80.5"].map((port): [string, object, string] => [
    `port ${port}`,
    endpointBody({ ports: [{ port }] }),
    "ports.0.port",
  ]),
  ["another policy", endpointBody({ policy: { type: "cpu", value: 5 } }), "policy.type"],
  ["a policy without a value", endpointBody({ policy: { type: "queue" } }), "policy.value"],
  ["a queue time out of range", endpointBody({ policy: { type: "queue", value: 0 } }), "policy.value"],
  ["a request count out of range", endpointBody({ policy: { type: "concurrency", value: 1001 } }), "policy.value"],
  ["no image address", endpointBody({ image: {} }), "image.image"],
  ["an image of 512 characters", endpointBody({ image: { image: "i".repeat(512) } }), "image.image"],
  ["a credential of 256 characters", endpointBody({ image: { image: "i", authId: "a".repeat(256) } }), "authId"],
  ["a command of 2048 characters", endpointBody({ image: { image: "i", command: "c".repeat(2048) } }), "command"],
  ["no product", endpointBody({ products: [] }), "products"],
  ["a product without id", endpointBody({ products: [{}] }), "products.0.id"],
  ["a system disk of 101 GB", endpointBody({ rootfsSize: 101 }), "rootfsSize"],
  ["a local volume of 31 GB", endpointBody({ volumeMounts: [{ ...local, size: 31 }] }), "size"],
  ["a local volume with an id", endpointBody({ volumeMounts: [{ ...local, id: "x" }] }), "id"],
  ["a volume without a path", endpointBody({ volumeMounts: [without(local, "mountPath")] }), "mountPath"],
  ["a path of 256 characters", endpointBody({ volumeMounts: [{ ...local, mountPath: "p".repeat(256) }] }), "mountPath"],
  ["another volume type", endpointBody({ volumeMounts: [{ ...local, type: "cloud" }] }), "type"],
  ["a network volume without a cluster", endpointBody({ volumeMounts: [network] }), "clusterID"],
  ["a network volume in another cluster", endpointBody({ volumeMounts: [network], clusterID: "c2" }), "cluster-1"],
  [
    "a network volume with a size",
    endpointBody({ volumeMounts: [{ ...network, size: 30 }], clusterID: "cluster-1" }),
    "size",
  ],
  [
    "a network volume without id",
    endpointBody({ volumeMounts: [without(network, "id")], clusterID: "cluster-1" }),
    "id",
  ],
  ["a cluster of 256 characters", endpointBody({ clusterID: "c".repeat(256) }), "clusterID"],
  ["an env without a value", endpointBody({ envs: [{ key: "A" }] }), "envs.0.value"],
  ["an env without a key", endpointBody({ envs: [{ value: "A" }] }), "envs.0.key"],
  ["a health check without a path", endpointBody({ healthy: {} }), "healthy.path"],
  ["a field that the interface does not list", endpointBody({ replicas: 3 }), "replicas"],
];

describe("create refuses", () => {
  it.each(CREATES)("%s", async (_name, endpoint, names) => {
    const { status, json } = await bench.ask(CREATE, { endpoint });
    expect({ status, code: json["code"] }).toEqual({ status: 400, code: 400 });
    expect(json["message"]).toContain(names);
  });

  it("parameters that are not in `endpoint`", async () => {
    expect((await bench.ask(CREATE, endpointBody())).status).toBe(400);
  });
});

describe("update refuses", () => {
  it.each([
    ...["id", "workerConfig", "ports", "policy", "image", "healthy"].map((field): [string, () => object] => [
      `no ${field}: all parameters must be passed in full`,
      () => without(updateBody(id), field),
    ]),
    ["the changed field alone", () => ({ id, ...workers({ maxNum: 5 }) })],
    ["what only a create can set", () => ({ ...updateBody(id), appName: "other" })],
    ["parameters in `endpoint`", () => ({ endpoint: updateBody(id) })],
    ["a range", () => updateBody(id, workers({ maxNum: 101 }))],
    ["a network volume without a cluster", () => updateBody(id, { volumeMounts: [network] })],
    ["an endpoint that does not exist", () => updateBody("nobody")],
  ])("%s", async (_name, body) => {
    expect((await bench.ask(UPDATE, body())).status).toBe(400);
  });
});

const TURBO = "/v3/vendor-speech-2.6-turbo";
const HD = "/v3/async/vendor-speech-2.6-hd";
const I2V = "/v3/async/vid-i2v";
const V2V = "/v3/async/vid2.6-v2v";
const say = (text: string, more: object = {}) => ({ text, voice_setting: { voice_id: "v" }, ...more });
const i2v = (more: object = {}) => ({ prompt: "a ship", image_url: "http://example.com/a.png", ...more });
const lora = { path: "a/b", scale: 1 };
const v2v = (input: object, parameters?: object) => ({
  input: { prompt: "a ship", ...input },
  ...(parameters ? { parameters } : {}),
});

const POSTS: [name: string, path: string, body: object][] = [
  ["turbo: no text", TURBO, { voice_setting: { voice_id: "v" } }],
  ["turbo: empty text", TURBO, say("")],
  ["turbo: 10000 characters", TURBO, say("x".repeat(10_000))],
  ["turbo: no voice_setting", TURBO, { text: "a" }],
  ["turbo: no voice_id and no weights", TURBO, { text: "a", voice_setting: {} }],
  ["turbo: weights without voice", TURBO, { text: "a", voice_setting: {}, timbre_weights: [{ weight: 1 }] }],
  ["turbo: pause of 100 s", TURBO, say("a<#100#>b")],
  ["turbo: pause of 0 s", TURBO, say("a<#0#>b")],
  ["turbo: pause of three decimals", TURBO, say("a<#0.001#>b")],
  ["turbo: pause of no number", TURBO, say("a<#x#>b")],
  ["turbo: two pauses in a row", TURBO, say("a<#1#><#2#>b")],
  ["turbo: two pauses in a row with a blank", TURBO, say("a<#1#> <#2#>b")],
  ["turbo: pause at the start", TURBO, say("<#1#>b")],
  ["turbo: pause at the end", TURBO, say("b<#1#>")],
  ["turbo: another format", TURBO, say("a", { audio_setting: { format: "ogg" } })],
  ["turbo: another language", TURBO, say("a", { language_boost: "Klingon" })],
  ["turbo: another output format", TURBO, say("a", { output_format: "file" })],
  ["turbo: voice_modify with pcm", TURBO, say("a", { voice_modify: { pitch: 1 }, audio_setting: { format: "pcm" } })],
  [
    "turbo: voice_modify with wav in a stream",
    TURBO,
    say("a", { stream: true, voice_modify: {}, audio_setting: { format: "wav" } }),
  ],
  ["turbo: an unknown field", TURBO, say("a", { voice: "v" })],
  ["hd: 50001 characters", HD, say("x".repeat(50_001))],
  ["hd: no voice_setting", HD, { text: "a" }],
  ["hd: a language of turbo only", HD, say("a", { language_boost: "Tamil" })],
  ["hd: latex_read is turbo's", HD, { text: "a", voice_setting: { voice_id: "v", latex_read: true } }],
  ["hd: stream is turbo's", HD, say("a", { stream: true })],
  ["hd: two pauses in a row", HD, say("a<#1#><#2#>b")],
  ["i2v: no prompt", I2V, { image_url: "http://x" }],
  ["i2v: no image", I2V, { prompt: "a" }],
  ["i2v: empty prompt", I2V, i2v({ prompt: "" })],
  ["i2v: prompt of 2001", I2V, i2v({ prompt: "p".repeat(2001) })],
  ["i2v: negative prompt of 2001", I2V, i2v({ negative_prompt: "p".repeat(2001) })],
  ["i2v: width 640", I2V, i2v({ width: 640, height: 480 })],
  ["i2v: 480x720 is no pair", I2V, i2v({ width: 480, height: 720 })],
  ["i2v: four loras", I2V, i2v({ loras: [lora, lora, lora, lora] })],
  ["i2v: lora scale 4.1", I2V, i2v({ loras: [{ ...lora, scale: 4.1 }] })],
  ["i2v: lora without path", I2V, i2v({ loras: [{ scale: 1 }] })],
  ["i2v: lora without scale", I2V, i2v({ loras: [{ path: "a" }] })],
  ["i2v: seed -2", I2V, i2v({ seed: -2 })],
  ["i2v: seed 10000000000", I2V, i2v({ seed: 10_000_000_000 })],
  ["i2v: steps 0", I2V, i2v({ steps: 0 })],
  ["i2v: steps 41", I2V, i2v({ steps: 41 })],
  ["i2v: guidance 10.1", I2V, i2v({ guidance_scale: 10.1 })],
  ["i2v: flow 0.9", I2V, i2v({ flow_shift: 0.9 })],
  ["i2v: flow 10.1", I2V, i2v({ flow_shift: 10.1 })],
  ["v2v: no input", V2V, { parameters: {} }],
  ["v2v: no prompt", V2V, { input: { reference_urls: [] } }],
  ["v2v: fields at the top", V2V, { prompt: "a" }],
  ["v2v: another size", V2V, v2v({}, { size: "640*480" })],
  ["v2v: duration 7", V2V, v2v({}, { duration: 7 })],
  ["v2v: another shot type", V2V, v2v({}, { shot_type: "both" })],
  ["v2v: reference as text", V2V, v2v({ reference_urls: "http://x" })],
];

describe("speech and video refuse", () => {
  it.each(POSTS)("%s", async (_name, path, body) => {
    const before = (await bench.audit()).length;
    const { status, json } = await bench.ask(path, body);
    expect({ status, reason: json["reason"] }).toEqual({ status: 400, reason: "INVALID_REQUEST_PARAMETER" });
    const [entry] = (await bench.audit()).slice(before);
    expect(entry).toMatchObject({ status: 400, body });
    expect(entry).not.toHaveProperty("effect");
  });

  it.each([
    { name: "the longest text of turbo", path: TURBO, body: say("x".repeat(9999)) },
    { name: "emoji count as one character each", path: TURBO, body: say("🚢".repeat(9999)) },
    { name: "a pause", path: TURBO, body: say("a<#0.01#>b<#99.99#>c") },
    {
      name: "weights instead of a voice",
      path: TURBO,
      body: { text: "a", voice_setting: {}, timbre_weights: [{ voice_id: "v", weight: 1 }] },
    },
    { name: "the longest text of hd", path: HD, body: say("x".repeat(50_000)) },
    { name: "a null language", path: HD, body: say("a", { language_boost: null }) },
    { name: "three loras", path: I2V, body: i2v({ loras: [lora, lora, { path: "c", scale: 4 }] }) },
    { name: "a lone width is forced", path: I2V, body: i2v({ width: 720 }) },
    { name: "the largest seed", path: I2V, body: i2v({ seed: 9_999_999_999, width: 720, height: 1280, steps: 40 }) },
    {
      name: "all parameters",
      path: V2V,
      body: v2v(
        { reference_urls: ["http://x"], audio_url: "http://y" },
        { size: "1440*1440", duration: 10, shot_type: "multi", seed: 1 },
      ),
    },
  ])("but not $name", async ({ path, body }) => {
    expect(await bench.ask(path, body)).toMatchObject({ status: 200 });
  });
});

describe("queries refuse", () => {
  const BILLS = "/openapi/v1/billing/apikey/bill/list";
  it.each([
    "/gpus/v2/endpoints?limit=-1",
    "/gpus/v2/endpoints?limit=many",
    `/gpus/v2/endpoints?cursor=${"c".repeat(1025)}`,
    "/gpus/v2/endpoints?cursor=abc",
    `/gpus/v2/endpoints/${"e".repeat(256)}`,
    "/gpus/v2/endpoints/nobody",
    `${V1}/endpoints`,
    `${V1}/endpoints?pageSize=10`,
    `${V1}/endpoints?pageNum=1`,
    `${V1}/endpoints?pageSize=x&pageNum=1`,
    `${V1}/endpoint`,
    `${V1}/endpoint?id=nobody`,
    "/v3/async/task-result",
    "/v3/async/task-result?task_id=nobody",
    `${BILLS}?startTime=1767225600&endTime=1767225601`,
    `${BILLS}?cycleType=Year&startTime=1767225600&endTime=1767225601`,
    `${BILLS}?cycleType=Day&endTime=1767225601`,
    `${BILLS}?cycleType=Day&startTime=1767225600`,
    `${BILLS}?cycleType=Day&startTime=1767225600&endTime=1767225600`,
    `${BILLS}?cycleType=Day&startTime=1767225599&endTime=1767225601`,
    "/openapi/v1/user/team/key-budget-list",
  ])("%s", async (path) => {
    expect((await bench.ask(path)).status).toBe(400);
  });
});

describe("every operation needs the key", () => {
  const OPERATIONS: [path: string, body?: object][] = [
    ["/gpus/v2/endpoints"],
    ["/gpus/v2/endpoints/e"],
    [`${V1}/endpoints?pageSize=1&pageNum=1`],
    [`${V1}/endpoint?id=e`],
    [`${V1}/endpoint/limit`],
    [CREATE, {}],
    [UPDATE, {}],
    ["/v3/async/task-result?task_id=t"],
    [TURBO, {}],
    [HD, {}],
    [I2V, {}],
    [V2V, {}],
    ["/openapi/v1/billing/apikey/bill/list"],
    ["/openapi/v1/user/team/key-budget-list"],
  ];
  it.each(OPERATIONS)("%s", async (path, body) => {
    for (const authorization of ["", "Bearer wrong", "Basic abc", "Bearer "]) {
      const { status, json } = await bench.ask(path, body, { authorization });
      expect({ status, json }).toEqual({
        status: 401,
        json: { code: 401, reason: "INVALID_API_KEY", message: expect.any(String), metadata: {} },
      });
    }
  });

  it("and a JSON body in JSON", async () => {
    expect((await bench.ask(TURBO, "{oops")).status).toBe(400);
    expect((await bench.ask(TURBO, "text=a", { "content-type": "application/x-www-form-urlencoded" })).status).toBe(
      415,
    );
    expect((await bench.ask("/v3/async/unknown", {})).status).toBe(404);
  });
});
