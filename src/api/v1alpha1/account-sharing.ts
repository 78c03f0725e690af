import * as z from "zod";
import { cidr, flag, listOf, text } from "../schema/fields.ts";
import { ruled } from "../schema/rule.ts";

/** Fields of a ClusterAccount alone: who may use it and see its spending, and where results may come from. */

const expressionSchema = ruled(
  z.object({
    key: text(317, "Label key."),
    operator: z.enum(["In", "NotIn", "Exists", "DoesNotExist"]).describe("How key and values relate."),
    values: listOf(text(63, "Label value.", 0), 64, "For In and NotIn: the values.").optional(),
  }),
  [
    {
      cel: "(self.operator in ['In', 'NotIn']) == (has(self.values) && self.values.size() > 0)",
      message: "values is required with In and NotIn, and not allowed with Exists and DoesNotExist",
      fieldPath: ".values",
      holds: ({ operator, values }) =>
        (operator === "In" || operator === "NotIn") === (values !== undefined && values.length > 0),
    },
  ],
);

export const namespaceSelector = z.object({
  matchLabels: z
    .record(z.string().max(317), z.string().max(63))
    .meta({ maxProperties: 64 })
    .describe("Labels a namespace must have.")
    .optional(),
  matchExpressions: listOf(expressionSchema, 32, "Conditions on the labels of a namespace.").optional(),
});
export const namespacesSchema = namespaceSelector.describe(
  "Label selector of the namespaces that may use the account. Default: all.",
);

/** Only for a ClusterAccount: the bills and budgets of the service show all API keys, of all who share it. */
export const spendingSchema = z
  .object({
    showInStatus: flag(
      "True: status.spend, status.budgets and messages about the budget show amounts and API keys, to everyone who may read this object or a job that uses it. Default false.",
    ).default(false),
    reports: listOf(
      ruled(
        z.object({
          namespaces: namespaceSelector.describe("Label selector of the namespaces. An empty one selects all."),
          show: z
            .enum(["Bills", "OwnShare"])
            .default("Bills")
            .describe(
              "Bills: the bills. OwnShare: only what the report's own namespace costs, by splitBy, and no bill. Default Bills.",
            ),
          keyIDs: listOf(
            text(255, "API key identifier."),
            100,
            "API keys whose bills the BillReports cover. With splitBy, they then name no other namespace. Default: all keys, of everyone who shares the remote account.",
          ).optional(),
        }),
        [
          {
            cel: "self.show == 'Bills' || !has(self.keyIDs)",
            message: "keyIDs needs show Bills: remove keyIDs, because OwnShare shows no bill",
            fieldPath: ".keyIDs",
            holds: ({ show, keyIDs }) => show === "Bills" || keyIDs === undefined,
          },
        ],
      ),
      16,
      "Namespaces whose BillReports may use the account, and the API keys that they cover. The bills of all entries that select a namespace are covered. Default: none.",
    ).optional(),
  })
  .describe("Who sees what the account costs. Cluster administrators decide, because the bills show all API keys.");

/** Only for a ClusterAccount: only a cluster administrator may open private networks to tenants. */
export const resultsSchema = z
  .object({
    allowedPrivateNetworks: listOf(
      cidr("A network in CIDR notation.", "results.allowedPrivateNetworks"),
      32,
      "Private networks that results may be copied from, including redirects, such as 10.20.0.0/16. Public addresses need no entry. A private host of baseURL needs one. Default: none.",
    ).optional(),
  })
  .describe("Sources that results may be copied from.");
