import { expect, it } from "vitest";
import { countRequests } from "../../../../../src/cli/operate/resolve/sent.ts";
import { createdOf, type Usage } from "../../../../../src/controllers/billing/usage.ts";
import type { Job } from "../../../../../src/controllers/jobs/types.ts";
import { timeZone } from "../../../../../src/provider/money/time-zone.ts";
import { speechJobOf } from "../../../../support/jobs.ts";

const of = { operation: "submitSpeech", day: "2026-03-01", zone: timeZone("Asia/Shanghai") } as const;

function job(name: string, state: "Accepted" | "Unknown", time: string): Job {
  const submission = { id: name, specHash: "0", attempt: 1, state, time };
  const submitTime = state === "Accepted" ? { submitTime: time } : {};
  const { metadata, ...rest } = speechJobOf("hd", {}, { conditions: [], submission, ...submitTime });
  return { ...rest, metadata: { ...metadata, name } };
}

const used = (name: string, change: Partial<Usage> = {}): Usage => ({
  account: "Account/team/default",
  namespace: "team",
  object: `SpeechJob/${name}`,
  created: createdOf(speechJobOf("hd").metadata),
  meter: "model/speech-2.6-hd",
  day: "2026-03-01",
  quantity: 10,
  requests: 1,
  ...change,
});

it("counts what the service accepted on the day: of jobs, and of jobs that are gone, each once", () => {
  const jobs = [
    job("in-usage", "Accepted", "2026-03-01T02:00:00Z"),
    job("too-new-for-usage", "Accepted", "2026-03-01T03:00:00Z"),
    job("the-day-before", "Accepted", "2026-02-28T15:59:59Z"),
    job("same-day-in-shanghai", "Accepted", "2026-02-28T16:00:00Z"),
    job("halted", "Unknown", "2026-03-01T04:00:00Z"),
    job("halted-before", "Unknown", "2026-02-27T04:00:00Z"),
  ];
  const usage = [
    used("in-usage"),
    used("deleted", { requests: 2 }),
    used("another-day", { day: "2026-03-02" }),
    used("another-model", { meter: "model/speech-2.6-turbo" }),
  ];
  expect(countRequests("SpeechJob", jobs, usage, of)).toEqual({ accepted: 5, unknown: 1 });
});
