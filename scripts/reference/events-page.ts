import { EVENTS_AT_ONCE, EVENTS_PER_SECOND, QUEUE_LENGTH } from "../../src/runtime/recorder.ts";
import { code, markdownTable, pageHead } from "./table.ts";

export type DocumentedEvent = { kind: string; type: "Normal" | "Warning"; reason: string; when: string };

/** Every event with a reason of its own. test/unit/docs/reference.test.ts compares the list with the source. */
export const EVENTS: readonly DocumentedEvent[] = [
  { kind: "GpuEndpoint", type: "Normal", reason: "Created", when: "Mooring created the remote endpoint." },
  { kind: "GpuEndpoint", type: "Normal", reason: "Updated", when: "An update of the spec shows at the service." },
  { kind: "GpuEndpoint", type: "Normal", reason: "Updating", when: "Mooring sent an update that no read shows yet." },
  {
    kind: "GpuEndpoint",
    type: "Normal",
    reason: "DriftRemedied",
    when: "Mooring reverted a change of another client.",
  },
  {
    kind: "GpuEndpoint",
    type: "Normal",
    reason: "ScaledToZero",
    when: "The object was deleted, and the workers of the endpoint are 0/0.",
  },
  {
    kind: "GpuEndpoint",
    type: "Normal",
    reason: "Deleted",
    when: "The object was deleted, and so was the endpoint (`deletionPolicy: Delete`).",
  },
  {
    kind: "GpuEndpoint",
    type: "Normal",
    reason: "Retained",
    when: "The object was deleted. Mooring did not change its endpoint at the service (`deletionPolicy: Retain`).",
  },
  {
    kind: "GpuEndpoint",
    type: "Warning",
    reason: "Drifted",
    when: "The remote endpoint differs from the spec, and a policy tells Mooring not to change it.",
  },
  {
    kind: "GpuEndpoint",
    type: "Warning",
    reason: "DriftFight",
    when: "Another client keeps reverting fields. Mooring stopped re-applying them.",
  },
  {
    kind: "GpuEndpoint",
    type: "Warning",
    reason: "UpdateNotApplied",
    when: "The service accepts updates but does not apply them.",
  },
  {
    kind: "GpuEndpoint",
    type: "Warning",
    reason: "LocalVolume",
    when: "The spec has a volume of type local, which the service plans to retire.",
  },
  {
    kind: "GpuEndpoint",
    type: "Warning",
    reason: "AppNameTaken",
    when: "The object was deleted. An endpoint with its app name stays, because it may belong to another client.",
  },
  {
    kind: "SpeechJob, VideoJob",
    type: "Normal",
    reason: "Attached",
    when: "The annotation `mooring.dev/attach-task` attached the job to a task. A task that cannot be attached is a Warning with the reason of the condition `TaskAttached`.",
  },
  {
    kind: "SpeechJob, VideoJob",
    type: "Normal",
    reason: "Submitted",
    when: "The service accepted the request. The note has the task ID.",
  },
  {
    kind: "SpeechJob, VideoJob",
    type: "Normal",
    reason: "Released",
    when: "The annotation `mooring.dev/resubmit-token` released a halted job. Its request is sent again.",
  },
  {
    kind: "SpeechJob, VideoJob",
    type: "Normal",
    reason: "Storing",
    when: "The task succeeded. Mooring copies the results to the store.",
  },
  { kind: "SpeechJob, VideoJob", type: "Normal", reason: "Completed", when: "The job succeeded." },
  {
    kind: "SpeechJob, VideoJob",
    type: "Normal",
    reason: "Stored",
    when: "The job was deleted while Mooring copied its results, and the copies are complete.",
  },
  {
    kind: "SpeechJob, VideoJob",
    type: "Warning",
    reason: "Expiring",
    when: "A quarter of the lifetime of the result URLs is left, and no copy exists.",
  },
  {
    kind: "SpeechJob, VideoJob",
    type: "Warning",
    reason: "Expired",
    when: "The result URLs expired, and no copy exists.",
  },
  {
    kind: "SpeechJob, VideoJob",
    type: "Warning",
    reason: "TaskRunsOn",
    when: "The job was deleted after its request was sent. The task continues and is charged.",
  },
  {
    kind: "SpeechJob, VideoJob",
    type: "Warning",
    reason: "CallbackFailed",
    when: "The callback was not delivered for a day, or its receiver wants none.",
  },
  {
    kind: "GpuEndpoint, SpeechJob, VideoJob",
    type: "Warning",
    reason: "InvalidTraceparent",
    when: "A trace ended, and the annotation `mooring.dev/traceparent` is not valid. The trace has no parent.",
  },
  {
    kind: "Account, ClusterAccount",
    type: "Normal",
    reason: "KeyChanged",
    when: "The Secret has another API key, which Mooring uses now.",
  },
  {
    kind: "Account, ClusterAccount",
    type: "Warning",
    reason: "OrphanedEndpoints",
    when: "Endpoints of the account look generated and have no GpuEndpoint.",
  },
  {
    kind: "Account, ClusterAccount",
    type: "Warning",
    reason: "BudgetExceeded",
    when: "The budget of the account became exceeded.",
  },
  { kind: "ArtifactStore", type: "Normal", reason: "Ready", when: "The store works, for the first time or again." },
  {
    kind: "Account, ClusterAccount",
    type: "Warning",
    reason: "ServedByAnotherInstallation",
    when: "Another installation of Mooring serves the account, and this one sends nothing for it.",
  },
  {
    kind: "Account, ClusterAccount",
    type: "Warning",
    reason: "ListUnreadable",
    when: "The service returns a list of endpoints that is too large, has no end or cannot be read.",
  },
  {
    kind: "ClusterAccount",
    type: "Warning",
    reason: "ExportConflict",
    when: "The ConfigMap of `shares[].exportTo` exists in a namespace and does not belong to the account.",
  },
  {
    kind: "ClusterAccount",
    type: "Warning",
    reason: "ExportForbidden",
    when: "The operator may not write the ConfigMap of `shares[].exportTo` in a namespace.",
  },
];

/** docs/reference/events.md. */
export function eventsPage(events: readonly DocumentedEvent[]): string {
  return [
    pageHead("Events", "scripts/reference/events-page.ts"),
    "Mooring writes events of `events.k8s.io/v1`. Repeated events become one series. Kubernetes deletes events after one hour by",
    "default, so use [conditions](conditions.md) for alerts and scripts.",
    "",
    `After ${EVENTS_AT_ONCE} events at once, Mooring writes ${EVENTS_PER_SECOND} a second. Namespaces take turns, and in each of them both types, so that a Warning does not wait`,
    `for many Normal events. When ${QUEUE_LENGTH.toLocaleString("en")} wait, the oldest of the namespace and type with the most are not written.`,
    "",
    "```sh",
    "kubectl events --for gpuendpoint/minimal",
    "mooring explain gpuendpoint/minimal",
    "```",
    "",
    markdownTable(
      ["reason", "type", "kinds", "when"],
      events.map(({ reason, type, kind, when }) => [code(reason), type, kind, when]),
    ),
    "",
    "In addition, every kind has a Warning event when it becomes Stalled, and a job has one when an attempt is refused or its task",
    "fails. The reason of that event is the reason of the condition: see [Reasons](reasons.md).",
    "",
  ].join("\n");
}
