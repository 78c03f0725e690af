import { describe, expect, it } from "vitest";
import { accountSpecSchema } from "../../../../src/api/v1alpha1/account.ts";
import { restoredTasks, shownUnbilled } from "../../../../src/controllers/account/unbilled.ts";
import type { EndedSince } from "../../../../src/controllers/jobs/tasks.ts";
import type { Unbilled } from "../../../../src/submission/reservations.ts";
import { START } from "../../../support/fake-clock.ts";
import { manifest } from "../../../support/manifests.ts";

const HOUR_MS = 3_600_000;
const unbilled: Unbilled = {
  asOf: START - HOUR_MS,
  tasks: [
    { operation: "submitSpeech", count: 2, lastEnd: START - 2 * HOUR_MS },
    { operation: "createEndpoint", count: 1, lastEnd: START - 3 * HOUR_MS },
  ],
};

function restored(action: "Warn" | "HoldNew", record: Unbilled | undefined) {
  const asked: EndedSince[] = [];
  const budget = { monthlyLimit: "5", action };
  const spec = accountSpecSchema.parse(manifest("account", { budget, billing: { settleTime: "6h" } }).spec);
  const tasks = record === undefined ? {} : { tasks: { unbilled: shownUnbilled(record) } };
  const found = restoredTasks(
    { spec, status: { conditions: [], ...tasks } },
    (since) => {
      asked.push(since);
      return [{ operation: "submitSpeech", end: "Seen", agoMs: 5 }];
    },
    START,
  );
  return { asked, found: found.map(({ operation, agoMs }) => `${operation} ${agoMs}`) };
}

describe("tasks that ended before this process", () => {
  it("are those of the status, and those of jobs that ended later", () => {
    expect(restored("HoldNew", unbilled)).toEqual({
      asked: [{ now: START, settleMs: 6 * HOUR_MS, asOf: START - HOUR_MS }],
      found: [
        `submitSpeech ${2 * HOUR_MS}`,
        `submitSpeech ${2 * HOUR_MS}`,
        `createEndpoint ${3 * HOUR_MS}`,
        "submitSpeech 5",
      ],
    });
  });

  it("are those of jobs that ended lately, when the status has none", () => {
    expect(restored("HoldNew", undefined)).toMatchObject({
      asked: [{ asOf: START - 15 * 60_000 }],
      found: ["submitSpeech 5"],
    });
  });

  it("reserve nothing when the budget holds nothing back", () => {
    expect(restored("Warn", unbilled)).toEqual({ asked: [], found: [] });
  });
});
