import * as z from "zod";
import { int, listOf, text, time, yuanStatus } from "../schema/fields.ts";
import { commonStatus, PENDING_STATUS } from "./meta.ts";

const budgetStatusSchema = z.object({
  keyID: text(255, "API key identifier.", 0),
  keyName: text(255, "API key name.", 0).optional(),
  type: text(64, "Unlimited, One-time or Recurring, as the service reports.", 0),
  limit: yuanStatus("Limit.").optional(),
  used: yuanStatus("Used.").optional(),
  remaining: yuanStatus("Remaining; negative when overdrawn.").optional(),
  cycle: text(64, "Reset cycle of a recurring budget.", 0).optional(),
  periodStart: time("Start of the period of a recurring budget.").optional(),
  periodEnd: time("End of the period of a recurring budget.").optional(),
});

const abandonedTaskSchema = z.object({
  taskID: text(512, "Identifier of the remote task.", 0),
  operation: text(64, "Operation that submitted it.", 0),
  namespace: text(63, "Namespace of the job.", 0),
  uid: text(64, "UID of the job.", 0),
  submitTime: time("When it was submitted."),
});

const unbilledTasksSchema = z.object({
  operation: text(64, "Operation that submitted them.", 0),
  count: int(0, "How many.", 100_000),
  lastEnd: time("When the newest of them ended."),
});

export const priceSchema = z.object({
  name: text(600, "Identifier of the GPU product, or name of the model.", 0),
  unit: z
    .enum(["CardHour", "ThousandCharacters", "Second"])
    .describe("CardHour: one GPU card for an hour. ThousandCharacters: of speech. Second: of video."),
  price: yuanStatus("Price of one unit."),
  asOf: time("End of the newest bill that shows it."),
});

const limit = (description: string) => int(-1, description).optional();

/** The endpoint parameter limits of an account, with the service's names (interface: Endpoint parameter limits). */
const accountLimitsSchema = z
  .object({
    minRootfsSize: limit("Smallest system disk, GB."),
    maxRootfsSize: limit("Largest system disk, GB."),
    freeRootfsSize: limit("Free system disk, GB."),
    minLocalVolumeSize: limit("Smallest local volume, GB."),
    maxLocalVolumeSize: limit("Largest local volume, GB."),
    freeLocalVolumeSize: limit("Free local volume, GB."),
    minWorkerNum: limit("Fewest workers."),
    maxWorkerNum: limit("Most workers."),
    minFreeTimeout: limit("Shortest idle timeout, seconds."),
    maxFreeTimeout: limit("Longest idle timeout, seconds."),
    minConcurrencyNum: limit("Fewest requests per worker."),
    maxConcurrencyNum: limit("Most requests per worker."),
    minQueueWaitTime: limit("Shortest queue wait, seconds."),
    maxQueueWaitTime: limit("Longest queue wait, seconds."),
    minRequestNum: limit("Fewest waiting requests."),
    maxRequestNum: limit("Most waiting requests."),
    minGPUNum: limit("Fewest GPUs per worker."),
    maxGPUNum: limit("Most GPUs per worker."),
    minRequestTimeout: limit("Shortest request timeout, seconds."),
    maxRequestTimeout: limit("Longest request timeout, seconds."),
    cudaVersionList: listOf(text(64, "A CUDA version.", 0), 100, "CUDA versions the service supports.").optional(),
  })
  .describe("The ranges of endpoint parameters that the service allows this account.");

export const accountStatusSchema = z
  .object({
    ...commonStatus,
    server: z
      .object({
        namespace: text(253, "Namespace of the installation: of the process and its Lease."),
        lease: text(253, "Name of the process and of its Lease."),
        namespaces: listOf(
          text(63, "Namespace."),
          256,
          "Namespaces that the installation watches. Default: all.",
        ).optional(),
        since: time("Since when it serves the account."),
        released: time(
          "When it released the account, so that another process takes it at once. If it equals `since`, the process has only probed the account, which no object needed.",
        ).optional(),
      })
      .describe(
        "The process of the operator that serves the account. Until it releases the account or its Lease has ended, another one sends nothing for it.",
      )
      .optional(),
    limits: accountLimitsSchema.optional(),
    endpoints: z
      .object({
        total: int(0, "All endpoints of the account.").optional(),
        managed: int(0, "Endpoints bound to a GpuEndpoint.").optional(),
        orphaned: int(0, "Endpoints that an operator created and whose GpuEndpoint is gone.").optional(),
      })
      .describe("Number of endpoints.")
      .optional(),
    tasks: z
      .object({
        inFlight: int(0, "Remote tasks in progress.").optional(),
        abandoned: listOf(
          abandonedTaskSchema,
          100,
          "Tasks in progress whose job was deleted, or failed by its deadline. They count for maxConcurrentTasks and reserve their cost until they end. Only for an account with one of these limits.",
        ).optional(),
        unbilled: z
          .object({
            asOf: time("Tasks that ended before this time are in the list, or are billed."),
            tasks: listOf(unbilledTasksSchema, 32, "Number of tasks by operation.").optional(),
          })
          .describe(
            "Tasks that ended and whose charge does not show. They reserve their cost until it shows, at most for billing.settleTime. Only with budget.action HoldNew.",
          )
          .optional(),
      })
      .describe("Number of remote tasks.")
      .optional(),
    budgets: listOf(budgetStatusSchema, 100, "Key budgets of the member.").optional(),
    spend: z
      .object({
        day: yuanStatus("Today.").optional(),
        week: yuanStatus("This week.").optional(),
        month: yuanStatus("This calendar month.").optional(),
        unreadable: int(
          0,
          "Bills of this month whose amount is not an integer of 1/10000 yuan. Sums over them are unknown and left out.",
        ).optional(),
        asOf: time("When the bills were read.").optional(),
      })
      .describe("Cost of all keys of the account by the bills, including vouchers, in billing.timeZone.")
      .optional(),
    prices: listOf(
      priceSchema,
      100,
      "Last known prices by the bills, by name. Of a product, what a bill shows for a card; of a model, the cost of the observed use.",
    ).optional(),
  })
  .default(PENDING_STATUS)
  .describe("State and spending of the account.");
