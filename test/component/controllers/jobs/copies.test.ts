import { expect, it } from "vitest";
import type { JobResult } from "../../../../src/api/v1alpha1/job.ts";
import { ArtifactError } from "../../../../src/artifacts/errors.ts";
import type { ArtifactStoreHandle } from "../../../../src/artifacts/types.ts";
import { anyAddress } from "../../../../src/base/address-guard.ts";
import { createCopies, DELETED_COPY_MS } from "../../../../src/controllers/jobs/copies.ts";
import { copyResults, taskRefresh } from "../../../../src/controllers/jobs/copy-results.ts";
import type { CopyEnd } from "../../../../src/controllers/jobs/types.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { videoJobOf } from "../../../support/jobs.ts";
import { accountAt, type ServiceAnswer, scriptedService } from "../../../support/service-account.ts";

const LATER = "2026-03-01T01:00:00Z";
const AGAIN = "2026-03-02T00:00:00Z";
const EARLIER = "2026-02-28T23:00:00Z";
const { signal } = new AbortController();

const result = (url: string, expiresAt: string): JobResult => ({ kind: "Video", url, type: "mp4", expiresAt });

/** Copies a job's results from a source that refuses, or does not answer, some URLs. */
async function copied(options: {
  results: JobResult[];
  refused?: string[];
  silent?: string[];
  refresh?: () => Promise<JobResult[]>;
}): Promise<{ end: CopyEnd; tried: string[]; asked: number }> {
  const tried: string[] = [];
  let asked = 0;
  const store: Pick<ArtifactStoreHandle, "copy"> = {
    copy: async (url) => {
      tried.push(url);
      if (options.refused?.includes(url)) throw new ArtifactError("SourceGone", `${url} answers HTTP 403`);
      if (options.silent?.includes(url)) throw new ArtifactError("SourceUnreachable", `${url} does not answer`);
      return { uri: `s3://results/${url}`, bytes: 1, sha256: "" };
    },
  };
  const { refresh } = options;
  const route = {
    store: store as ArtifactStoreHandle,
    lookup: anyAddress,
    clock: createFakeClock(),
    refresh:
      refresh &&
      (() => {
        asked += 1;
        return refresh();
      }),
  };
  const job = videoJobOf(
    "image",
    { output: { storeRef: { name: "results" } } },
    { conditions: [], results: options.results },
  );
  const end = await copyResults(job, route, { bytes: 0, totalBytes: undefined, urgent: false }, signal);
  return { end, tried, asked };
}

it("the copy of a deleted job ends after ten minutes, and a slow source can end it before", async () => {
  const clock = createFakeClock();
  const copies = createCopies({ clock, random: () => 0.5 });
  copies.begin(
    "u",
    () => {},
    (_copy, ending) =>
      new Promise((resolve) => {
        const end: CopyEnd = { kind: "Failed", results: [], reason: "Retrying", message: "ended", stalled: false };
        ending.addEventListener("abort", () => resolve(end));
      }),
  );
  await clock.advance(24 * 3_600_000);
  expect(copies.find("u")).toMatchObject({ urgent: false });
  copies.hurry("u");
  copies.hurry("u");
  expect(copies.find("u")?.urgent).toBe(true);
  await clock.advance(DELETED_COPY_MS - 1);
  expect(copies.find("u")?.end).toBeUndefined();
  await clock.advance(1);
  expect(copies.find("u")?.end).toMatchObject({ kind: "Failed" });
  expect(clock.timers()).toBe(0);
});

it("a URL that works needs no other", async () => {
  const { end, asked } = await copied({
    results: [result("a", LATER)],
    refresh: async () => [result("b", AGAIN)],
  });
  expect(end).toMatchObject({ kind: "Stored", results: [{ url: "a", artifact: { uri: "s3://results/a" } }] });
  expect(asked).toBe(0);
});

it("an address that is no link is copied from once the guard allows it, and is replaced by what the task shows", async () => {
  const named: JobResult = { kind: "Video", address: "a", type: "mp4", expiresAt: LATER };
  expect((await copied({ results: [named] })).end).toMatchObject({ kind: "Stored", results: [{ address: "a" }] });
  const { end, tried } = await copied({
    results: [named],
    refused: ["a"],
    refresh: async () => [result("b", AGAIN)],
  });
  expect(tried).toEqual(["a", "b"]);
  expect(end).toMatchObject({ results: [{ url: "b", address: undefined }] });
});

it("a refused URL is replaced by the one that the task has now", async () => {
  const { end, tried, asked } = await copied({
    results: [result("a", LATER), result("x", LATER)],
    refused: ["a", "x"],
    refresh: async () => [result("b", AGAIN), result("y", AGAIN)],
  });
  expect(tried).toEqual(["a", "b", "y"]);
  expect(asked).toBe(1);
  expect(end).toMatchObject({ kind: "Stored", results: [{ url: "b", expiresAt: AGAIN }, { url: "y" }] });
});

it("an expired URL is not tried before the task is asked", async () => {
  const { tried } = await copied({ results: [result("a", EARLIER)], refresh: async () => [result("b", AGAIN)] });
  expect(tried).toEqual(["b"]);
});

