import { isDeepStrictEqual } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import type { FaultInput } from "../../src/simulator/faults.ts";
import { kstatusOf } from "../support/kstatus.ts";
import { manifest, type Variant } from "../support/manifests.ts";
import {
  type AnswerRow,
  type Outcome,
  POLL_ANSWERS,
  type PollRow,
  SUBMIT_ANSWERS,
} from "../support/service-answers.ts";
import {
  type AnyObject,
  closeWorldsAfterAll,
  condition,
  disposableWorld,
  eventually,
  type World,
} from "../support/world.ts";

closeWorldsAfterAll();

type Way = { variant: Variant; operation: string; textOf: (text: string) => Record<string, unknown> };
const WAYS: Record<string, Way> = {
  hd: { variant: "hd", operation: "submitSpeech", textOf: (text) => ({ text }) },
  turbo: { variant: "turbo", operation: "synthesizeSpeech", textOf: (text) => ({ text }) },
  image: {
    variant: "image",
    operation: "submitImageToVideo",
    textOf: (text) => ({ imageToVideo: { prompt: text } }),
  },
  reference: {
    variant: "reference",
    operation: "submitVideoToVideo",
    textOf: (text) => ({ videoToVideo: { input: { prompt: text } } }),
  },
};

/** One job of the table: a name that is also its text, its faults, and what comes of it. */
type Case = {
  name: string;
  title: string;
  way: Way;
  spec: Record<string, unknown>;
  faults: FaultInput[];
  account: Record<string, unknown>;
  expected: Outcome;
  row: PollRow;
};

/** What was answered before the row's answer: from which state the paid request goes out. */
const BEFORE: Record<
  string,
  { faults: (way: Way, name: string) => FaultInput[]; spec: Record<string, unknown>; attempts: number; calls: number }
> = {
  "first attempt": { faults: () => [], spec: {}, attempts: 0, calls: 0 },
  "sent again after an unknown submission": {
    faults: ({ operation }, match) => [{ operation, match, kind: "resetAfter" }],
    spec: { onSubmissionUnknown: "Resubmit" },
    attempts: 1,
    calls: 1,
  },
  "paid again after a failed task": {
    faults: ({ operation }, match) => [
      { operation, match, kind: "status", status: 200, body: { task_id: `${match}-first` } },
      {
        operation: "getTaskResult",
        match: `${match}-first`,
        kind: "status",
        status: 200,
        probability: 1,
        body: { task: { status: "TASK_STATUS_FAILED" } },
      },
    ],
    spec: { backoffLimit: 1 },
    attempts: 1,
    calls: 1,
  },
};

function submitCase(row: AnswerRow, index: number, way: Way, before: keyof typeof BEFORE): Case {
  const { faults, spec, attempts, calls } = BEFORE[before] as (typeof BEFORE)[string];
  const name = `submit-${index}-${way.operation.toLowerCase()}-${Object.keys(BEFORE).indexOf(before)}`;
  // Under Resubmit what nobody knows is sent once more, and then all is well. What the service accepted is not.
  const again = row.expected.reason === "SubmissionUnknown" && "onSubmissionUnknown" in spec;
  const base: Outcome = again
    ? { phase: "Succeeded", reason: "Completed", kstatus: "Current", attempts: 2, calls: 2 }
    : row.expected;
  const paid = base.attempts ?? 0;
  return {
    name,
    title: `${way.operation}, ${before}: ${row.name}`,
    way,
    spec: { ...way.textOf(name), ...spec },
    faults: [
      ...faults(way, name),
      ...row.faults.map((fault): FaultInput => ({ ...fault, operation: way.operation, match: name })),
    ],
    account: row.account ?? {},
    expected: {
      ...base,
      ...(paid + attempts === 0 ? {} : { attempts: paid + attempts }),
      calls: base.calls + calls,
    },
    row,
  };
}

function pollCase(row: PollRow, index: number, way: Way): Case {
  const name = `poll-${index}-${way.operation.toLowerCase()}`;
  const taskID = `task-of-${name}`;
  return {
    name,
    title: `${way.operation}, task: ${row.name}`,
    way,
    spec: way.textOf(name),
    faults: [
      { operation: way.operation, match: name, kind: "status", status: 200, body: { task_id: taskID } },
      ...row.faults.map((fault): FaultInput => ({ ...fault, operation: "getTaskResult", match: taskID })),
    ],
    account: row.account ?? {},
    expected: row.expected.phase === "Failed" ? { ...row.expected, attempts: 1 } : row.expected,
    row,
  };
}

