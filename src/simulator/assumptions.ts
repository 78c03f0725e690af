import { z } from "zod";

/**
 * Everything that the interface does not show and a server nevertheless has to decide, in one place. Each value can be
 * set with `mooring simulator --config FILE` (YAML, same names) or, while it runs, with `POST /__config`.
 * Times are in milliseconds before the time scale is applied, unless the name says otherwise.
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
  /** Assumption: a recurring budget begins again with the calendar month; or, with this, at this time of each month. */
  monthsFrom: z.iso.datetime().optional(),
});

export const assumptions = z.strictObject({
  /** Assumption: a time in the service is multiplied by this; 0 makes everything finish at the first look. */
  timeScale: z.number().min(0).default(1),

  // Keys and the account

  /** Assumption: all valid keys belong to one account and see the same tasks, and the endpoints that `keySees` says. */
  apiKeys: z.array(z.string().min(1)).default(["simulator-key"]),
  /** Assumption: a key sees the endpoints of the whole account, or only those of its own member; others are not found. */
  keySees: z.enum(["Account", "Member"]).default("Account"),
  /** Assumption: whether the account passed enterprise verification; without it video is refused as NEED_REAL_NAME_VERIFY. */
  enterpriseVerified: z.boolean().default(true),
  /** Assumption: money on the account in 1/10000 yuan, null for any amount; too little is refused as NOT_ENOUGH_BALANCE. */
  balance: z.int().nullable().default(null),
  /** Assumption: fields of a body that the interface does not list are refused, so that a misspelt one is found. */
  unknownFields: z.enum(["Refuse", "Ignore"]).default("Refuse"),

  // Endpoints

  /** Assumption: the ranges that the limit operation answers. */
  limits: limits.prefault({}),
  /** Assumption: the size that "currently fixed at 100" names, refused otherwise. */
  rootfsSizeGB: z.int().default(100),
  /** Assumption: the size that "currently fixed at 30" names, refused otherwise. */
  localVolumeSizeGB: z.int().default(30),
  /** Assumption: how long a new endpoint and a new worker take to start; 0: they serve at the first read. */
  bootDelayMs: duration.default(3000),
  /** Assumption: for how long a new endpoint is missing from lists. It can be read by id at once. */
  listDelayMs: duration.default(0),
  /** Assumption: the fields that `keyword` is searched in. */
  keywordSearches: z.array(z.enum(["id", "name", "appName"])).default(["id", "name", "appName"]),
  /** Assumption: a second endpoint with a taken app name is refused. */
  duplicateAppName: z.enum(["Refuse", "Accept"]).default("Refuse"),
  /** Assumption: "all parameters must be passed in full" means that an optional one left out of an update is cleared. */
  updateClearsAbsent: z.boolean().default(true),
  /** Assumption: parameters of an update that are accepted without effect, such as `workerConfig`; `*`: all of them. */
  updateIgnores: z.array(z.string().min(1)).default([]),
  /** Assumption: the status of an endpoint that has not started yet, in both generations. */
  bootStatus: z.string().default("initializing"),
  /** Assumption: the status of an endpoint whose workers are 0 to 0; null: it goes on as running (v2) and serving (v1). */
  zeroWorkersStatus: z.string().nullable().default(null),
  /**
   * Assumption: how an endpoint is deleted, in the shape of an account's `endpoints.deleteOperation`; null: not at all, as
   * the interface shows no such operation.
   */
  deleteOperation: z
    .strictObject({
      method: z.enum(["DELETE", "POST", "PUT", "PATCH"]),
      /** `{id}` stands for the endpoint's identifier, unless `idField` is set. */
      path: z.string().startsWith("/"),
      idField: z.string().optional(),
    })
    .nullable()
    .default(null),
  /** Assumption: a deleted endpoint is still shown for this long, with `deletingStatus`. */
  deleteDelayMs: duration.default(0),
  /** Assumption: the status of an endpoint that is being deleted. */
  deletingStatus: z.string().default("terminating"),
  /** Assumption: the clusters of known network storages, `id: cluster`. An unknown id is taken as it is. */
  storages: z.record(z.string(), z.string()).default({}),
  /** Assumption: an unknown network storage is refused. */
  refuseUnknownStorage: z.boolean().default(false),
  /** Assumption: the newest endpoint comes first in lists. */
  listOrder: z.enum(["NewestFirst", "OldestFirst"]).default("NewestFirst"),
  /** Assumption: the number of the first page in the earlier generation; a smaller one is the first page too. */
  firstPageNum: z.int().min(0).max(1).default(1),
  /** Assumption: the page size where none or 0 is asked for. */
  defaultPageSize: z.int().min(1).default(20),
  /** Assumption: more than this on a page is cut to this. */
  maxPageSize: z.int().min(1).default(100),

  // Tasks

  /** Assumption: how long a task is queued. */
  queueMs: range.default([500, 2000]),
  /** Assumption: how long an asynchronous synthesis takes after that. */
  speechTaskMs: range.default([1500, 4000]),
  /** Assumption: how long a video takes after that. */
  videoTaskMs: range.default([4000, 10_000]),
  /** Assumption: the share of tasks that fail. */
  failTasks: probability.default(0),
  /** Assumption: a task whose text or prompt contains this fails, whatever the case of the letters. */
  failTasksWith: z.string().min(1).default("please fail"),
  /** Assumption: the names in `task.task_type`. */
  taskTypes: z
    .strictObject({
      speech: z.string().default("VENDOR_SPEECH_2.6_HD"),
      imageToVideo: z.string().default("VIDEO_IMG_TO_VIDEO"),
      videoToVideo: z.string().default("VIDEO_TO_VIDEO"),
    })
    .prefault({}),
  /** Assumption: which of `input`'s fields video-to-video requires. */
  videoToVideoRequires: z.array(z.string()).default(["prompt"]),

  // Results

  /** Assumption: life of a video URL in seconds, not scaled. Speech is 24 hours by the interface. */
  videoUrlSeconds: z.number().min(0).default(86_400),
  /** Life of a speech URL in seconds, not scaled (interface: 24 hours). */
  speechUrlSeconds: z.number().min(0).default(86_400),
  /** Assumption: what a URL answers after its life. */
  expiredUrlStatus: z.union([z.literal(403), z.literal(410)]).default(403),
  /** Assumption: the address in URLs, for a simulator behind another name; null: the host that was asked. */
  publicURL: z.url().nullable().default(null),
  /** Assumption: bytes that are added to every video in a `free` box, for tests of long copies. */
  videoPaddingBytes: z.int().min(0).max(0xffff_fff0).default(0),

  // Speech

  /** Assumption: which of the two texts holds for the asynchronous operation, 50000 or one million. */
  speechMaxCharacters: z.int().min(1).default(50_000),
  /** Assumption: characters spoken in a second. */
  charactersPerSecond: z.number().positive().default(15),
  /** Assumption: no audio is longer than this, whatever the text. */
  maxAudioSeconds: z.number().positive().default(20),
  /** Assumption: bytes of audio in a chunk of a stream. */
  streamChunkBytes: z.int().min(1).default(4096),
  /** Assumption: time between two chunks of a stream. */
  streamChunkMs: duration.default(40),
  /** Assumption: time that a synchronous synthesis takes. */
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
  /** Assumption: budgets by member; a budget without a keyID is that of the first key. An unknown member has none. */
  budgets: z.array(budget).default([{ memberID: "member-1", keyName: "default", type: "Unlimited", limit: 0 }]),
  /** Assumption: a paid call over a key's budget is refused as QUOTA_EXCEEDED. */
  enforceBudgets: z.boolean().default(false),
  /** Assumption: the hours that the clock of bills is ahead of UTC (2026-01-01 00:00:00, days, weeks and months). */
  billingUtcOffsetHours: z.number().min(-14).max(14).default(0),
});

export type Assumptions = z.output<typeof assumptions>;
/** What can be given: every value has a default. */
export type AssumptionsInput = z.input<typeof assumptions>;
