import * as z from "zod";

/**
 * Behaviors that the interface leaves open and that a server has to decide. `mooring simulator --config FILE`
 * (YAML, same names) and `POST /__config` set each value. Times are in milliseconds before `timeScale` applies,
 * unless the name says otherwise.
 */

const duration = z.number().min(0);
const range = z.tuple([duration, duration]);
const probability = z.number().min(0).max(1);

const limits = z.strictObject({
  minRootfsSize: z.int().default(100),
  maxRootfsSize: z.int().default(100),
  freeRootfsSize: z.int().default(100),
  minLocalVolumeSize: z.int().default(30),
  maxLocalVolumeSize: z.int().default(30),
  freeLocalVolumeSize: z.int().default(30),
  minWorkerNum: z.int().default(0),
  maxWorkerNum: z.int().default(100),
  minFreeTimeout: z.int().default(1),
  maxFreeTimeout: z.int().default(3600),
  minConcurrencyNum: z.int().default(1),
  maxConcurrencyNum: z.int().default(1000),
  minQueueWaitTime: z.int().default(1),
  maxQueueWaitTime: z.int().default(1000),
  minRequestNum: z.int().default(1),
  maxRequestNum: z.int().default(1000),
  minGPUNum: z.int().default(1),
  maxGPUNum: z.int().default(8),
  minRequestTimeout: z.int().default(1),
  maxRequestTimeout: z.int().default(1800),
  cudaVersionList: z.array(z.string()).default(["12.4", "12.6", "12.8", "12.9", "13.0"]),
});

const budget = z.strictObject({
  memberID: z.string(),
  keyID: z.string().optional(),
  keyName: z.string().default("member key"),
  type: z.enum(["Unlimited", "One-time", "Recurring"]).default("Unlimited"),
  /** 1/10000 yuan. */
  limit: z.int().default(0),
  /** Assumption: a recurring budget restarts with the calendar month, or with the month that begins at this time. */
  monthsFrom: z.iso.datetime().optional(),
});

