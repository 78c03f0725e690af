import * as z from "zod";
import { int, listOf, text, time, yuanStatus } from "../schema/fields.ts";
import { boundAccountSchema, commonStatus, PENDING_STATUS, submissionSchema } from "./meta.ts";

export const driftSchema = z.object({
  field: text(256, "Path in the spec."),
  desired: text(4096, "The value in the spec; for env, only the names of the variables.", 0).optional(),
  observed: text(4096, "The value at the service; for env, only the names of the variables.", 0).optional(),
});

/** Most entries of `status.workers.items`. */
export const SHOWN_WORKERS = 32;

const workerSchema = z.object({
  id: text(512, "Identifier at the service.", 0),
  status: text(256, "Status that the service reports, verbatim.", 0),
  error: text(4096, "Error code or type that the service reports, verbatim.", 0).optional(),
  message: text(8192, "Description that the service reports, verbatim.", 0).optional(),
  healthy: z.boolean().describe("Whether its health check passes.").optional(),
  draining: z.boolean().describe("True: it accepts no more requests.").optional(),
  log: text(4096, "Address of its log at the service. It may expire.", 0).optional(),
});
export type EndpointWorker = z.output<typeof workerSchema>;

export const gpuEndpointStatusSchema = z
  .object({
    ...commonStatus,
    endpointID: text(255, "Identifier at the service.", 0).optional(),
    appName: text(255, "Identity at the service: the app name that was sent or is going to be sent.", 0).optional(),
    account: boundAccountSchema.optional(),
    type: text(64, "sync or async, as the service reports.", 0).optional(),
    url: text(4096, "URL for requests to the endpoint.", 0).optional(),
    state: text(
      256,
      "What the STATUS column shows: Suspended, NotFound, or the status that the service reports, verbatim.",
      0,
    ).optional(),
    image: text(511, "Image that the endpoint runs, as the service reports.", 0).optional(),
    remote: z
      .object({
        status: text(256, "Status that the service reports, verbatim, such as running or serving.", 0).optional(),
        error: text(4096, "Error code or type that the service reports, verbatim.", 0).optional(),
        message: text(8192, "Description that the service reports, verbatim.", 0).optional(),
      })
      .describe("State of the endpoint that the service reports, verbatim.")
      .optional(),
    workers: z
      .object({
        total: int(0, "All workers.").optional(),
        ready: int(0, "Workers that serve; the scale subresource reports this number.").optional(),
        healthy: int(0, "Workers whose health check passes.").optional(),
        draining: int(0, "Workers that accept no more requests.").optional(),
        items: listOf(workerSchema, SHOWN_WORKERS, `The first ${SHOWN_WORKERS} workers, by identifier.`).optional(),
      })
      .describe("Current number of workers.")
      .optional(),
    selector: text(
      253,
      "Selector of the scale subresource. It matches no pod; a HorizontalPodAutoscaler requires it.",
      0,
    ).optional(),
    regionID: text(255, "Region at the service.", 0).optional(),
    memberID: text(255, "Member at the service.", 0).optional(),
    ownerID: text(255, "Owner at the service.", 0).optional(),
    createdAt: time("When the service created the endpoint.").optional(),
    estimatedCost: z
      .object({
        month: yuanStatus("Estimated cost of the current calendar month."),
        hour: yuanStatus(
          "Cost of an hour with the current workers, at the last known price. Of several products, the highest price counts.",
        ).optional(),
        maxHour: yuanStatus("Cost of an hour with workers.max workers.").optional(),
        asOf: time("When the bills were read."),
      })
      .describe(
        "Estimate of what the endpoint costs, from the bills and the observed workers. Refreshed at least once a day. With a ClusterAccount, only in namespaces that spending.reports selects.",
      )
      .optional(),
    drift: listOf(driftSchema, 64, "Fields in which the remote endpoint differs from the spec.").optional(),
    exported: z
      .object({
        configMap: text(253, "Name of the ConfigMap that holds the export.").optional(),
        secret: text(253, "Name of the Secret that holds the export.").optional(),
      })
      .describe("Objects that exportTo wrote. They are removed when exportTo no longer names them.")
      .optional(),
    submission: submissionSchema.optional(),
    deletion: z
      .object({
        endpointID: text(255, "Identifier of the endpoint at the service."),
        keyVersion: text(
          64,
          "Hash of the API key of the account, and of the settings that decide which endpoints the key shows.",
        ),
        time: time("When the service showed the endpoint."),
      })
      .describe(
        "Written right before the endpoint is deleted at the service: the API key showed it. When the same key does not show it any more, it is deleted.",
      )
      .optional(),
    unconfirmedCreates: listOf(
      z.object({
        endpointID: text(255, "Identifier that the service returned. Absent: the response was lost.", 0).optional(),
        keyVersion: text(64, "Hash of the API key that the create was sent with.").optional(),
        time: time("When the create was sent or accepted."),
      }),
      8,
      "Creates since a read last showed the endpoint. They limit how often it is created again; a read clears them.",
    ).optional(),
    appliedGeneration: z
      .int()
      .min(0)
      .describe("The metadata.generation that a read of the service last confirmed.")
      .optional(),
    appliedReferencesHash: text(
      64,
      "Hash of the values from Secrets and ConfigMaps that were sent with appliedGeneration.",
      0,
    ).optional(),
    lastAppliedTime: time("When the service last accepted a create or update.").optional(),
    lastChange: z
      .object({
        generation: z.int().min(0).describe("The metadata.generation of the change."),
        observedTime: time("When Mooring first reconciled this generation."),
        sentTime: time("When the first create or update for it was sent. Absent: none was needed so far.").optional(),
        acceptedTime: time("When the service accepted that request.").optional(),
        syncedTime: time("When a read first showed the spec at the service.").optional(),
        readyTime: time(
          "When the endpoint was first Ready with this spec. Later changes of Ready do not move it.",
        ).optional(),
      })
      .describe("How far the last change of the spec is. Times have milliseconds.")
      .optional(),
  })
  .default(PENDING_STATUS)
  .describe("The observed endpoint.");
