import type { FaultInput } from "../../../../src/simulator/faults.ts";
import type { Switch } from "../../campaign/switches.ts";
import type { Factor } from "../factor.ts";

const NOT_SHOWN_ERRORS =
  "Error response body shape, error codes, 4xx statuses and the reaction to constraint violations: not shown.";
const KEYS = "How API keys are issued, scoped or revoked: not shown.";

/** One call in ten. */
const everywhere = (name: string, fault: FaultInput): Switch => ({
  name,
  faults: [{ operation: "*", probability: 0.1, ...fault }],
});

export const SERVICE_FACTORS: readonly Factor[] = [
  {
    name: "failures",
    interface:
      "A status code in the 5xx range means an internal server error: whether the request has an effect is not mentioned.",
    values: [
      { name: "none" },
      everywhere("500 before the effect", { kind: "status", status: 500 }),
      everywhere("500 after the effect", { kind: "status", status: 500, after: true }),
      everywhere("408 after the effect", { kind: "status", status: 408, after: true }),
      everywhere("429", { kind: "rateLimit", retryAfter: 1 }),
      everywhere("gateway pages after the effect", { kind: "gatewayPage", status: 504, after: true }),
      everywhere("connections that break before the effect", { kind: "resetBefore" }),
      everywhere("connections that break after the effect", { kind: "resetAfter" }),
      everywhere("cut responses", { kind: "truncate" }),
    ],
  },
  {
    name: "acceptedStatus",
    interface: "A status code in the 2xx range means the request was accepted.",
    values: [
      { name: "200" },
      { name: "201", simulator: { acceptedStatus: 201 } },
      { name: "202", simulator: { acceptedStatus: 202 } },
    ],
  },
  {
    name: "errorBody",
    interface: NOT_SHOWN_ERRORS,
    values: [
      { name: "code, reason, message, metadata" },
      { name: "the same in error", simulator: { errorBody: "Wrapped" } },
      { name: "a message alone", simulator: { errorBody: "MessageOnly" } },
    ],
  },
  {
    name: "notFound",
    interface: NOT_SHOWN_ERRORS,
    values: [
      { name: "400 with a reason" },
      { name: "404 with a reason", simulator: { notFound: "404" } },
      { name: "200 with null", simulator: { notFound: "Null" } },
    ],
  },
  {
    name: "forbiddenOperations",
    interface: "which credential kinds may call which operation is not distinguished in the description.",
    values: [
      { name: "none" },
      { name: "bills and budgets", simulator: { forbiddenOperations: ["listBills", "listKeyBudgets"] } },
      {
        name: "video",
        simulator: { forbiddenOperations: ["submitImageToVideo", "submitVideoToVideo"] },
        waits: "OperationForbidden",
      },
    ],
  },
  {
    name: "keySees",
    interface: KEYS,
    values: [{ name: "the account" }, { name: "its member", simulator: { keySees: "Member", keySeesTasks: "Member" } }],
  },
  {
    name: "enterpriseVerified",
    interface: "The video model operations are open only to users who completed enterprise identity verification.",
    values: [{ name: "yes" }, { name: "no", simulator: { enterpriseVerified: false } }],
  },
  {
    name: "emptyValues",
    interface: "Fields of records: whether an empty one is shown, null or absent is not mentioned.",
    values: [
      { name: "shown" },
      { name: "null", simulator: { emptyValues: "Null" } },
      { name: "absent", simulator: { emptyValues: "Absent" } },
    ],
  },
  {
    name: "numbersAs",
    interface: "the port is a string in the list response and an integer in the detail response",
    values: [{ name: "numbers" }, { name: "texts", simulator: { numbersAs: "Texts" } }],
  },
  {
    name: "unknownFields",
    interface: NOT_SHOWN_ERRORS,
    values: [{ name: "refused" }, { name: "ignored", simulator: { unknownFields: "Ignore" } }],
  },
  {
    name: "balance",
    interface: "Rate limits and quotas: not shown.",
    values: [{ name: "unlimited" }, { name: "used up", simulator: { balance: 30_000 }, waits: "InsufficientBalance" }],
  },
  {
    name: "enforceBudgets",
    interface: "budget_limit | int64 | Limit: what happens at the limit is not mentioned.",
    values: [
      { name: "no" },
      {
        name: "yes, and used up",
        simulator: { enforceBudgets: true, budgets: [{ memberID: "member-1", type: "One-time", limit: 40_000 }] },
        waits: "InsufficientBalance",
      },
    ],
  },
  {
    name: "billingUtcOffsetHours",
    interface: "Only data after 2026-01-01 00:00:00 can be queried. Time zone of that bound: not shown.",
    values: [{ name: "UTC" }, { name: "UTC+8", simulator: { billingUtcOffsetHours: 8 } }],
  },
  {
    name: "charges",
    interface: "amount (r) | Total cost, unit 1/10000 yuan: when a charge appears is not mentioned.",
    values: [
      { name: "at the end of a task" },
      { name: "at the submission", simulator: { chargeTasks: "AtSubmission" } },
      { name: "60 s late", simulator: { chargeDelayMs: 60_000 } },
    ],
  },
  {
    name: "fractionalAmounts",
    interface: "All fields are strings unless another type is given. amount (r) | Total cost, unit 1/10000 yuan",
    values: [{ name: "no" }, { name: "yes", simulator: { fractionalAmounts: true } }],
  },
];
