import * as z from "zod";
import type { ClusterObject, NamespacedObject } from "../../kube/types.ts";
import {
  celList,
  dataKey,
  dnsLabel,
  duration,
  int,
  listOf,
  matching,
  objectName,
  text,
  yuan,
} from "../schema/fields.ts";
import { ruled } from "../schema/rule.ts";
import { SHARE_RULES, sharesSchema } from "./account-shares.ts";
import { namespacesSchema, resultsSchema, spendingSchema } from "./account-sharing.ts";
import type { accountStatusSchema } from "./account-status.ts";
import { reuseSchema, secretKeyRefSchema } from "./meta.ts";

/** The operations of the interface, as `paths` and `operations` name them. */
export const operationNames = [
  "listEndpoints",
  "getEndpoint",
  "listEndpointsEarlier",
  "getEndpointEarlier",
  "createEndpoint",
  "updateEndpoint",
  "getEndpointLimits",
  "getTaskResult",
  "synthesizeSpeech",
  "streamSpeech",
  "submitSpeech",
  "submitImageToVideo",
  "submitVideoToVideo",
  "listBills",
  "listKeyBudgets",
] as const;

const absolutePath = (description: string, name: string) =>
  matching("^/[^\\s?#]*$", 512, description, `${name} must start with '/' and hold no white space, '?' or '#'`);

const pathsSchema = ruled(z.partialRecord(z.enum(operationNames), absolutePath("Path of the operation.", "a path")), [
  {
    cel: `self.all(name, name in ${celList(operationNames)})`,
    message: `paths is keyed by operation: use ${operationNames.join(", ")}`,
    holds: () => true,
  },
]).meta({ maxProperties: operationNames.length });

const requestsPerMinute = z.number().min(1).describe("Requests a minute, 1 or more.");

const rateLimitSchema = z
  .object({
    // A rule, because the API server takes 0 for a minimum of 0.1: it compares a whole number with the whole part.
    requestsPerSecond: ruled(z.number().positive(), [
      { cel: "self >= 0.1", message: "must be 0.1 or more", holds: (value) => value >= 0.1 },
    ])
      .default(10)
      .describe("Requests a second. Default 10."),
    burst: int(1, "Requests that may be sent at once, 1 or more. Default 20.").default(20),
  })
  .prefault({})
  .describe("Rate limit for all requests of the account together.");

/** The generations of the interface in which endpoints are listed and read. */
export const endpointGenerations = ["Current", "Earlier"] as const;

const deleteOperationSchema = ruled(
  z.object({
    method: z.enum(["DELETE", "POST", "PUT", "PATCH"]).describe("HTTP method."),
    path: absolutePath(
      "Path. {id} is replaced by the endpoint's identifier, unless idField is set.",
      "deleteOperation.path",
    ),
    idField: matching(
      "^[A-Za-z_][A-Za-z0-9_]*$",
      64,
      "Name of the field that carries the identifier: in the JSON body, with method DELETE in the query.",
      "deleteOperation.idField must be a field name: letters, digits and '_', no digit first",
    ).optional(),
  }),
  [
    {
      cel: "self.path.contains('{id}') != has(self.idField)",
      message: "deleteOperation needs exactly one of {id} in path and idField: the endpoint must be named once",
      holds: ({ path, idField }) => path.includes("{id}") !== (idField !== undefined),
    },
  ],
).describe(
  "How to delete an endpoint. The service documents no such operation. Default: none, so that endpoints cannot be deleted.",
);

const endpointsSchema = z
  .object({
    generation: z
      .enum(endpointGenerations)
      .default("Current")
      .describe("Generation of the list and read operations. Default Current."),
    pageSize: int(1, "Endpoints a page, 1 to 1000. Default 100.", 1000).default(100),
    syncInterval: duration(
      "Interval between two reads of all endpoints, at least 1s: a shorter one counts as 1s. Default 60s.",
    ).default("60s"),
    deleteOperation: deleteOperationSchema.optional(),
  })
  .prefault({})
  .describe("How endpoints are read and deleted.");

const budgetSchema = ruled(
  z.object({
    memberID: text(255, "The sub-user account whose key budgets are read.").optional(),
    keyID: text(255, "The API key whose budget counts; needs memberID. Default: all keys of the member.").optional(),
    minRemaining: yuan("Remaining budget that new paid work requires; needs memberID.").optional(),
    reservePerTask: yuan(
      "Amount reserved for each task, and for each endpoint that gets workers, until its cost shows, with action HoldNew. Default: the highest cost seen of a task of its kind. Until a cost is seen, tasks run one at a time.",
    ).optional(),
    monthlyLimit: yuan("Most that a calendar month may cost, by the bills.").optional(),
    action: z
      .enum(["Warn", "HoldNew"])
      .default("Warn")
      .describe(
        "What to do when the budget is exceeded: Warn only sets the condition BudgetExceeded. HoldNew also lets new jobs, and endpoints that get workers, wait. Default Warn.",
      ),
  }),
  [
    {
      cel: "has(self.memberID) || (!has(self.keyID) && !has(self.minRemaining))",
      message: "budget.keyID and budget.minRemaining need budget.memberID: set it, budgets are read by member",
      fieldPath: ".memberID",
      holds: (budget) =>
        budget.memberID !== undefined || (budget.keyID === undefined && budget.minRemaining === undefined),
    },
  ],
).describe("When new paid work must wait.");

