import { expect, it } from "vitest";
import { createService } from "../../src/simulator/service.ts";
import type { Json } from "./api-server/json.ts";
import { createStorage } from "./api-server/storage.ts";
import { watchStatuses } from "./invariants/statuses.ts";

const STATUS_PATH = "/apis/mooring.dev/v1alpha1/namespaces/team/speechjobs/hello/status";
const at = "1970-01-01T00:00:00Z";
const statusOf = (phase: string, state: string): Json => ({
  phase,
  startTime: at,
  submission: { state },
  timeline: [{ phase: "Submitting", time: at, attempt: 1 }],
  conditions: [
    { type: "Ready", status: "False", reason: "Submitting", message: "is sent", lastTransitionTime: at },
    { type: "Reconciling", status: "True", reason: "Submitting", message: "is sent", lastTransitionTime: at },
  ],
});

it("a status with the accepted request alone is right once after each refusal of a whole status of the same job", () => {
  const storage = createStorage();
  const refusedStatuses = new Set<string>();
  const found: string[] = [];
  const service = createService({ now: () => 0 });
  watchStatuses({ storage, service, refusedStatuses, tell: (_, problems) => found.push(...problems) });
  function findings(): string[] {
    const metadata = { namespace: "team", name: "hello", uid: "1" };
    for (const status of [statusOf("Submitting", "Intended"), statusOf("Halted", "Accepted")]) {
      storage.put("speechjobs.mooring.dev", "team/hello", { kind: "SpeechJob", metadata, status });
    }
    return found.splice(0);
  }
  const wrong = ["Halted comes with Stalled=undefined, not True", "the timeline ends with Submitting, not Halted"];
  expect(findings()).toEqual(wrong);
  refusedStatuses.add(STATUS_PATH.replace("hello", "another"));
  expect(findings()).toEqual(wrong);
  refusedStatuses.add(STATUS_PATH);
  expect(findings()).toEqual([]);
  expect(findings()).toEqual(wrong);
});
