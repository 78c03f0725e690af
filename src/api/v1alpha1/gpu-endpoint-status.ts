import { z } from "zod";
import { int, listOf, text, time } from "./fields.ts";
import { boundAccountSchema, commonStatus, PENDING_STATUS, submissionSchema } from "./meta.ts";

export const driftSchema = z.object({
  field: text(256, "Path in the spec."),
  desired: text(4096, "The value of the spec; of env, the names of the variables alone.", 0).optional(),
  observed: text(4096, "The value at the remote; of env, the names of the variables alone.", 0).optional(),
});
export const gpuEndpointStatusSchema = z
  .object({
    ...commonStatus,
    endpointID: text(255, "Identifier at the remote.", 0).optional(),
    appName: text(255, "Identity at the remote, as sent or to be sent.", 0).optional(),
    account: boundAccountSchema.optional(),
    type: text(64, "sync or async, as the remote says.", 0).optional(),
    url: text(4096, "Where the endpoint takes requests.", 0).optional(),
    remote: z
      .object({
        status: text(256, "The remote's word, verbatim, such as running or serving.", 0).optional(),
        error: text(4096, "The remote's error code or type, verbatim.", 0).optional(),
        message: text(8192, "The remote's description, verbatim.", 0).optional(),
      })
      .describe("The state the remote reports, verbatim.")
      .optional(),
    workers: z
      .object({
        total: int(0, "Workers there are.").optional(),
        ready: int(0, "Workers that serve; what the scale subresource reports.").optional(),
        healthy: int(0, "Workers whose health check passes.").optional(),
        draining: int(0, "Workers that take no more requests.").optional(),
      })
      .describe("How many workers there are now.")
      .optional(),
    selector: text(
      253,
      "What the scale subresource shows as its selector: it matches no pod, but a HorizontalPodAutoscaler asks for one.",
      0,
    ).optional(),
    regionID: text(255, "Region at the remote.", 0).optional(),
    memberID: text(255, "Member at the remote.", 0).optional(),
    ownerID: text(255, "Owner at the remote.", 0).optional(),
    createdAt: time("When the remote created the endpoint.").optional(),
    drift: listOf(driftSchema, 64, "Where the remote differs from the spec.").optional(),
    exported: z
      .object({
        configMap: text(253, "Name of the ConfigMap that holds the export.").optional(),
        secret: text(253, "Name of the Secret that holds the export.").optional(),
      })
      .describe("The objects that exportTo led to; removed when it names them no more.")
      .optional(),
    submission: submissionSchema.optional(),
    appliedGeneration: z
      .int()
      .min(0)
      .describe("The metadata.generation that a read of the remote last confirmed.")
      .optional(),
    appliedReferencesHash: text(
      64,
      "Hash of the values from Secrets and ConfigMaps of the appliedGeneration; never a value.",
      0,
    ).optional(),
    lastAppliedTime: time("When the remote last took a create or update.").optional(),
  })
  .default(PENDING_STATUS)
  .describe("What the endpoint is.");
