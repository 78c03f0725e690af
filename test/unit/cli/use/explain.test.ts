import { describe, expect, it } from "vitest";
import { accountResource, gpuEndpointResource, videoJobResource } from "../../../../src/api/v1alpha1/kinds.ts";
import { explain } from "../../../../src/cli/use/explain.ts";
import type { KubeEvent } from "../../../../src/describe/history.ts";
import type { AnyObject } from "../../../../src/describe/object-state.ts";
import type { Condition } from "../../../../src/kube/types.ts";
import { storedMeta } from "../../../support/stored-meta.ts";

const condition = (type: string, status: Condition["status"], reason: string, message: string): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: "2026-03-01T00:00:00Z",
});

const objectWith = (...conditions: Condition[]): AnyObject => ({
  apiVersion: "mooring.dev/v1alpha1",
  kind: "GpuEndpoint",
  metadata: storedMeta({ name: "echo" }),
  spec: {},
  status: { conditions },
});

describe("explain", () => {
  it("names a condition that is wrong beside the one that the headline is about", () => {
    const object = objectWith(
      condition("Stalled", "True", "SubmissionUnknown", "the outcome is unknown"),
      condition("Ready", "False", "SubmissionUnknown", "the outcome is unknown"),
      condition("TaskAttached", "False", "TaskTaken", "Task t-1: VideoJob team/early has it"),
    );
    expect(explain(videoJobResource, object, []).otherProblems).toEqual([
      { condition: "TaskAttached=False", reason: "TaskTaken", message: "Task t-1: VideoJob team/early has it" },
    ]);
  });

  it("names a drift of an endpoint that serves, and nothing of one that is as its spec says", () => {
    const ready = condition("Ready", "True", "Serving", "the endpoint serves");
    const drifted = condition("Synced", "False", "DriftFight", "Another client keeps reverting image");
    const synced = condition("Synced", "True", "InSync", "the remote endpoint matches the spec");
    const exceeded = condition("BudgetExceeded", "False", "WithinBudget", "5 yuan are left");
    expect(explain(gpuEndpointResource, objectWith(ready, drifted), []).otherProblems).toHaveLength(1);
    expect(explain(gpuEndpointResource, objectWith(ready, synced, exceeded), []).otherProblems).toEqual([]);
  });

  it("shows a message once: an event with the same message has its reason alone", () => {
    const halted = objectWith(condition("Stalled", "True", "SubmissionUnknown", "the outcome is unknown"));
    const event = (reason: string, note: string): KubeEvent => ({
      ...{ apiVersion: "events.k8s.io/v1", kind: "Event", spec: {}, metadata: storedMeta({ name: reason }) },
      ...{ type: "Warning", reason, note, eventTime: "2026-03-01T01:00:00Z" },
    });
    const events = [event("SubmissionUnknown", "the outcome is unknown"), event("Retrying", "HTTP 503")];
    const { message, history } = explain(videoJobResource, halted, events);
    expect(message).toBe("the outcome is unknown");
    expect(history.filter(({ what }) => what === "Event").map(({ text }) => text)).toEqual([
      "Warning SubmissionUnknown",
      "Warning Retrying: HTTP 503",
    ]);
  });

  it("shows which process of the operator serves an account, and that it released it", () => {
    const server = { namespace: "mooring-system", lease: "mooring-0", since: "2026-03-01T01:00:00Z" };
    const historyWith = (change: { released?: string }) => {
      const account = { ...objectWith(), kind: "Account", status: { server: { ...server, ...change } } };
      return explain(accountResource, account, []).history.filter(({ what }) => what === "Server");
    };
    const served = { time: server.since, what: "Server", text: "process mooring-system/mooring-0 serves the account" };
    expect(historyWith({})).toEqual([served]);
    const released = "2026-03-01T02:00:00Z";
    expect(historyWith({ released })).toEqual([
      served,
      { time: released, what: "Server", text: "process mooring-system/mooring-0 released it" },
    ]);
    expect(historyWith({ released: server.since })).toEqual([
      { ...served, text: "process mooring-system/mooring-0 probed the account, which no object needed" },
    ]);
  });
});
