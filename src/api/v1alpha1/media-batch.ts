import * as z from "zod";
import type { NamespacedObject } from "../../kube/types.ts";
import { flag, int, listOf, objectName, relativePrefix, text, time, yuanStatus } from "../schema/fields.ts";
import type { TransitionRule } from "../schema/rule.ts";
import { immutable, ruled } from "../schema/rule.ts";
import { commonJobSpec } from "./job.ts";
import {
  accountRefSchema,
  boundAccountSchema,
  commonStatus,
  configMapKeyRefSchema,
  PENDING_STATUS,
  storeObjectRef,
} from "./meta.ts";
import { speechJobFields } from "./speech-job.ts";
import { imageToVideoFields, videoJobFields } from "./video-job.ts";

/** The states of a batch. A terminal phase (Succeeded, Failed) is never left. */
export const batchPhases = ["Pending", "Running", "Suspended", "Succeeded", "Failed"] as const;

/** Most items in the spec itself. */
const INLINE_ITEMS = 100;
/** Most jobs of a batch at a time, those that are halted and the others. Their sum bounds `status.activeIndexes`. */
const MAX_PARALLELISM = 500;
const MAX_HALTED = 2_000;

/** Fields of a job that its batch sets, so that neither the template nor an item has them. */
export const BATCH_FIELDS = {
  accountRef: true,
  suspend: true,
  backoffLimit: true,
  ttlSecondsAfterFinished: true,
  output: true,
  reuse: true,
  managedBy: true,
  callback: true,
} as const;

const itemsSchema = ruled(
  z.object({
    inline: listOf(
      z.looseObject({}),
      INLINE_ITEMS,
      `The items themselves, 1 to ${INLINE_ITEMS}: fields of the job, and name.`,
    ).optional(),
    configMapKeyRef: configMapKeyRefSchema.optional(),
    object: storeObjectRef("items.object.key")
      .describe("An object of an ArtifactStore, at most 256 MiB. It is read as a stream.")
      .optional(),
    format: z
      .enum(["JSONLines", "CSV"])
      .default("JSONLines")
      .describe(
        "Format of the ConfigMap key or the object. JSONLines: a JSON object on each line. CSV: a header with paths of fields, such as voiceSetting.speed, and a record for each item; an empty cell sets nothing. Default JSONLines.",
      ),
  }),
  [
    {
      cel: "[has(self.inline), has(self.configMapKeyRef), has(self.object)].filter(set, set).size() == 1",
      message: "items needs exactly one of inline, configMapKeyRef and object: set one, remove the others",
      holds: ({ inline, configMapKeyRef, object }) =>
        [inline, configMapKeyRef, object].filter((value) => value !== undefined).length === 1,
    },
    {
      cel: "!has(self.inline) || self.inline.size() > 0",
      message: "items.inline must have at least one item",
      fieldPath: ".inline",
      holds: ({ inline }) => inline === undefined || inline.length > 0,
    },
  ],
).describe(
  "The items: at most 100,000. Each is merged into the template (JSON merge patch), and its field name names its results. They are checked before anything is sent, and must not change after that.",
);

const templateSchema = ruled(
  z.object({
    speech: speechJobFields
      .omit(BATCH_FIELDS)
      .partial()
      .describe(
        "Fields of the SpeechJobs. What items set may be missing. Default of outputFormat with speech-2.6-turbo: hex, because the results go to a store.",
      )
      .optional(),
    video: videoJobFields
      .omit(BATCH_FIELDS)
      .partial()
      .extend({ imageToVideo: imageToVideoFields.partial().describe("Fields of imageToVideo.").optional() })
      .describe("Fields of the VideoJobs. What items set may be missing.")
      .optional(),
  }),
  [
    {
      cel: "has(self.speech) != has(self.video)",
      message: "template needs exactly one of speech and video: set one, remove the other",
      holds: ({ speech, video }) => (speech === undefined) !== (video === undefined),
    },
  ],
).describe("The job that each item completes: speech makes SpeechJobs, video makes VideoJobs.");

const fields = z.object({
  items: itemsSchema,
  template: templateSchema,
  output: z
    .object({
      storeRef: z
        .object({ name: objectName("Name of the ArtifactStore.") })
        .describe("The ArtifactStore, in the namespace of this object."),
      keyPrefix: relativePrefix(
        "Path inside the store. Results are KEYPREFIX/NAME.TYPE, where NAME is the name of the item, or its index with six digits. KEYPREFIX/index.jsonl lists them.",
        "output.keyPrefix",
      ),
    })
    .describe("Where the results are stored."),
  accountRef: accountRefSchema.optional(),
  parallelism: int(
    1,
    "Most jobs at a time, 1 to 500. A job that is Halted does not count: see maxHaltedIndexes. Default 10.",
    MAX_PARALLELISM,
  ).default(10),
  backoffLimitPerIndex: int(
    0,
    "How many times the job of an item is submitted, and paid for, again after its remote task failed. 0 to 10. Default 0.",
    10,
  ).default(0),
  maxFailedIndexes: int(
    0,
    "When more items have failed, no more are started, and the batch fails. Default: all items are tried.",
    100_000,
  ).optional(),
  maxHaltedIndexes: int(
    0,
    "When more jobs are Halted, each with a request that may have been paid for, no more items are started until you decide (mooring resolve). 0 to 2000. Default 100.",
    MAX_HALTED,
  ).default(100),
  suspend: flag(
    "True: no item is started, and jobs that have sent nothing wait. The service cannot stop what was submitted. Default false.",
  ).default(false),
  activeDeadlineSeconds: int(
    1,
    "Seconds after the start of the batch until no more items are started, and the batch fails with DeadlineExceeded. Default: none.",
  ).optional(),
  ttlSecondsAfterFinished: int(
    0,
    "Seconds after the end of the batch until the object is deleted. Default: never.",
  ).optional(),
  managedBy: commonJobSpec.managedBy,
  reuse: commonJobSpec.reuse,
});

