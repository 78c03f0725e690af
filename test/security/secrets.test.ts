/** The service knows the API key and what a request contains. No text of it brings them into a status, a message or a metric. */
import { describe, expect, it } from "vitest";
import { differences } from "../../src/controllers/gpu-endpoint/fields.ts";
import { statusOf } from "../../src/controllers/gpu-endpoint/status.ts";
import { withoutSecrets } from "../../src/controllers/jobs/polls.ts";
import { StalledError } from "../../src/controllers/references.ts";
import { failure, KEY, makeClient, type TestClient } from "../component/provider/http/make-client.ts";
import { endpointBody } from "../component/simulator/start.ts";
import { billRecord } from "../support/bills.ts";
import { desiredOf, endpointOf, recordOf } from "../support/endpoints.ts";
import { START } from "../support/fake-clock.ts";
import { outcome } from "../support/golden/endpoints.ts";
import { SECRET_FORMS } from "../support/hostile/secret-forms.ts";
import { taskOf } from "../support/jobs.ts";
import { scriptedService, sessionAt } from "../support/service-account.ts";

const SECRET = "s3cr3t value/1";
const period = { cycleType: "Day", startTime: 1_767_225_600, endTime: 1_767_312_000 } as const;

/** A text of the service, and the call whose result shows it. */
const READS: [text: string, body: (quoted: string) => unknown, call: (client: TestClient) => Promise<unknown>][] = [
  [
    "a task's reason, type and status",
    (quoted) => ({ task: { task_id: quoted, status: quoted, task_type: quoted, reason: `failed: ${quoted}` } }),
    (client) => client.getTaskResult({ taskID: "t" }),
  ],
  [
    "the URL and type of a result",
    (quoted) => ({ task: { status: "S" }, videos: [{ video_url: `https://a.example/${quoted}`, video_type: quoted }] }),
    (client) => client.getTaskResult({ taskID: "t" }),
  ],
  [
    "an endpoint's status",
    (quoted) => ({
      id: "e",
      url: quoted,
      owner_id: quoted,
      status: { status: quoted, error: quoted, message: quoted },
    }),
    (client) => client.getEndpoint({ endpointID: "e" }),
  ],
  [
    "an endpoint's status in a list",
    (quoted) => ({ data: [{ id: "e", status: { error: quoted }, workers: [{ id: quoted, log: quoted }] }] }),
    (client) => client.listEndpoints({}),
  ],
  [
    "an endpoint's state in the earlier list",
    (quoted) => ({ endpoints: [{ id: "e", url: quoted, state: { state: quoted, error: quoted }, log: quoted }] }),
    (client) => client.listEndpointsEarlier({ pageSize: 1, pageNum: 1 }),
  ],
  [
    "the versions in the limits",
    (quoted) => ({ maxWorkerNum: 1, cudaVersionList: [quoted] }),
    (client) => client.getEndpointLimits(),
  ],
  [
    "a bill",
    (quoted) => ({
      bills: [billRecord({ category: quoted, apikeyMask: quoted, billNum0: quoted, tieredConfig: { quoted } })],
    }),
    (client) =>
      client.listBills(period).then((bills) => JSON.stringify(bills, (_, v) => (typeof v === "bigint" ? `${v}` : v))),
  ],
  [
    "a budget",
    (quoted) => ({ key_budgets: [{ key_id: quoted, key_name: quoted, budget_type: quoted, cycle: quoted }] }),
    (client) =>
      client
        .listKeyBudgets({ memberID: "m" })
        .then((budgets) => budgets.map(({ keyID, keyName, type, cycle }) => [keyID, keyName, type, cycle])),
  ],
];