const ways = (...names: string[]) => names.flatMap((name) => WAYS[name] ?? []);
const CASES: Case[] = [
  ...SUBMIT_ANSWERS.flatMap((row, index) => [
    ...ways("hd", "turbo", "image", "reference").map((way) => submitCase(row, index, way, "first attempt")),
    ...ways("image").map((way) => submitCase(row, index, way, "sent again after an unknown submission")),
    ...ways("hd").map((way) => submitCase(row, index, way, "paid again after a failed task")),
  ]),
  ...POLL_ANSWERS.flatMap((row, index) => ways("hd", "reference").map((way) => pollCase(row, index, way))),
];

describe("every state of a job, every answer of the service", () => {
  let world: World;
  let calls: Map<string, number>;
  const jobs = new Map<string, AnyObject>();

  beforeAll(async () => {
    world = await disposableWorld("answers", { account: null });
    await world.control(
      "POST",
      "/__faults",
      CASES.flatMap(({ faults }) => faults),
    );
    // An account for each job: a refused key or a breaker of one is nothing to the others.
    await inParallel(CASES, async ({ name, account }) => {
      const spec = {
        baseURL: world.simulator.url,
        apiKeySecretRef: { name: "key", key: "apiKey" },
        rateLimit: { requestsPerSecond: 1000, burst: 1000 },
        ...account,
      };
      await world.apply({ kind: "Account", metadata: { name }, spec });
    });
    await world.startOperator();
    await inParallel(CASES, async ({ name, way, spec }) => {
      await world.apply(manifest(way.variant, { ...spec, accountRef: { kind: "Account", name } }, name));
    });
    await eventually(
      "all jobs are where they belong",
      async () => {
        for (const kind of ["SpeechJob", "VideoJob"]) {
          for (const job of await world.list(kind)) if (!isKept(job.metadata.name)) jobs.set(job.metadata.name, job);
        }
        return CASES.every(
          ({ name, expected }) => jobs.get(name)?.status?.phase === expected.phase && settled(name, expected),
        );
      },
      240_000,
    ).catch(() => undefined); // each case says below what it is instead
    calls = new Map();
    for (const { operation, body } of await world.audit()) {
      const text = JSON.stringify(body ?? "");
      const one = CASES.find(({ name, way }) => way.operation === operation && text.includes(`"${name}"`));
      if (one !== undefined) calls.set(one.name, (calls.get(one.name) ?? 0) + 1);
    }
  }, 400_000);

  /** A job whose polls fail shows that after a minute. Until the other jobs have settled, its earlier status counts. */
  const isKept = (name: string) => {
    const { expected, row } = CASES.find((one) => one.name === name) ?? {};
    const shown = jobs.get(name)?.status;
    if (expected === undefined || shown?.phase !== expected.phase || !settled(name, expected)) return false;
    const isComplete = Object.entries(row?.status ?? {}).every(([field, value]) =>
      isDeepStrictEqual(shown[field], value),
    );
    return isComplete && ["Queued", "Running"].includes(expected.phase);
  };
  const settled = (name: string, { reason }: Outcome) => {
    const job = jobs.get(name);
    return job !== undefined && condition(job, "Ready")?.reason === reason;
  };

  it.each(CASES.map((one) => [one.title, one] as const))("%s", (_title, { name, expected, row }) => {
    const job = jobs.get(name);
    if (job?.status?.conditions === undefined) throw new Error(`${name} has no status`);
    const status = { ...job.status, conditions: job.status.conditions } as Parameters<typeof kstatusOf>[0]["status"];
    const shown: Outcome = {
      phase: String(job.status.phase),
      reason: condition(job, "Ready")?.reason ?? "",
      kstatus: kstatusOf({ metadata: job.metadata, ...(status === undefined ? {} : { status }) }),
      ...(job.status.attempts === undefined ? {} : { attempts: Number(job.status.attempts) }),
      calls: calls.get(name) ?? 0,
    };
    expect(shown, JSON.stringify(job.status, null, 1)).toEqual(expected);
    if (row.status !== undefined) expect(job.status).toMatchObject(row.status);
    if (row.lifeSeconds !== undefined) {
      const lifeMs = Date.parse(String(job.status.resultsExpireAt)) - Date.parse(String(job.status.completionTime));
      expect(Math.abs(lifeMs / 1000 - row.lifeSeconds)).toBeLessThanOrEqual(5);
    }
  });
});

/** Twenty at a time. */
async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: 20 }, worker));
}