const MUTABLE = [
  "suspend",
  "parallelism",
  "maxFailedIndexes",
  "maxHaltedIndexes",
  "activeDeadlineSeconds",
  "ttlSecondsAfterFinished",
];

const FIXED: Record<string, "required" | "optional"> = Object.fromEntries(
  Object.entries(fields.shape)
    .filter(([field]) => !MUTABLE.includes(field))
    .map(([field, schema]) => [field, schema instanceof z.ZodOptional ? "optional" : "required"]),
);

export const mediaBatchSpecSchema = ruled(
  fields,
  [],
  immutable(FIXED, "", `create a new MediaBatch instead (only ${MUTABLE.join(", ")} can be changed)`),
).describe(`The items and the job of each. Immutable except ${MUTABLE.slice(0, -1).join(", ")} and ${MUTABLE.at(-1)}.`);
export type MediaBatchSpec = z.output<typeof mediaBatchSpecSchema>;

/** Longest name: each job has it, with `-` and the index, in its own name, and as a label. */
const LONGEST_NAME = 63;

export const mediaBatchRules: TransitionRule[] = [
  {
    cel: `self.metadata.name.size() <= ${LONGEST_NAME}`,
    message: `the name of a MediaBatch must have at most ${LONGEST_NAME} characters: its jobs are named after it`,
  },
];

const ranges = (what: string) => text(16_384, `${what}, as 0-412,415. Cut with ,... when it is longer.`, 0).optional();
const bitmap = (field: string) =>
  text(20_000, `All of ${field} when that is cut: bit i modulo 8 of byte i / 8 is index i, in base64.`, 0).optional();

export const mediaBatchStatusSchema = z
  .object({
    ...commonStatus,
    phase: z.enum(batchPhases).describe("Summary of the state; the conditions are the contract.").optional(),
    account: boundAccountSchema.optional(),
    total: int(0, "Number of items.").optional(),
    active: int(0, "Items that were started and have not ended.").optional(),
    succeeded: int(0, "Items whose results are stored.").optional(),
    failed: int(0, "Items that failed, or whose job was deleted.").optional(),
    halted: int(0, "Of the active items, those whose job waits for a decision: see mooring resolve.").optional(),
    progress: text(32, "Items that succeeded, of all, for kubectl get.", 0).optional(),
    completedIndexes: ranges("Items that succeeded"),
    completedBitmap: bitmap("completedIndexes"),
    failedIndexes: ranges("Items that failed"),
    failedBitmap: bitmap("failedIndexes"),
    activeIndexes: ranges("Items that were started and have not ended"),
    creatingIndexes: ranges("Of the active items, those whose job may not exist yet. Their jobs send nothing"),
    items: z
      .object({
        hash: text(64, "SHA-256 of the items, in hex."),
        quantities: listOf(
          z.object({
            operation: text(64, "Operation of the service."),
            quantity: z.int().min(0).describe("Characters of speech, or seconds of video."),
          }),
          8,
          "What all items ask for.",
        ),
      })
      .describe("The items as they were checked. When they change later, nothing more is started.")
      .optional(),
    costSoFar: yuanStatus("Estimated cost of the items that ended. Absent while no bill has shown a price.").optional(),
    expectedCost: yuanStatus("Estimated cost of all items, without retries and without reused results.").optional(),
    startTime: time("When the items were checked. activeDeadlineSeconds starts here.").optional(),
    completionTime: time("When the batch ended.").optional(),
    duration: text(64, "Time from startTime to completionTime as a Go duration.", 0).optional(),
    parts: int(
      0,
      "Parts of the index that are complete, below .mooring/batches/ in the store. Absent when they are removed, because index.jsonl is stored.",
    ).optional(),
    index: z
      .object({
        uri: text(4096, "Location of the file.", 0),
        bytes: z.int().min(0).describe("Size of the file in bytes."),
        sha256: text(64, "SHA-256 of the file, in hex.", 0),
      })
      .describe("KEYPREFIX/index.jsonl: a line for each item that ended.")
      .optional(),
  })
  .default(PENDING_STATUS)
  .describe("Progress of the batch.");
export type MediaBatchStatus = z.output<typeof mediaBatchStatusSchema>;

export type MediaBatch = NamespacedObject<MediaBatchSpec, MediaBatchStatus>;
