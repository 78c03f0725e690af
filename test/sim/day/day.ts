import { createMetrics, type Metrics } from "../../../src/runtime/metrics.ts";
import { base64, manifest } from "../../support/manifests.ts";
import { type Json, textAt } from "../api-server/json.ts";
import { watchStatuses } from "../invariants/statuses.ts";
import { createStage, type Stage, waitForCondition } from "../stage/stage.ts";
import { seriesOf } from "./series.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const REST_LOOK_MS = 100;

export const SYNC_SECONDS = 60;
export const BILLS_MINUTES = 10;
/** Of the budget, yuan. */
export const LIMIT = 500;

const output = { storeRef: { name: "results" } };
const bill = { lastDays: 2, refreshInterval: "1h", exportTo: { configMap: { name: "march", format: "CSV" } } };

/** The day before the month begins. */
export const FIRST_HOUR = { lastDays: null, startTime: "2026-02-28T01:00:00Z", endTime: "2026-03-01T01:00:00Z" };
export const SETTLE_MINUTES = 30;

/** `contradictions`: of statuses. `writes`: what each object had, as text. `jobs`: the last state of each, also of those that are gone. */
export type Day = {
  stage: Stage;
  metrics: Metrics;
  contradictions: string[];
  writes: string[];
  jobs: Map<string, Json>;
};

/**
 * A team uses everything once, and nothing disturbs it. The bills are of a time zone whose day, week and month begin an hour after the
 * first request.
 */
export async function createDay(): Promise<Day> {
  const stage = await createStage({
    bucket: true,
    simulator: {
      queueMs: [2_000, 8_000],
      speechTaskMs: [20_000, 60_000],
      videoTaskMs: [120_000, 300_000],
      videoUrlSeconds: 7_200,
      billingUtcOffsetHours: -1,
    },
    account: {
      rateLimit: { requestsPerSecond: 20, burst: 20 },
      endpoints: { syncInterval: `${SYNC_SECONDS}s` },
      billing: { interval: `${BILLS_MINUTES}m`, settleTime: `${SETTLE_MINUTES}m`, timeZone: "Etc/GMT+1" },
      maxConcurrentTasks: 3,
      budget: { monthlyLimit: String(LIMIT), reservePerTask: "2", action: "HoldNew" },
    },
  });
  const day = watched(stage);
  stage.start({ metrics: day.metrics });
  await waitForCondition(stage, "Account", "default", "Ready");
  await morning(stage);
  await stage.pass(30 * MINUTE_MS);
  await afternoon(stage);
  await stage.pass(4 * HOUR_MS);
  await evening(stage);
  await stage.pass(1.5 * HOUR_MS);
  for (const name of ["echo", "large", "paused"]) {
    await stage.patch("GpuEndpoint", name, {
      metadata: { annotations: { "mooring.dev/reconcile-requested-at": "now" } },
    });
  }
  await stage.pass(MINUTE_MS);
  await comeToRest(day);
  return day;
}

/** What happens on a stage from now on. */
export function watched(stage: Stage): Day {
  const metrics = createMetrics({ process: false });
  const contradictions: string[] = [];
  watchStatuses({
    ...stage,
    tell: ({ kind, metadata }, problems) =>
      contradictions.push(`${kind} ${textAt(metadata, "name")}: ${problems.join("; ")}`),
  });
  const writes: string[] = [];
  const jobs = new Map<string, Json>();
  stage.storage.onEvent((kind, { type, object }) => {
    const isNamed = !kind.startsWith("events.");
    writes.push(`${kind}${isNamed ? ` ${textAt(object["metadata"], "name")}` : ""} ${type}`);
    if (/^(?:speech|video)jobs/.test(kind)) jobs.set(textAt(object["metadata"], "uid") ?? "", object);
  });
  return { stage, metrics, contradictions, writes, jobs };
}

/** A moment between two reconciles: lists and bills are read again and again. */
export async function comeToRest({ stage, metrics }: Day): Promise<void> {
  for (let look = 0; look < 100; look++) {
    const series = seriesOf(await metrics.registry.metrics());
    const moving = ["controller_runtime_active_workers", "workqueue_depth", "mooring_service_calls_waiting"];
    if (moving.every((name) => series.sum(name) === 0)) return;
    await stage.pass(REST_LOOK_MS);
  }
}

export async function createStore({ apply }: Stage): Promise<void> {
  const data = { AWS_ACCESS_KEY_ID: base64("id"), AWS_SECRET_ACCESS_KEY: base64("secret") };
  await apply({ apiVersion: "v1", kind: "Secret", metadata: { name: "bucket" }, data });
  await apply(manifest("s3Store", { s3: { credentialsSecretRef: { name: "bucket" } } }, "results"));
}

async function morning(stage: Stage): Promise<void> {
  const { apply } = stage;
  await createStore(stage);
  await waitForCondition(stage, "ArtifactStore", "results", "Ready");
  await apply(manifest("endpoint", { exportTo: { configMap: { name: "address" } } }, "echo"));
  await apply(manifest("endpoint", { workers: { min: 2, max: 3, gpus: 2 } }, "large"));
  await apply(manifest("endpoint", {}, "paused"));
  await apply(manifest("bill", bill, "march"));
  await apply(manifest("bill", { ...bill, ...FIRST_HOUR, refreshInterval: "15m", exportTo: null }, "hour"));
  await apply(manifest("turbo", {}, "greeting"));
  await apply(manifest("turbo", { output, stream: true }, "stream"));
  for (const [index, text] of ["A chapter.", "Another chapter, which is longer."].entries()) {
    await apply(manifest("hd", { text, output }, `chapter-${index}`));
  }
  await apply(manifest("image", { output }, "film"));
  await apply(manifest("reference", { videoToVideo: { parameters: { duration: 10 } } }, "remix"));
  await apply(manifest("hd", { text: "please fail", backoffLimit: 1 }, "failing"));
}

async function afternoon(stage: Stage): Promise<void> {
  const { apply, patch } = stage;
  await patch("GpuEndpoint", "paused", { spec: { suspend: true } });
  await patch("GpuEndpoint", "large", { spec: { workers: { min: 1 } } });
  const [echo] = stage.service.endpoints.all().filter(({ parameters }) => parameters.name === "team-echo");
  if (echo !== undefined)
    stage.service.endpoints.replace(echo, {
      ...echo.parameters,
      workerConfig: { ...echo.parameters.workerConfig, maxNum: 5 },
    });
  await apply(manifest("turbo", { ttlSecondsAfterFinished: 600 }, "passing"));
  await apply(manifest("image", { activeDeadlineSeconds: 60 }, "late"));
  await apply(manifest("hd", { suspend: true }, "held"));
}

async function evening({ apply }: Stage): Promise<void> {
  await apply(manifest("turbo", {}, "evening"));
  const template = { speech: { model: "speech-2.6-hd" } };
  const items = { inline: [{ text: "Once." }, { text: "Twice." }, { text: "Once." }] };
  await apply(manifest("batch", { items, template, parallelism: 2, reuse: "SameRequest" }, "book"));
  const same = { text: "Another chapter, which is longer.", output, reuse: "SameRequest" };
  await apply(manifest("hd", same, "first-time"));
  await apply(manifest("hd", same, "second-time"));
  const input = { audioURL: null, audioFrom: { jobRef: { kind: "SpeechJob", name: "first-time" } } };
  await apply(manifest("reference", { videoToVideo: { input } }, "spoken"));
}
