import * as z from "zod";
import { dnsLabel, flag, int, listOf, objectName, text, yuan } from "../schema/fields.ts";
import type { SpecRule } from "../schema/rule.ts";
import { namespaceSelector } from "./account-sharing.ts";
import { callbackSchema } from "./job.ts";

/** The models that jobs pay for, as `status.prices` and bills name them. */
export const paidModels = ["speech-2.6-turbo", "speech-2.6-hd", "vid-i2v", "vid2.6-v2v"] as const;

const limitsSchema = z
  .object({
    concurrentTasks: int(1, "Most remote tasks in progress. Default: no limit of its own.").optional(),
    requestsPerMinute: int(
      1,
      "Most paid requests of jobs in any minute. Default: no limit of its own.",
      100_000,
    ).optional(),
    dailyLimit: yuan("Most that a day may cost, in billing.timeZone. Work that would exceed it waits.").optional(),
    monthlyLimit: yuan("Most that a calendar month may cost. Work that would exceed it waits.").optional(),
    maxWorkers: int(
      0,
      "Most that workers.max of all endpoints may add up to. Default: no limit of its own.",
    ).optional(),
    maxGPUs: int(
      0,
      "Most that workers.max times workers.gpus of all endpoints may add up to. Default: no limit.",
    ).optional(),
    products: listOf(
      text(255, "Identifier of a GPU product."),
      64,
      "GPU products of endpoints. Default: all.",
    ).optional(),
    models: listOf(
      z.enum(paidModels),
      paidModels.length,
      `Models of jobs: ${paidModels.join(", ")}. Default: all.`,
    ).optional(),
  })
  .prefault({})
  .describe("What the namespaces may use at a time, a day and a month.");

const names = (what: string) =>
  listOf(
    text(255, "An identifier, or the beginning of identifiers with * after it."),
    256,
    `${what} Default: none.`,
  ).optional();

const allowedSchema = z
  .object({
    volumes: names("Network storages that endpoints may mount (volumes[].id)."),
    registryAuths: names("Registry credentials that endpoints may use (registryAuthID)."),
    clusters: names("Clusters of network storage that endpoints may name (clusterID)."),
    regions: names("Regions of existing endpoints that may be adopted or observed."),
    voices: names("Voices of speech (voiceSetting.voiceID, timbreWeights[].voiceID)."),
  })
  .prefault({})
  .describe(
    "Identifiers of the remote account that objects of the namespaces may name. What is not listed, they may not.",
  );

const shareSchema = z.object({
  name: dnsLabel("Name of the share; unique in the list.", "shares[].name"),
  namespaceSelector: namespaceSelector.describe(
    "Label selector of the namespaces. An empty one selects all. A namespace that several shares select belongs to the first of them.",
  ),
  per: z
    .enum(["Together", "Namespace"])
    .default("Together")
    .describe("Together: the limits hold for all namespaces together. Namespace: for each of them. Default Together."),
  limits: limitsSchema,
  weight: int(
    1,
    "Part of the account's requests while several shares wait, in proportion to the other weights. 1 to 1000. Default 1.",
    1_000,
  ).default(1),
  allowed: allowedSchema,
  requireMaxCost: flag("True: jobs need maxCost. Default false.").default(false),
  exportTo: z
    .object({
      configMap: z
        .object({ name: objectName("Name of the ConfigMap, in each namespace of the share.") })
        .describe("Write to this ConfigMap."),
    })
    .describe(
      "Shows each namespace its share: its limits and its use, at most once a minute. The operator needs rbac.exportNamespaces.configMaps of the chart for the namespaces. Default: none.",
    )
    .optional(),
  callback: callbackSchema
    .describe(
      "Callback of jobs that have none. secretRef is in the namespace of the account's Secret, and so are Services that the URL names.",
    )
    .optional(),
});

export const sharesSchema = listOf(
  shareSchema,
  32,
  "Divides the account among namespaces. With shares, a namespace that no share selects gets no new work. Default: all namespaces use the whole account.",
  "name",
);
export type AccountShare = z.output<typeof shareSchema>;

type Sharing = {
  shares?: readonly AccountShare[] | undefined;
  maxConcurrentTasks?: number | undefined;
  budget?: { monthlyLimit?: string | undefined } | undefined;
};

/** A limit above the account's own limits nothing. */
export const SHARE_RULES: readonly SpecRule<Sharing>[] = [
  {
    cel: "!has(self.shares) || !has(self.maxConcurrentTasks) || self.shares.all(s, !has(s.limits) || !has(s.limits.concurrentTasks) || s.limits.concurrentTasks <= self.maxConcurrentTasks)",
    message: "limits.concurrentTasks of a share must not be above maxConcurrentTasks of the account: lower it",
    fieldPath: ".shares",
    holds: ({ shares = [], maxConcurrentTasks = Number.POSITIVE_INFINITY }) =>
      shares.every(({ limits }) => (limits.concurrentTasks ?? 0) <= maxConcurrentTasks),
  },
  {
    cel: "!has(self.shares) || !has(self.budget) || !has(self.budget.monthlyLimit) || self.shares.all(s, !has(s.limits) || !has(s.limits.monthlyLimit) || double(s.limits.monthlyLimit) <= double(self.budget.monthlyLimit))",
    message: "limits.monthlyLimit of a share must not be above budget.monthlyLimit of the account: lower it",
    fieldPath: ".shares",
    // An amount that is none is refused by its own rule.
    holds: ({ shares = [], budget }) =>
      !shares.some(({ limits }) => Number(limits.monthlyLimit) > Number(budget?.monthlyLimit)),
  },
];
