/**
 * Any record that can be parsed gives a status that the API server accepts. Otherwise every write of the status would fail, and
 * the object would never show anything again.
 */

import fc from "fast-check";
import { expect, it } from "vitest";
import { plainText } from "../../src/base/sanitizer.ts";
import { datesIn } from "../../src/controllers/billing/report/period.ts";
import { differences } from "../../src/controllers/gpu-endpoint/fields.ts";
import { observeTask } from "../../src/controllers/jobs/polls.ts";
import { jobResults, resultsFrom } from "../../src/controllers/jobs/tasks.ts";
import { fromCurrent, fromEarlier } from "../../src/provider/endpoints/endpoint-record.ts";
import { endpointLimits, LIMIT_FIELDS } from "../../src/provider/endpoints/limits.ts";
import { billFrom, keyBudgetFrom } from "../../src/provider/money/money-records.ts";
import { createTally } from "../../src/provider/money/tally.ts";
import { timeZone } from "../../src/provider/money/time-zone.ts";
import { resultURL, taskResultFrom } from "../../src/provider/tasks/task-result.ts";
import { TASK_ID } from "../../src/provider/wire/bounds.ts";
import { identifier } from "../../src/provider/wire/lenient.ts";
import { billRecord } from "../support/bills.ts";
import { breachesOf, statusSchemaOf } from "../support/crd-schema.ts";
import { desiredOf, endpointOf } from "../support/endpoints.ts";
import { START } from "../support/fake-clock.ts";
import { accountAfter, probe } from "../support/golden/accounts.ts";
import { billReportAfter } from "../support/golden/bills.ts";
import { endpointAfter } from "../support/golden/endpoints.ts";
import { jobAfter } from "../support/golden/jobs.ts";
import { videoJobOf } from "../support/jobs.ts";
import { ifUsable } from "../support/wire.ts";

const RUNS = process.env.MOORING_CAMPAIGN === undefined ? 100 : 5_000;

/** What a hostile or broken service writes where a text or a number belongs. */
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.constantFrom(
    "",
    "running",
    "😀".repeat(5_000),
    "x".repeat(70_000),
    "\u0007\u009b\u202e",
    "\ud800",
    "a\nReady: True",
  ),
);
const number = fc.oneof(
  fc.double(),
  fc.integer(),
  fc.constantFrom(1e300, -1e300, 1e15, 2 ** 31, -2, 0.5, "1e300", "12", "-1", "99999999999999999999", null, true),
);
const any = fc.oneof(text, number, fc.jsonValue({ maxDepth: 2 }));
const fields = (names: readonly string[], value: fc.Arbitrary<unknown> = any) =>
  fc.record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] });
const lists = (item: fc.Arbitrary<unknown>) =>
  fc.oneof(
    fc.array(item, { maxLength: 5 }),
    item.map((one) => Array.from({ length: 200 }, () => one)),
    any,
  );

function accepted(plural: string, status: unknown): void {
  // Through JSON, as the API server gets it.
  expect(breachesOf(statusSchemaOf(plural), JSON.parse(JSON.stringify(status)))).toEqual([]);
}

const url = fc.oneof(
  fc.constantFrom(
    "https://files.example.com/a.mp4",
    "http://é.example.com/\u202e",
    "",
    `https://a/${"x".repeat(9_000)}`,
  ),
  text,
);
const taskBody = fc.record({
  task: fc.tuple(fields(["task_id", "task_type", "reason", "eta", "progress_percent"]), text).map(([task, status]) => ({
    ...task,
    status,
  })),
  videos: lists(fc.record({ video_url: url, video_url_ttl: any, video_type: text })),
  audios: lists(fc.record({ audio_url: url, audio_url_ttl: any, audio_type: text })),
  images: lists(fc.oneof(url, fc.record({ image_url: url, image_url_ttl: any, image_type: text }))),
});

it.each(["TASK_STATUS_SUCCEED", "TASK_STATUS_FAILED", "TASK_STATUS_PROCESSING", undefined])(
  "a task with status %s",
  (status) => {
    fc.assert(
      fc.property(taskBody, (body) => {
        const task = { ...body.task, ...(status && { status }) };
        const result = ifUsable(() => taskResultFrom({ ...body, task }));
        if (result === undefined) return;
        const job = videoJobOf("image");
        const observed = observeTask({ job, now: START }, "t", { result, at: START }, undefined);
        if (observed.kind === "TaskFailed") {
          const { reason, message } = observed;
          accepted("videojobs", jobAfter(undefined, { phase: "Failed", reason, message, result }).status);
        }
        accepted("videojobs", jobAfter(undefined, { phase: "Active", result }).status);
        const results = resultsFrom(result, START);
        accepted("videojobs", jobAfter(undefined, { phase: "Succeeded", result, results }).status);
      }),
      { numRuns: RUNS },
    );
  },
);

