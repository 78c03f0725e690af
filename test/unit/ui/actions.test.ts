import { describe, expect, it } from "vitest";
import { gpuEndpointResource, speechJobResource } from "../../../src/api/v1alpha1/kinds.ts";
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

const DELETING = { deletionTimestamp: "2026-11-02T00:00:00Z" };

describe("the actions of an object", () => {
  const cases: { title: string; resource: Resource; change: Change; expected: string[] }[] = [
    {
      title: "a job that runs",
      resource: speechJobResource,
      change: { status: { phase: "Running" } },
      expected: ["reconcile", "suspend", "pause", "delete"],
    },
    {
      title: "a halted job",
      resource: speechJobResource,
      change: { status: { phase: "Halted" } },
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
      expected: ["reconcile", "resume", "pause", "delete"],
    },
    {
      title: "a paused endpoint",
      resource: gpuEndpointResource,
      change: { metadata: { annotations: { "mooring.dev/paused": "true" } } },
      expected: ["suspend", "unpause", "delete"],
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
    const commands = actionsOf(speechJobResource, object({ status: { phase: "Halted" } }));
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
    const asked = actionsOf(speechJobResource, object({ status: { phase: "Halted" } })).filter(
      ({ confirm }) => confirm,
    );
    expect(asked.map(({ name }) => name)).toEqual(["resubmit", "suspend", "pause", "delete"]);
  });

  it("an action that the object does not have now has no effect", () => {
    expect(effectOf("resubmit", "SpeechJob", object({ status: { phase: "Running" } }), "1")).toBeUndefined();
    expect(effectOf("constructor", "SpeechJob", object(), "1")).toBeUndefined();
  });

  it("a patch names the UID: an object of the same name that was made since refuses it", () => {
    const effect = effectOf("resubmit", "SpeechJob", object({ status: { phase: "Halted" } }), "now");
    if (effect === undefined || effect.kind === "Delete") throw new Error("a halted job has this action");
    expect(patchOf(effect, "1")).toEqual({
      metadata: { uid: "1", annotations: { "mooring.dev/resubmit-token": "now" } },
    });
  });
});
