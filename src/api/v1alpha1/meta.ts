import * as z from "zod";
import type { Condition } from "../../kube/types.ts";
import { dataKey, int, listOf, objectKey, objectName, text, time } from "../schema/fields.ts";
import { ruled } from "../schema/rule.ts";

export const GROUP = "mooring.dev";
export const VERSION = "v1alpha1";
export const API_VERSION = `${GROUP}/${VERSION}`;

export const FINALIZER = "mooring.dev/finalizer";

/** Annotations that users set on any object of Mooring. */
export const ANNOTATIONS = {
  /** Any new value: reconcile and read the remote now. Echoed in `status.lastHandledReconcileAt`. */
  reconcileRequestedAt: "mooring.dev/reconcile-requested-at",
  /** The alias that `flux reconcile` writes. */
  fluxRequestedAt: "reconcile.fluxcd.io/requestedAt",
  /** "true": no remote write and no remote read for this object; deletion still works. */
  paused: "mooring.dev/paused",
  /** Any new value releases a halted job. Echoed in `status.lastHandledResubmitToken`. */
  resubmitToken: "mooring.dev/resubmit-token",
  /** ID of a task at the service: attaches a halted job to it. Echoed in `status.lastHandledAttachTask`. */
  attachTask: "mooring.dev/attach-task",
  /** A `traceparent` of W3C Trace Context: the trace of the object becomes a part of the trace that it names. */
  traceparent: "mooring.dev/traceparent",
  /** Overrides `spec.deletionPolicy`, so that a stuck deletion can be released. */
  deletionPolicy: "mooring.dev/deletion-policy",
  /** Written by the operator: the record of the last create of a GpuEndpoint (submission/record.ts). Never set it. */
  create: "mooring.dev/create",
} as const;

/** The condition of a new object. Without `Ready`, kstatus would report a new object as Current. */
export const PENDING_CONDITION: Condition = {
  type: "Ready",
  status: "Unknown",
  reason: "Pending",
  message: "Waiting for controller",
  lastTransitionTime: "1970-01-01T00:00:00Z",
};

const conditionSchema = z.object({
  type: text(316, "Type of the condition, in CamelCase; unique in the list."),
  status: z.enum(["True", "False", "Unknown"]).describe("True, False or Unknown."),
  reason: text(1024, "One word in CamelCase for programs: a value of the closed list of reasons."),
  message: text(32_768, "What happened and, if the user must act, what to do.", 0),
  lastTransitionTime: time("When `status` of this condition last changed."),
  observedGeneration: z
    .int()
    .min(0)
    .describe("The metadata.generation this condition was computed from.")
    .exactOptional(),
});

export const conditionsSchema = listOf(
  conditionSchema,
  16,
  "The state of the object as metav1.Condition. Ready is always present; Reconciling and Stalled are present only while True.",
  "type",
).default([PENDING_CONDITION]);

/** Fields of every status. */
export const commonStatus = {
  observedGeneration: z.int().min(0).describe("The metadata.generation that was last reconciled.").optional(),
  lastHandledReconcileAt: text(
    1024,
    "The last handled value of the annotation mooring.dev/reconcile-requested-at.",
    0,
  ).optional(),
  conditions: conditionsSchema,
};

/** Whether the results of an earlier job are taken instead of a paid request. */
export function reuseSchema(description: string) {
  return z.enum(["Never", "SameRequest"]).describe(description);
}

/** The default of `status` of every kind. */
export const PENDING_STATUS: { conditions: Condition[] } = { conditions: [PENDING_CONDITION] };

export const accountKinds = ["Account", "ClusterAccount"] as const;

export const accountRefSchema = z
  .object({
    kind: z.enum(accountKinds).default("Account").describe("Account (of the same namespace) or ClusterAccount."),
    name: objectName("Name of the account."),
  })
  .describe(
    "The account that pays and whose key Mooring uses. Default: Account `default` of the namespace, else ClusterAccount `default`. Without accountRef, the object stays with the account that it used first (status.account).",
  );
export type AccountRef = z.output<typeof accountRefSchema>;

export const boundAccountSchema = z
  .object({
    kind: z.enum(accountKinds).describe("Account or ClusterAccount."),
    name: text(253, "Name of the account."),
    baseURL: text(
      2048,
      "Base URL of the account when the object was bound to it. If the account's base URL changes, nothing is sent.",
    ),
  })
  .describe("The account this object is bound to.");
export type BoundAccount = z.output<typeof boundAccountSchema>;
/** A reference of a spec, or the account that an object is bound to, which has the base URL too. */
export type AccountRefOrBinding = AccountRef | BoundAccount;

export const secretKeyRefSchema = z
  .object({ name: objectName("Name of the Secret."), key: dataKey("Key in the Secret.") })
  .describe("A key of a Secret in the namespace of this object.");

export const configMapKeyRefSchema = z
  .object({ name: objectName("Name of the ConfigMap."), key: dataKey("Key in the ConfigMap.") })
  .describe("A key of a ConfigMap in the namespace of this object.");

/** An object of an ArtifactStore. `keyField`: as the messages call its key. */
export function storeObjectRef(keyField: string) {
  return z.object({
    storeRef: z
      .object({ name: objectName("Name of the ArtifactStore.") })
      .describe("The ArtifactStore, in the namespace of this object."),
    key: objectKey("Key of the object in the store.", keyField),
  });
}

/** A value from exactly one of a Secret and a ConfigMap. `name` is the field as the messages call it. */
export function valueSource(name: string, description: string) {
  return ruled(
    z.object({ secretKeyRef: secretKeyRefSchema.optional(), configMapKeyRef: configMapKeyRefSchema.optional() }),
    [
      {
        cel: "has(self.secretKeyRef) != has(self.configMapKeyRef)",
        message: `${name} needs exactly one of secretKeyRef and configMapKeyRef: set one, remove the other`,
        holds: (value) => (value.secretKeyRef === undefined) !== (value.configMapKeyRef === undefined),
      },
    ],
  ).describe(description);
}

/** State of a submission: `Intended` is written before the request is sent, the others are outcomes. */
export const submissionStates = ["Intended", "Accepted", "NotSent", "Refused", "Unknown"] as const;

export const submissionSchema = z
  .object({
    id: text(256, "Identity of this submission."),
    specHash: text(128, "Hash of the request that was sent."),
    attempt: int(0, "Number of the attempt, from 1."),
    state: z
      .enum(submissionStates)
      .describe(
        "Intended: written before the request is sent; no outcome is known yet. Accepted, NotSent, Refused, Unknown: the outcome.",
      ),
    keyVersion: text(
      64,
      "While it is Intended: hash of the API key that the request is sent with, and of the settings that decide what the key shows.",
    ).optional(),
    sender: text(
      512,
      "While it is Intended: the process that sends the request, as the holder of its lease. When another process serves the account, the outcome is Unknown.",
    ).optional(),
    time: time("When the submission reached this state."),
  })
  .describe("The last create or paid request of this object.");
export type Submission = z.output<typeof submissionSchema>;