it("a task ID and a URL of synthesized audio", () => {
  fc.assert(
    fc.property(fc.oneof(text, number), url, (task_id, audio) => {
      const taskID = ifUsable(() => identifier({ task_id }, "task_id", TASK_ID));
      const job = jobAfter(undefined, { phase: "Submitting" }).status;
      if (taskID !== undefined) accepted("videojobs", { ...job, taskID });
      const usable = resultURL(audio, plainText);
      if (usable.kind === "Usable") {
        const results = jobResults([{ kind: "Audio", url: usable.url, type: "mp3" }], START);
        accepted("speechjobs", jobAfter(undefined, { phase: "Succeeded", result: undefined, results }).status);
      }
    }),
    { numRuns: RUNS },
  );
});

const state = fields(["status", "state", "error", "message"]);
const endpointBody = fc
  .tuple(
    fields(["name", "type", "url", "product_id", "image", "command", "entrypoint", "registry_auth_id", "rootfsSize"]),
    fields(["region_id", "member_id", "owner_id", "created_at", "log", "clusterID", "app_name", "appName"]),
    fc.record(
      {
        status: state,
        state,
        workers: lists(fc.record({ id: any, status: state, state, health: any, healthy: any, drain: any })),
        worker_config: fields(["max_replicas", "min_replicas", "idle_timeout", "min_cuda_version"]),
        workerConfig: fields(["minNum", "maxNum", "freeTimeout", "cudaVersion"]),
        volumes: lists(fields(["id", "type", "size", "mount_point"])),
        volumeMounts: lists(fields(["id", "type", "size", "mountPath"])),
        envs: lists(fields(["key", "value"], text)),
        ports: lists(any),
        products: lists(fields(["id"])),
        policy: fields(["type", "value"]),
        health_check: fields(["path", "port"]),
        healthy: fields(["path", "period"]),
      },
      { requiredKeys: [] },
    ),
  )
  .map(([a, b, c]) => ({ id: "ep-1", ...a, ...b, ...c }));

it.each([
  ["current", (body: unknown) => ifUsable(() => fromCurrent(body))],
  ["earlier", (body: unknown) => ifUsable(() => fromEarlier(body))],
] as const)("an endpoint of the %s generation", (_generation, read) => {
  fc.assert(
    fc.property(endpointBody, (body) => {
      const record = read(body);
      if (record === undefined) return;
      const spec = { env: [{ name: "A", value: "b" }] };
      const differing = differences(desiredOf(endpointOf(spec)), record);
      accepted("gpuendpoints", endpointAfter(undefined, { record, differences: differing }, spec).status);
    }),
    { numRuns: RUNS },
  );
});

it.each([
  ["no character", ""],
  ["256 characters", "x".repeat(256)],
  ["5,000 emoji", "😀".repeat(5_000)],
])("an endpoint ID of %s is refused", (_name, id) => {
  for (const recordFrom of [fromCurrent, fromEarlier]) expect(() => recordFrom({ id })).toThrow("id ");
});

it("limits of an account", () => {
  const body = fc.record({ limits: fields(LIMIT_FIELDS, number), cudaVersionList: lists(any) });
  fc.assert(
    fc.property(body, ({ limits, cudaVersionList }) => {
      const data = ifUsable(() => endpointLimits({ ...limits, cudaVersionList }));
      if (data === undefined) return;
      accepted("accounts", accountAfter(undefined, { outcome: probe({ limits: data }) }).status);
    }),
    { numRuns: RUNS },
  );
});

it("budgets of an account", () => {
  const names = [
    "key_id",
    "key_name",
    "budget_type",
    "budget_limit",
    "used",
    "remaining",
    "cycle",
    "period_start",
    "period_end",
  ];
  const moment = fc.constantFrom(
    "+275760-09-13T00:00:00Z",
    "-000001-01-01T00:00:00Z",
    "2026-01-01T00:00:00Z",
    "1",
    "soon",
  );
  const budget = fc
    .tuple(fields(names), fields(["period_start", "period_end"], moment))
    .map(([a, b]) => ({ ...a, ...b }));
  fc.assert(
    fc.property(fc.array(budget, { maxLength: 4 }), fc.nat(60), (some, repeat) => {
      const keys = Array.from({ length: repeat }, () => some).flat();
      const budgets = keys.map((one) => keyBudgetFrom(one));
      const spec = { memberID: "m", action: "HoldNew" as const };
      const facts = {
        outcome: probe({}),
        budget: { spec, state: { kind: "Unlimited" as const, message: "" }, keys: budgets },
      };
      accepted("accounts", accountAfter(undefined, facts).status);
    }),
    { numRuns: RUNS },
  );
});

it("a report of bills", () => {
  const change = fields([
    "productName",
    "category",
    "ownerID",
    "apikeyName",
    "apikeyMask",
    "productId",
    "amount",
    "voucherAmount",
  ]);
  const times = fields(["startTime", "endTime", "payAmount", "requestCount"]);
  fc.assert(
    fc.property(fc.array(fc.tuple(change, times), { maxLength: 40 }), (bills) => {
      const range = { startTime: START / 1000, endTime: START / 1000 + 3600 };
      const tally = createTally(datesIn(timeZone("Asia/Shanghai"), range));
      for (const [some, more] of bills) tally.add(billFrom(billRecord({ ...some, ...more })));
      const outcome = { kind: "Read", range, tally, final: false, exported: { kind: "NotWanted" } } as const;
      accepted("billreports", billReportAfter(undefined, outcome).status);
    }),
    { numRuns: RUNS },
  );
});
