import { describe, expect, it } from "vitest";
import type { ClusterAccount } from "../../../src/api/v1alpha1/account.ts";
import type { GpuEndpoint } from "../../../src/api/v1alpha1/gpu-endpoint.ts";
import { announceKey } from "../../../src/controllers/account/events.ts";
import { forgetDeparted } from "../../../src/controllers/gpu-endpoint/controller.ts";
import { isRetained } from "../../../src/controllers/gpu-endpoint/desired.ts";
import { createEndpointMemories } from "../../../src/controllers/gpu-endpoint/memory.ts";
import { announce } from "../../../src/controllers/jobs/events.ts";
import type { JobStatus } from "../../../src/controllers/jobs/types.ts";
import type { EventRecorder } from "../../../src/runtime/recorder.ts";
import { endpointOf } from "../../support/endpoints.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { videoJobOf } from "../../support/jobs.ts";
import { manifest } from "../../support/manifests.ts";
import { silentLog } from "../../support/scripted-api-server.ts";
import { storedMeta } from "../../support/stored-meta.ts";

function recorded(): { recorder: EventRecorder; events: string[] } {
  const events: string[] = [];
  const add =
    (type: string): EventRecorder["normal"] =>
    (_object, reason, _action, note) =>
      void events.push(`${type} ${reason}: ${note}`);
  return { recorder: { normal: add("Normal"), warning: add("Warning"), flush: async () => {} }, events };
}

describe("given a GpuEndpoint that is deleted", () => {
  const status = { conditions: [], endpointID: "ep-1" };
  const RETAINED =
    "Normal Retained: deletionPolicy is Retain: endpoint ep-1 stays at the service as it is and may continue to cost money";

  /** `present`: UID of the object that has the key now. */
  async function eventsOf(endpoint: GpuEndpoint, present: string | undefined): Promise<string[]> {
    const { recorder, events } = recorded();
    const memories = createEndpointMemories({ clock: createFakeClock(), identity: "one" });
    memories.of(endpoint).retained = isRetained(endpoint) ? endpoint : undefined;
    const deps = { memories, recorder, finalize: async () => undefined };
    const context = { signal: new AbortController().signal, log: silentLog };
    for (const uid of [endpoint.metadata.uid, present, present]) {
      await forgetDeparted(deps, { key: "team/echo" }, uid, context);
      if (uid === endpoint.metadata.uid) expect(events).toEqual([]);
    }
    return events;
  }

  it.each([
    {
      name: "with deletionPolicy Retain",
      endpoint: endpointOf({ deletionPolicy: "Retain" }, { status }),
      events: [RETAINED],
    },
    {
      name: "with the annotation Retain",
      endpoint: endpointOf({}, { status, annotations: { "mooring.dev/deletion-policy": "Retain" } }),
      events: [RETAINED],
    },
    { name: "with deletionPolicy ScaleToZero", endpoint: endpointOf({}, { status }), events: [] },
    { name: "that has no remote endpoint", endpoint: endpointOf({ deletionPolicy: "Retain" }), events: [] },
    {
      name: "that Mooring only observed",
      endpoint: endpointOf({ deletionPolicy: "Retain", managementPolicy: "Observe" }, { status }),
      events: [],
    },
  ])("$name, an event tells once what stays at the service", async ({ endpoint, events }) => {
    expect(await eventsOf(endpoint, undefined)).toEqual(events);
  });

  it("and created again before a reconcile, the event is about the first object", async () => {
    expect(await eventsOf(endpointOf({ deletionPolicy: "Retain" }, { status }), "another")).toEqual([RETAINED]);
  });
});

describe("given an account whose Secret has a key", () => {
  const account: ClusterAccount = {
    apiVersion: "mooring.dev/v1alpha1",
    kind: "ClusterAccount",
    metadata: storedMeta({ name: "default" }),
    spec: manifest("clusterAccount").spec,
  } as ClusterAccount;

  it.each([
    { name: "none was used before", before: undefined, events: 0 },
    { name: "the same was used before", before: "new-key", events: 0 },
    { name: "another was used before", before: "old-key", events: 1 },
  ])("when $name, there are $events events", ({ before, events: count }) => {
    const { recorder, events } = recorded();
    announceKey(recorder, account, before, "new-key");
    expect(events).toHaveLength(count);
    for (const event of events) {
      expect(event).toMatch(/^Normal KeyChanged: The key in Secret \S+ \(\w+\) changed: Mooring uses the new one/);
      expect(event).not.toContain("-key:");
    }
  });
});

describe("given a halted job", () => {
  const status: JobStatus = { phase: "Halted", conditions: [], lastHandledResubmitToken: "1" };
  const eventsAfter = (change: Partial<JobStatus>) => {
    const { recorder, events } = recorded();
    announce({ recorder }, videoJobOf("image", {}, status), { ...status, ...change });
    return events;
  };

  it("when a new token releases it, an event tells that the request is sent again", () => {
    expect(eventsAfter({ phase: "Pending", lastHandledResubmitToken: "2" })).toEqual([
      "Normal Released: Released by the annotation mooring.dev/resubmit-token: the request is sent again, and may be paid for twice",
    ]);
  });

  it("when it stays halted, there is no event", () => expect(eventsAfter({})).toEqual([]));
});