/**
 * The longest `requestTimeout`: no request of the interface takes longer (interface: request_timeout is at most 1800 s). A
 * stop waits as long for the requests under way.
 */
export const LONGEST_REQUEST = "30m";

const commonAccountSpec = {
  baseURL: matching(
    "^https?://[^\\s/@?#]+(/[^\\s@?#]*)?$",
    2048,
    "Base URL of the service. The paths of the operations are appended.",
    "baseURL must be http(s)://host[:port][/path] without user, query or fragment: the key goes into apiKeySecretRef",
  ),
  requestTimeout: duration(
    "Timeout of one request, at most 30m. Streams have an inactivity timeout instead. Default 60s.",
    LONGEST_REQUEST,
  ).default("60s"),
  paths: pathsSchema
    .describe(
      "Paths that replace the default paths of operations, by operation name. The service names models in its paths, so a newer model is another path.",
    )
    .optional(),
  rateLimit: rateLimitSchema,
  operations: listOf(
    z.object({ operation: z.enum(operationNames).describe("Name of the operation."), requestsPerMinute }),
    operationNames.length,
    "Rate limits of single operations, in addition to rateLimit.",
    "operation",
  ).optional(),
  reuse: reuseSchema(
    "Default of spec.reuse of jobs with output, where their ArtifactStore has none. Default Never.",
  ).optional(),
  maxConcurrentTasks: int(1, "Most remote tasks in progress. Default: no limit.").optional(),
  endpoints: endpointsSchema,
  speech: z
    .object({
      maxCharacters: int(
        1,
        "Longest text of speech-2.6-hd in characters, 1 to 1000000. Default 50000.",
        1_000_000,
      ).default(50_000),
    })
    .prefault({})
    .describe("Limits of speech synthesis."),
  budget: budgetSchema.optional(),
  billing: z
    .object({
      interval: duration("Interval between two reads of bills and budgets. Default 1h.").default("1h"),
      timeZone: matching(
        "^(UTC|[+-](0[0-9]|1[0-4]):[0-5][0-9]|[A-Za-z_]+(/[A-Za-z0-9_+-]+){1,2})$",
        64,
        "Time zone of the service's days, weeks and months and of its first bill (2026-01-01 00:00), which the service does not document: UTC, a name such as Asia/Shanghai, or an offset such as +08:00. Default UTC.",
        "billing.timeZone must be UTC, a name such as Asia/Shanghai, or an offset such as +08:00",
      ).default("UTC"),
      products: listOf(
        z.object({
          operation: z.enum(operationNames).describe("Operation that jobs pay for."),
          product: text(255, "Product ID or product name in the bills. Case does not matter."),
        }),
        64,
        "Products whose bills pay for the jobs of an operation. Default: the products that are named as the models of the service.",
      ).optional(),
      settleTime: duration(
        "How long after the end of a period its bills may still change, and after the end of a task its charge may still show. Older bills are read once, and a task without a charge reserves its cost for this time. Default 24h.",
      ).default("24h"),
    })
    .prefault({})
    .describe("How bills are read."),
};

export const accountSpecSchema = z
  .object({ ...commonAccountSpec, apiKeySecretRef: secretKeyRefSchema.describe("The API key, in this namespace.") })
  .describe("The service, its API key, limits and budget.");
export type AccountSpec = z.output<typeof accountSpecSchema>;

export const clusterAccountSpecSchema = ruled(
  z.object({
    ...commonAccountSpec,
    apiKeySecretRef: z
      .object({
        namespace: dnsLabel("Namespace of the Secret.", "apiKeySecretRef.namespace"),
        name: objectName("Name of the Secret."),
        key: dataKey("Key in the Secret."),
      })
      .describe("The API key."),
    allowedNamespaces: namespacesSchema.optional(),
    shares: sharesSchema.optional(),
    results: resultsSchema.optional(),
    spending: spendingSchema.optional(),
  }),
  SHARE_RULES,
).describe("The service, its API key, allowed namespaces, shares, limits and budget.");
export type ClusterAccountSpec = z.output<typeof clusterAccountSpecSchema>;

export type AccountStatus = z.output<typeof accountStatusSchema>;

export type Account = NamespacedObject<AccountSpec, AccountStatus>;
export type ClusterAccount = ClusterObject<ClusterAccountSpec, AccountStatus>;

/** Only a ClusterAccount names the namespace of its Secret. */
export function isClusterAccount(object: Account | ClusterAccount): object is ClusterAccount {
  return "namespace" in object.spec.apiKeySecretRef;
}

/** Whether a process has only probed the account, which no object needed then: nobody has served it since. */
export function isProbedOnly({ since, released }: NonNullable<AccountStatus["server"]>): boolean {
  return since === released;
}

/** Whether the account's status and the messages of its jobs show amounts and API keys. */
export function showsSpending(spec: AccountSpec | ClusterAccountSpec): boolean {
  return !("namespace" in spec.apiKeySecretRef) || ("spending" in spec && spec.spending?.showInStatus === true);
}
