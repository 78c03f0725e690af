import { describe, expect, it } from "vitest";
import { costsBetween } from "../../../bench/costs.ts";
import { dividedBy, sumOf } from "../../../bench/counts.ts";
import { beyondPolls, duplicatesIn, quantile } from "../../../bench/jobs.ts";
import { metricBy } from "../../../bench/metric.ts";
import { callsIn } from "../../../bench/remotes.ts";
import { peaksOf } from "../../../bench/stream.ts";

it("the costs between two observations have what changed", () => {
  const before = { cpuSeconds: 1, reconciles: 10, apiRequests: { get: 2, patch: 5 }, remoteCalls: {} };
  const after = { cpuSeconds: 1.5, reconciles: 14, apiRequests: { get: 2, patch: 9 }, remoteCalls: { update: 4 } };
  expect(costsBetween(before, after)).toEqual({
    cpuSeconds: 0.5,
    reconciles: 4,
    apiRequests: { patch: 4 },
    remoteCalls: { update: 4 },
  });
});

it("API requests are counted by verb, over all status codes and hosts", () => {
  const text = [
    'rest_client_requests_total{method="patch",code="200",host="a:1"} 3',
    'rest_client_requests_total{method="patch",code="409",host="a:1"} 1',
    'rest_client_requests_total{code="200",method="get",host="a:1"} 2',
    'rest_client_requests_total{method="watch",code="200",host="a:1"} 0',
    'rest_client_requests_total_created{method="patch"} 9',
  ].join("\n");
  expect(metricBy(text, "rest_client_requests_total", "method")).toEqual({ patch: 4, get: 2 });
});

it("the numbers of objects and the time of the first call are no calls", () => {
  expect(callsIn({ create: 3, update: 2, endpoints: 100, tasks: 5, duplicates: 1, first_call_ms: 1e12 })).toBe(5);
});

it("counts add up and are divided by name", () => {
  expect(sumOf({ get: 1, patch: 3 })).toBe(4);
  expect(dividedBy({ get: 1, patch: 3 }, 2)).toEqual({ get: 0.5, patch: 1.5 });
});

describe("the quantile of sorted values", () => {
  const values = Array.from({ length: 100 }, (_, index) => index + 1);
  it.each([
    { share: 0.5, value: 51 },
    { share: 0.95, value: 96 },
    { share: 1, value: 100 },
  ])("$share is $value", ({ share, value }) => {
    expect(quantile(values, share)).toBe(value);
  });
});

it("what comes beyond the poll interval counts from the last poll of a task", () => {
  const poll = (task_id: string, seconds: number) => ({
    query: { task_id },
    time: new Date(seconds * 1_000).toISOString(),
  });
  const polls = [poll("a", 1), poll("b", 2), poll("a", 3), poll("unfinished", 9)];
  const ended = new Map([
    ["a", 3_040],
    ["b", 2_012],
  ]);
  expect(beyondPolls(polls, ended)).toEqual([12, 40]);
});

it("a second paid request for a job is a duplicate; a refused one is none", () => {
  const call = (prompt: string, effect?: string) => ({ query: {}, body: { prompt }, ...(effect && { effect }) });
  const calls = [call("job-0", "TaskSubmitted"), call("job-1"), call("job-1", "TaskSubmitted")];
  expect(duplicatesIn(calls)).toBe(0);
  expect(duplicatesIn([...calls, call("job-0", "TaskSubmitted")])).toBe(1);
});

it("each part of the samples has its peak", () => {
  expect(peaksOf([1, 5, 2, 8, 3, 4], 3)).toEqual([5, 8, 4]);
});