describe.each(SECRET_FORMS)("the API key %s", (_form, quote) => {
  const quoted = quote(KEY);

  it.each(READS)("is not shown by %s", async (_text, body, call) => {
    const service = await scriptedService(() => ({ body: body(quoted) }));
    const client = makeClient(service.url);
    const shown = JSON.stringify(await call(client));
    await client.close();
    expect(shown).not.toContain(JSON.stringify(quoted).slice(1, -1));
    expect(shown).not.toContain(KEY);
  });

  it("as an identifier makes the response unreadable: a job halts, and an endpoint is looked up", async () => {
    const id = quoted.replace(/\p{C}/gu, "");
    const service = await scriptedService(() => ({ body: { id, task_id: id } }));
    const client = makeClient(service.url);
    for (const call of [client.createEndpoint(endpointBody()), client.submitSpeech({ text: "a", voice_setting: {} })]) {
      const error = await failure(call);
      expect(error).toMatchObject({ kind: "UnreadableResponse", delivery: "Accepted" });
      expect(error.message).not.toContain(id);
    }
    await client.close();
  });

  it("does not reach the drift of a field whose exact value is compared", () => {
    const endpoint = endpointOf();
    const record = recordOf(desiredOf(endpoint), {
      image: quoted,
      command: quoted,
      healthCheck: { path: quoted, port: 1 },
    });
    const service = sessionAt("http://127.0.0.1:1", { apiKey: KEY });
    const differing = differences(desiredOf(endpoint), record);
    const update = { written: {}, requested: undefined, sanitize: service.sanitizer([]) };
    const status = statusOf(endpoint, { ...update, outcome: outcome({ record, differences: differing }) }, START);
    expect(status.drift).toHaveLength(3);
    expect(JSON.stringify(status)).not.toContain(JSON.stringify(quoted).slice(1, -1));
  });
});

describe.each(SECRET_FORMS)("a value of the request %s", (_form, quote) => {
  const quoted = quote(SECRET);

  it.each([
    ["a create", (client: TestClient) => client.createEndpoint(endpointBody(), { hidden: [SECRET] })],
    [
      "a submission",
      (client: TestClient) => client.submitSpeech({ text: SECRET, voice_setting: {} }, { hidden: [SECRET] }),
    ],
    [
      "a synthesis",
      (client: TestClient) =>
        client.synthesizeSpeech({ text: SECRET, voice_setting: { voice_id: "v" } }, { hidden: [SECRET] }),
    ],
    [
      "a stream",
      async (client: TestClient) => {
        for await (const _chunk of client.streamSpeech(
          { text: SECRET, voice_setting: { voice_id: "v" } },
          { hidden: [SECRET] },
        ));
      },
    ],
  ])("is not shown by the refusal of %s", async (_call, call) => {
    const service = await scriptedService(() => ({
      status: 400,
      body: { code: quoted, reason: "BAD", message: `bad: ${quoted}` },
    }));
    const client = makeClient(service.url);
    const error = await failure(call(client));
    await client.close();
    expect(error.reason).toContain("(hidden)");
    expect(`${error.stack} ${error.reason} ${error.code} ${String(error.cause)}`).not.toContain(quoted);
  });

  it("is not shown by a failed task, from the Secret that it came from", async () => {
    const polled = { result: taskOf("TASK_STATUS_FAILED", { reason: `no: ${quoted}`, taskType: quoted }), at: 0 };
    const shown = await withoutSecrets(polled, async () => [SECRET]);
    expect(shown?.result.task).toMatchObject({ reason: expect.stringContaining("(hidden)"), state: "Failed" });
    expect(JSON.stringify(shown)).not.toContain(JSON.stringify(quoted).slice(1, -1));
  });

  it("is not shown by an endpoint's status, whether or not the service lists the variable", () => {
    const endpoint = endpointOf();
    const status = { status: "failed", error: quoted, message: `bad: ${quoted}` };
    for (const envs of [[], [{ key: "TOKEN", value: SECRET }]]) {
      const record = recordOf(desiredOf(endpoint), { envs, status });
      const update = {
        written: {},
        requested: undefined,
        sanitize: sessionAt("http://127.0.0.1:1").sanitizer([SECRET]),
      };
      const shown = statusOf(endpoint, { ...update, outcome: outcome({ record }) }, START);
      expect(shown.remote?.message).toContain("(hidden)");
      expect(JSON.stringify(shown)).not.toContain(JSON.stringify(quoted).slice(1, -1));
    }
  });
});

it("a failed task whose Secret cannot be read any more shows none of the service's words", async () => {
  const polled = { result: taskOf("TASK_STATUS_FAILED", { reason: `no: ${SECRET}` }), at: 0 };
  const shown = await withoutSecrets(polled, async () => {
    throw new StalledError("SecretNotFound", "gone");
  });
  expect(shown?.result.task).toMatchObject({ reason: "(hidden)", status: "TASK_STATUS_FAILED" });
});

it("a former API key is hidden as well", async () => {
  let key = KEY;
  const service = await scriptedService(() => ({ status: 400, body: { reason: "BAD", message: `bad ${KEY}` } }));
  const client = makeClient(service.url, { apiKey: () => key });
  await failure(client.getTaskResult({ taskID: "t" }));
  key = "another-key";
  expect((await failure(client.getTaskResult({ taskID: "t" }))).message).toContain("bad [API key]");
  await client.close();
});
