import { describe, expect, it } from "vitest";
import { gpuEndpointResource, speechJobResource, videoJobResource } from "../../../src/api/v1alpha1/kinds.ts";
import type { Resource } from "../../../src/kube/resource.ts";
import { actionsOf, effectOf, patchOf } from "../../../src/ui/actions.ts";
import type { UiObject } from "../../../src/ui/ui-object.ts";

type Change = { metadata?: Partial<UiObject["metadata"]>; spec?: UiObject["spec"]; status?: UiObject["status"] };

const object = ({ metadata = {}, spec = {}, status = {} }: Change = {}): UiObject => ({
  metadata: {
    name: "greeting",
    namespace: "team",
    uid: "1",
    resourceVersion: "1",
    generation: 1,
    creationTimestamp: "2026-11-01T00:00:00Z",
    ...metadata,
  },
  spec,
  status,
});

const SYNCHRONOUS = { spec: { model: "speech-2.6-turbo" } } as const;
const DELETING = { deletionTimestamp: "2026-11-02T00:00:00Z" };

const TYPED = { now: "now", input: "task-1" };

describe("the actions of an object", () => {
  const cases: { title: string; resource: Resource; change: Change; expected: string[] }[] = [
    {
      title: "a job that runs",
      resource: speechJobResource,
      change: { status: { phase: "Running" } },
      expected: ["reconcile", "pause", "delete"],
    },
    {
      title: "a halted job whose request makes a task",
      resource: videoJobResource,
      change: { status: { phase: "Halted" } },
      expected: ["attach", "resubmit", "reconcile", "suspend", "pause", "delete"],
    },
    {
      title: "a halted job whose request makes no task",
      resource: speechJobResource,
      change: { ...SYNCHRONOUS, status: { phase: "Halted" } },
      expected: ["resubmit", "reconcile", "suspend", "pause", "delete"],
    },
    {
      title: "a job that ended",
      resource: speechJobResource,
      change: { status: { phase: "Succeeded" } },
      expected: ["reconcile", "pause", "delete"],
    },
    {
      title: "a suspended endpoint",
      resource: gpuEndpointResource,
      change: { spec: { suspend: true } },
      expected: ["resume", "reconcile", "pause", "delete"],
    },
    {
      title: "a paused endpoint",
      resource: gpuEndpointResource,
      change: { metadata: { annotations: { "mooring.dev/paused": "true" } } },
      expected: ["unpause", "suspend", "delete"],
    },
    {
      title: "an endpoint that is being deleted",
      resource: gpuEndpointResource,
      change: { metadata: DELETING },
      expected: ["release"],
    },
    { title: "a job that is being deleted", resource: speechJobResource, change: { metadata: DELETING }, expected: [] },
  ];
  it.each(cases)("$title", ({ resource, change, expected }) => {
    expect(actionsOf(resource, object(change)).map(({ name }) => name)).toEqual(expected);
  });

  it("come with the same as kubectl commands", () => {
    const commands = actionsOf(speechJobResource, object({ ...SYNCHRONOUS, status: { phase: "Halted" } }));
    expect(commands.map(({ command }) => command)).toEqual([
      'kubectl annotate speechjobs.mooring.dev -n team greeting mooring.dev/resubmit-token="$(date +%s)" --overwrite',
      'kubectl annotate speechjobs.mooring.dev -n team greeting mooring.dev/reconcile-requested-at="$(date +%s)" --overwrite',
      `kubectl patch speechjobs.mooring.dev -n team greeting --type=merge -p '{"spec":{"suspend":true}}'`,
      'kubectl annotate speechjobs.mooring.dev -n team greeting mooring.dev/paused="true" --overwrite',
      "kubectl delete speechjobs.mooring.dev -n team greeting",
    ]);
    const paused = object({ metadata: { annotations: { "mooring.dev/paused": "true" } } });
    expect(actionsOf(speechJobResource, paused).find(({ name }) => name === "unpause")?.command).toBe(
      "kubectl annotate speechjobs.mooring.dev -n team greeting mooring.dev/paused-",
    );
  });

  it("ask before what costs or stops something", () => {
    const asked = actionsOf(speechJobResource, object({ ...SYNCHRONOUS, status: { phase: "Halted" } })).filter(
      ({ confirm }) => confirm,
    );
    expect(asked.map(({ name }) => name)).toEqual(["resubmit", "suspend", "pause", "delete"]);
  });

  it("an action that the object does not have now has no effect", () => {
    expect(effectOf("resubmit", "SpeechJob", object({ status: { phase: "Running" } }), TYPED)).toBeUndefined();
    expect(effectOf("constructor", "SpeechJob", object(), TYPED)).toBeUndefined();
  });

  it("one needs what the user has to type", () => {
    const halted = object({ status: { phase: "Halted" } });
    expect(effectOf("attach", "VideoJob", halted, { now: "now", input: " " })).toBeUndefined();
    expect(effectOf("attach", "VideoJob", halted, TYPED)).toEqual({
      kind: "Annotate",
      annotations: { "mooring.dev/attach-task": "task-1", "mooring.dev/reconcile-requested-at": "now" },
      exact: true,
    });
  });

  const patchFor = (action: string, halted: UiObject) => {
    const effect = effectOf(action, "VideoJob", halted, TYPED);
    if (effect === undefined || effect.kind === "Delete") throw new Error("a halted job has this action");
    return patchOf(effect, halted.metadata);
  };

  it("a patch names the UID: an object of the same name that was made since refuses it", () => {
    expect(patchFor("reconcile", object({ status: { phase: "Halted" } }))).toEqual({
      metadata: { uid: "1", annotations: { "mooring.dev/reconcile-requested-at": "now" } },
    });
  });

  it("a decision about a paid request names the version that the user saw: after another decision it is a conflict", () => {
    const annotations = { "mooring.dev/attach-task": "other" };
    expect(patchFor("resubmit", object({ metadata: { annotations }, status: { phase: "Halted" } }))).toEqual({
      metadata: {
        uid: "1",
        resourceVersion: "1",
        annotations: { "mooring.dev/attach-task": null, "mooring.dev/resubmit-token": "now" },
      },
    });
  });

  it.each<{ title: string; kind: string; action: string; change: Change; text: RegExp }>([
    {
      title: "an endpoint whose workers are scaled to zero",
      kind: "GpuEndpoint",
      action: "delete",
      change: { status: { endpointID: "ep-1" } },
      text: /sets the workers of endpoint ep-1 to 0\/0/,
    },
    {
      title: "an endpoint that stays",
      kind: "GpuEndpoint",
      action: "delete",
      change: { spec: { deletionPolicy: "Retain" }, status: { endpointID: "ep-1", workers: { total: 2 } } },
      text: /Endpoint ep-1 stays\. Its 2 workers go on and cost money/,
    },
    {
      title: "an endpoint that is deleted at the service",
      kind: "GpuEndpoint",
      action: "delete",
      change: { spec: { deletionPolicy: "Delete" }, status: { endpointID: "ep-1" } },
      text: /deletes endpoint ep-1 at the service/,
    },
    {
      title: "a job that is not sent yet",
      kind: "SpeechJob",
      action: "delete",
      change: { status: { phase: "Pending" } },
      text: /nothing is paid/,
    },
    {
      title: "a job whose task runs",
      kind: "VideoJob",
      action: "delete",
      change: { status: { phase: "Running", taskID: "t-1" } },
      text: /Task t-1 goes on at the service and is paid for/,
    },
    {
      title: "a halted job that is sent again",
      kind: "VideoJob",
      action: "resubmit",
      change: {
        status: { phase: "Halted", submission: { attempt: 1, state: "Unknown", time: "2026-11-01T00:00:00Z" } },
      },
      text: /as attempt 2\. If the service accepted the one of 2026-11-01T00:00:00Z, you pay twice/,
    },
  ])("say what happens at the service to $title", ({ kind, action, change, text }) => {
    const resource = [gpuEndpointResource, speechJobResource, videoJobResource].find((one) => one.kind === kind);
    if (resource === undefined) throw new Error(`no resource of ${kind}`);
    expect(actionsOf(resource, object(change)).find(({ name }) => name === action)?.confirm).toMatch(text);
  });
});