export const assumptions = z.strictObject({
  /** Factor for every time of the service; with 0, everything finishes before the next read. */
  timeScale: z.number().min(0).default(1),

  // Keys and the account

  /** Assumption: all valid keys belong to one account and see the same tasks, and the endpoints that `keySees` says. */
  apiKeys: z.array(z.string().min(1)).default(["simulator-key"]),
  /** Assumption: a key sees the endpoints of the whole account, or only those of its own member; others are not found. */
  keySees: z.enum(["Account", "Member"]).default("Account"),
  /** Assumption: whether the account passed enterprise verification; without it video is refused as NEED_REAL_NAME_VERIFY. */
  enterpriseVerified: z.boolean().default(true),
  /** Assumption: balance of the account in 1/10000 yuan, null for no limit; NOT_ENOUGH_BALANCE when it is used up. */
  balance: z.int().nullable().default(null),
  /** Assumption: the service refuses fields that the interface does not list, so that tests find misspelled fields. */
  unknownFields: z.enum(["Refuse", "Ignore"]).default("Refuse"),

  // Responses

  /** Assumption: the status of a request that has an effect (interface: any 2xx means accepted). */
  acceptedStatus: z.union([z.literal(200), z.literal(201), z.literal(202)]).default(200),
  /** Assumption: the body of a refusal: `{code, reason, message, metadata}`, the same in a field `error`, or a message alone. */
  errorBody: z.enum(["Reasons", "Wrapped", "MessageOnly"]).default("Reasons"),
  /** Assumption: what a read of an unknown endpoint or task returns: 400 with a reason, 404 with a reason, or 200 with null. */
  notFound: z.enum(["Refusal", "404", "Null"]).default("Refusal"),
  /** Assumption: operations that the key may not call; they are refused with 403. */
  forbiddenOperations: z.array(z.string().min(1)).default([]),
  /** Assumption: how empty texts and lists inside records show. */
  emptyValues: z.enum(["Shown", "Null", "Absent"]).default("Shown"),
  /** Assumption: numbers inside records come as numbers or as texts; the interface has both for the same value. */
  numbersAs: z.enum(["Numbers", "Texts"]).default("Numbers"),

  // Endpoints

  /** Assumption: the ranges that the limit operation returns. */
  limits: limits.prefault({}),
  /** The only accepted root disk size (interface: currently fixed at 100). */
  rootfsSizeGB: z.int().default(100),
  /** The only accepted local volume size (interface: currently fixed at 30). */
  localVolumeSizeGB: z.int().default(30),
  /** Assumption: how long a new endpoint and a new worker take to start; with 0, they serve at the first read. */
  bootDelayMs: duration.default(3000),
  /** Assumption: how long lists omit a new endpoint. A read by id returns it immediately. */
  listDelayMs: duration.default(0),
  /** Assumption: how long the lists and reads of one generation do not know a new endpoint, in addition to `listDelayMs`. */
  generationDelayMs: z.strictObject({ current: duration.default(0), earlier: duration.default(0) }).prefault({}),
  /** Assumption: the fields that `keyword` searches. */
  keywordSearches: z.array(z.enum(["id", "name", "appName"])).default(["id", "name", "appName"]),
  /** Assumption: the service refuses a second endpoint with the same app name. */
  duplicateAppName: z.enum(["Refuse", "Accept"]).default("Refuse"),
  /** Assumption: "all parameters must be passed in full" means that an optional one left out of an update is cleared. */
  updateClearsAbsent: z.boolean().default(true),
  /** Assumption: parameters of an update that are accepted without effect, such as `workerConfig`; `*`: all of them. */
  updateIgnores: z.array(z.string().min(1)).default([]),
  /** Assumption: the body of the response to an update: an empty object, nothing, or the endpoint. */
  updateResponse: z.enum(["EmptyObject", "Nothing", "Endpoint"]).default("EmptyObject"),
  /** Assumption: the order in which variables and volumes come back. */
  valueOrder: z.enum(["AsSent", "Sorted", "Reversed"]).default("AsSent"),
  /** Assumption: the unit of idle_timeout and request_timeout in the current generation. */
  timeoutUnit: z.enum(["Seconds", "Milliseconds"]).default("Seconds"),
  /** Assumption: the unit of created_at. */
  createdAtUnit: z.enum(["Seconds", "Milliseconds"]).default("Seconds"),
  /** Assumption: from when an endpoint shows its URL. */
  showsURL: z.enum(["FromCreation", "WhenServing"]).default("FromCreation"),
  /** Assumption: the status of an endpoint that has not started yet, in both generations. */
  bootStatus: z.string().default("initializing"),
  /** Assumption: the status of an endpoint with 0 to 0 workers; with null, running (v2) and serving (v1). */
  zeroWorkersStatus: z.string().nullable().default(null),
  /**
   * Assumption: the operation that deletes an endpoint, in the shape of an account's `endpoints.deleteOperation`. The
   * interface shows none, so the default is null: there is none.
   */
  deleteOperation: z
    .strictObject({
      method: z.enum(["DELETE", "POST", "PUT", "PATCH"]),
      /** Contains `{id}` for the endpoint id, unless `idField` is set. */
      path: z.string().startsWith("/"),
      idField: z.string().optional(),
    })
    .nullable()
    .default(null),
  /** Assumption: how long the service shows a deleted endpoint, with `deletingStatus`. */
  deleteDelayMs: duration.default(0),
  /** Assumption: the status during a deletion. */
  deletingStatus: z.string().default("terminating"),
  /** Assumption: known network storages and their clusters, `id: cluster`. */
  storages: z.record(z.string(), z.string()).default({}),
  /** Assumption: whether the service refuses a network storage that `storages` does not contain. */
  refuseUnknownStorage: z.boolean().default(false),
  /** Assumption: the order of endpoints in lists. */
  listOrder: z.enum(["NewestFirst", "OldestFirst"]).default("NewestFirst"),
  /** Assumption: the number of the first page in the earlier generation. A smaller one returns that page too. */
  firstPageNum: z.int().min(0).max(1).default(1),
  /** Assumption: what `total` counts in the earlier generation: all endpoints that the key sees, or those of the page. */
  totalCounts: z.enum(["All", "Page"]).default("All"),
  /** Assumption: what a page behind the last one returns in the earlier generation. */
  pageBehindEnd: z.enum(["Empty", "Refusal"]).default("Empty"),
  /** Assumption: what a cursor means: the last endpoint of the page, or the number of endpoints before the next page. */
  cursorMeans: z.enum(["LastEndpoint", "Offset"]).default("LastEndpoint"),
  /** Assumption: the page size of a request without one, or with one below 1. */
  defaultPageSize: z.int().min(1).default(20),
  /** Assumption: the largest page size. A request for more returns this many. */
  maxPageSize: z.int().min(1).default(100),

  // Tasks

  /** Assumption: how long a task is in the queue. */
  queueMs: range.default([500, 2000]),
  /** Assumption: how long an asynchronous synthesis takes after the queue. */
  speechTaskMs: range.default([1500, 4000]),
  /** Assumption: how long a video takes after the queue. */
  videoTaskMs: range.default([4000, 10_000]),
  /** Assumption: the probability that a task fails. */
  failTasks: probability.default(0),
  /** Assumption: a task fails if its text or prompt contains this. Case does not matter. */
  failTasksWith: z.string().min(1).default("please fail"),
  /** Assumption: the statuses of tasks that have not succeeded. */
  taskStatuses: z
    .strictObject({
      queued: z.string().min(1).default("TASK_STATUS_QUEUED"),
      processing: z.string().min(1).default("TASK_STATUS_PROCESSING"),
      failed: z.string().min(1).default("TASK_STATUS_FAILED"),
    })
    .prefault({}),
  /** Assumption: the unit of `eta`; `None`: it is always 0. */
  etaUnit: z.enum(["Seconds", "Milliseconds", "None"]).default("Seconds"),
  /** Assumption: what `progress_percent` shows before the end: the share of time, always 0, or always 100. */
  progress: z.enum(["Share", "Zero", "Hundred"]).default("Share"),
  /** Assumption: the contents of `extra` and `audio_metadata`. */
  extraContents: z.enum(["Default", "Null", "Filled"]).default("Default"),
  /** Assumption: which tasks a key sees: those of the account, or those of its own member; others are not found. */
  keySeesTasks: z.enum(["Account", "Member"]).default("Account"),
  /** Assumption: the names in `task.task_type`. */
  taskTypes: z
    .strictObject({
      speech: z.string().default("VENDOR_SPEECH_2.6_HD"),
      imageToVideo: z.string().default("VIDEO_IMG_TO_VIDEO"),
      videoToVideo: z.string().default("VIDEO_TO_VIDEO"),
    })
    .prefault({}),
  /** Assumption: the fields of `input` that video-to-video requires. */
  videoToVideoRequires: z.array(z.string()).default(["prompt"]),

  // Results

  /** Assumption: validity of a video URL in seconds, not scaled. */
  videoUrlSeconds: z.number().min(0).default(86_400),
  /** Assumption: the unit of `video_url_ttl` and `audio_url_ttl`; `Date`: the time of expiry, `None`: an empty text. */
  ttlUnit: z.enum(["Seconds", "Milliseconds", "Date", "None"]).default("Seconds"),
  /** Validity of a speech URL in seconds, not scaled (interface: 24 hours). */
  speechUrlSeconds: z.number().min(0).default(86_400),
  /** Assumption: the status that an expired URL returns. */
  expiredUrlStatus: z.union([z.literal(403), z.literal(410)]).default(403),
  /** Assumption: base of the URLs of results; with null, the host of the request. */
  publicURL: z.url().nullable().default(null),
  /** Bytes that a `free` box adds to every video, for tests of large copies. */
  videoPaddingBytes: z.int().min(0).max(0xffff_fff0).default(0),

  // Speech

  /** Assumption: the text limit of the asynchronous operation. The interface states 50000 and one million. */
  speechMaxCharacters: z.int().min(1).default(50_000),
  /** Assumption: characters per second of audio. */
  charactersPerSecond: z.number().positive().default(15),
  /** Assumption: the longest audio, for any text. */
  maxAudioSeconds: z.number().positive().default(20),
  /** Assumption: bytes of audio in one chunk of a stream. */
  streamChunkBytes: z.int().min(1).default(4096),
  /** Assumption: time between two chunks of a stream. */
  streamChunkMs: duration.default(40),
  /** Assumption: whether the last chunk of a stream repeats the whole audio. */
  streamEnd: z.enum(["StatusOnly", "WholeAudio"]).default("StatusOnly"),
  /** Assumption: what separates the lines of a stream. */
  streamSeparator: z.enum(["BlankLine", "Newline", "CRLF"]).default("BlankLine"),
  /** Assumption: how long a synchronous synthesis takes. */
  speechLatencyMs: duration.default(100),

  // Money

  /** Assumption: prices in 1/10000 yuan. */
  prices: z
    .strictObject({
      speechTurboPerThousandCharacters: z.int().default(2000),
      speechHDPerThousandCharacters: z.int().default(3500),
      videoPerSecond: z.int().default(3000),
      gpuPerCardHour: z.int().default(30_000),
    })
    .prefault({}),
  /** Assumption: when a task is charged: at its end if it succeeds, or at its submission. */
  chargeTasks: z.enum(["AtEnd", "AtSubmission"]).default("AtEnd"),
  /** Assumption: how long bills and budgets do not show a new charge. */
  chargeDelayMs: duration.default(0),
  /** Assumption: whether the amounts of bills have fractions of 1/10000 yuan. */
  fractionalAmounts: z.boolean().default(false),
  /** Assumption: budgets by member. A budget without a keyID belongs to the first key. An unknown member has none. */
  budgets: z.array(budget).default([{ memberID: "member-1", keyName: "default", type: "Unlimited", limit: 0 }]),
  /** Assumption: whether the service refuses paid calls of a key with a used-up budget, as QUOTA_EXCEEDED. */
  enforceBudgets: z.boolean().default(false),
  /** Assumption: time zone of bills, in hours ahead of UTC, for 2026-01-01 00:00:00, days, weeks and months. */
  billingUtcOffsetHours: z.number().min(-14).max(14).default(0),
});

export type Assumptions = z.output<typeof assumptions>;
/** Input of a configuration. Every value has a default. */
export type AssumptionsInput = z.input<typeof assumptions>;