it("an expired URL that the task shows again is tried once more", async () => {
  const { end } = await copied({ results: [result("a", EARLIER)], refresh: async () => [result("a", AGAIN)] });
  expect(end).toMatchObject({ kind: "Stored", results: [{ url: "a", expiresAt: AGAIN }] });
});

it("a store or source that does not answer is no reason to ask the task", async () => {
  const { end, asked } = await copied({
    results: [result("a", LATER)],
    silent: ["a"],
    refresh: async () => [result("b", AGAIN)],
  });
  expect(end).toMatchObject({ kind: "Failed", reason: "Retrying" });
  expect(asked).toBe(0);
});

it.each<{ what: string; refresh?: () => Promise<JobResult[]>; problem?: string; expiresAt: string; url: string }>([
  { what: "without a task", url: "a", expiresAt: EARLIER },
  {
    what: "whose task shows the same URL",
    refresh: async () => [result("a", AGAIN)],
    url: "a",
    expiresAt: EARLIER,
  },
  {
    what: "whose task shows another one that is refused too",
    refresh: async () => [result("b", AGAIN)],
    url: "b",
    expiresAt: AGAIN,
  },
  {
    what: "whose task cannot be asked now",
    refresh: () => Promise.reject(new Error("the service is away")),
    problem: "the task shows no other URL: the service is away",
    url: "a",
    expiresAt: EARLIER,
  },
  {
    what: "whose task shows more results than before",
    refresh: async () => [result("a", AGAIN), result("b", AGAIN)],
    problem: "the task shows no other URL: it has 2 results, not 1",
    url: "a",
    expiresAt: EARLIER,
  },
])("an expired, refused URL $what is tried again later", async ({ refresh, problem = "", url, expiresAt }) => {
  const { end } = await copied({
    results: [result("a", EARLIER)],
    refused: ["a", "b"],
    ...(refresh === undefined ? {} : { refresh }),
  });
  expect(end).toMatchObject({
    kind: "Failed",
    stalled: true,
    reason: "ResultUnavailable",
    message: expect.stringContaining(problem),
    results: [{ url, expiresAt }],
  });
});

it.each<{ what: string; refresh?: () => Promise<JobResult[]>; reason: string }>([
  { what: "without a task", reason: "ResultUnavailable" },
  { what: "whose task shows it again", refresh: async () => [result("a", AGAIN)], reason: "Retrying" },
])("an expired URL $what, whose source does not answer: $reason", async ({ refresh, reason }) => {
  const { end } = await copied({
    results: [result("a", EARLIER)],
    silent: ["a"],
    ...(refresh === undefined ? {} : { refresh }),
  });
  expect(end).toMatchObject({ kind: "Failed", reason, stalled: reason !== "Retrying" });
});

it.each<{ what: string; answer: ServiceAnswer; expected: unknown }>([
  {
    what: "results",
    answer: {
      body: {
        task: { status: "TASK_STATUS_SUCCEED" },
        videos: [{ video_url: "https://b", video_url_ttl: "60", video_type: "mp4" }],
      },
    },
    expected: [{ kind: "Video", url: "https://b" }],
  },
  {
    what: "success without results",
    answer: { body: { task: { status: "TASK_STATUS_SUCCEED" } } },
    expected: "the service shows it as TASK_STATUS_SUCCEED, without results",
  },
  {
    what: "that the task is unknown",
    answer: { status: 404, body: { code: 404, reason: "TASK_NOT_FOUND", message: "no" } },
    expected: "TASK_NOT_FOUND",
  },
  {
    what: "another status",
    answer: { body: { task: { status: "TASK_STATUS_QUEUED" } } },
    expected: "the service shows it as TASK_STATUS_QUEUED",
  },
  {
    what: "another task",
    answer: {
      body: { task: { task_id: "other", status: "TASK_STATUS_SUCCEED" }, videos: [{ video_url: "https://b" }] },
    },
    expected: "the service shows task other instead",
  },
  { what: "a gateway's page", answer: { status: 502, body: "<html>" }, expected: "gateway" },
])("a task that answers with $what", async ({ answer, expected }) => {
  const service = await scriptedService(() => answer);
  const submission = { id: "i", specHash: "h", attempt: 1, state: "Accepted", time: "2026-03-01T00:00:00Z" } as const;
  const bound = { kind: "Account", name: "default", baseURL: service.url } as const;
  const job = videoJobOf("image", {}, { conditions: [], taskID: "task-1", submission, account: bound });
  const asked = taskRefresh(job, accountAt(service.url))?.(signal);
  if (typeof expected === "string") await expect(asked).rejects.toThrow(expected);
  else expect(await asked).toMatchObject(expected as object);
});

it("another service is not asked for the task, and results of no task have none", async () => {
  const service = await scriptedService(() => ({}));
  const submission = { id: "i", specHash: "h", attempt: 1, state: "Accepted", time: "2026-03-01T00:00:00Z" } as const;
  const bound = { kind: "Account", name: "default", baseURL: "https://former.example.com" } as const;
  const job = videoJobOf("image", {}, { conditions: [], taskID: "task-1", submission, account: bound });
  await expect(taskRefresh(job, accountAt(service.url))?.(signal)).rejects.toThrow(/former.example.com/);
  expect(service.requests).toEqual([]);
  expect(taskRefresh(videoJobOf("image", {}, { conditions: [], submission }), accountAt(service.url))).toBeUndefined();
});
