import type { Reason } from "../../../src/api/v1alpha1/reasons.ts";
import type { AssumptionsInput } from "../../../src/simulator/assumptions.ts";
import type { FaultInput } from "../../../src/simulator/faults.ts";
import { createRandom } from "../../../src/simulator/random.ts";
import { PAID } from "../../faults/paid-calls.ts";

/** A way in which the service behaves, within the interface. */
export type Switch = {
  name: string;
  simulator?: AssumptionsInput;
  faults?: FaultInput[];
  /** Merged into `spec` of the account. */
  account?: Record<string, unknown>;
  /** Jobs may wait for this reason at the end. */
  waits?: Reason;
  /** Updates have no effect, also when the faults have ended. Endpoints say so and keep what they have. */
  ignoresUpdates?: boolean;
};

/** A share of all calls: high enough to hit every kind of call, low enough that work goes on. */
const SHARE = 0.1;
const everywhere = (fault: Record<string, unknown> & { kind: FaultInput["kind"] }): FaultInput =>
  ({ operation: "*", probability: SHARE, ...fault }) as FaultInput;
const paid = (fault: Record<string, unknown> & { kind: FaultInput["kind"] }): FaultInput[] =>
  PAID.map((operation) => ({ ...everywhere(fault), operation }));
const error = { code: 500, reason: "INTERNAL_ERROR", message: "an error in a 2xx", metadata: {} };
const notFound = { code: 404, reason: "TASK_NOT_FOUND", message: "no such task", metadata: {} };
const deletions = {
  simulator: { deleteOperation: { method: "DELETE", path: "/endpoints/{id}" } },
  account: { endpoints: { deleteOperation: { method: "DELETE", path: "/endpoints/{id}" } } },
} as const;

/** Every switch of the simulator that can show in an object's status: faults, then behaviors that the interface leaves open. */
export const SWITCHES: readonly Switch[] = [
  { name: "none" },
  { name: "500 before the effect", faults: [everywhere({ kind: "status", status: 500 })] },
  { name: "500 after the effect", faults: [everywhere({ kind: "status", status: 500, after: true })] },
  {
    name: "408 and 499 after the effect",
    faults: [408, 499].map((status) => everywhere({ kind: "status", status, after: true })),
  },
  { name: "errors in a 2xx", faults: [everywhere({ kind: "status", status: 200, body: error })] },
  { name: "slow requests", faults: [everywhere({ kind: "latency", latencyMs: 3_000 })] },
  { name: "slow responses", faults: [everywhere({ kind: "latency", latencyMs: 3_000, after: true })] },
  { name: "paid responses after the timeout", faults: paid({ kind: "latency", latencyMs: 12_000, after: true }) },
  { name: "connections that break before the effect", faults: [everywhere({ kind: "resetBefore" })] },
  { name: "connections that break after the effect", faults: [everywhere({ kind: "resetAfter" })] },
  { name: "cut responses", faults: [everywhere({ kind: "truncate" })] },
  { name: "429", faults: [everywhere({ kind: "rateLimit", retryAfter: 1 })] },
  { name: "429 with a date", faults: [everywhere({ kind: "rateLimit", retryAfter: new Date(0).toUTCString() })] },
  { name: "gateway pages before the effect", faults: [everywhere({ kind: "gatewayPage" })] },
  { name: "gateway pages after the effect", faults: [everywhere({ kind: "gatewayPage", status: 504, after: true })] },
  {
    name: "tasks that are not found",
    faults: [{ operation: "getTaskResult", kind: "status", status: 404, body: notFound, probability: 0.4 }],
  },
  { name: "failing polls", faults: [{ operation: "getTaskResult", kind: "status", status: 500, probability: 0.4 }] },
  { name: "failing tasks", simulator: { failTasks: 0.3 } },
  { name: "other task types", simulator: { taskTypes: { speech: "S", imageToVideo: "I", videoToVideo: "V" } } },
  { name: "long queues", simulator: { queueMs: [5_000, 30_000] } },
  { name: "slow synthesis", simulator: { speechLatencyMs: 20_000, streamChunkMs: 400 } },
  { name: "URLs that expire soon", simulator: { videoUrlSeconds: 5, speechUrlSeconds: 5, expiredUrlStatus: 410 } },
  { name: "no enterprise verification", simulator: { enterpriseVerified: false } },
  { name: "a balance that is used up", simulator: { balance: 60_000 }, waits: "InsufficientBalance" },
  {
    name: "a budget that is used up",
    simulator: { enforceBudgets: true, budgets: [{ memberID: "member-1", type: "One-time", limit: 60_000 }] },
    waits: "InsufficientBalance",
  },
  { name: "slow boots", simulator: { bootDelayMs: 20_000, bootStatus: "warming up" } },
  { name: "lists that show new endpoints late", simulator: { listDelayMs: 30_000 } },
  { name: "a keyword that searches names", simulator: { keywordSearches: ["name"] } },
  { name: "app names that are not unique", simulator: { duplicateAppName: "Accept" } },
  { name: "updates that keep what is absent", simulator: { updateClearsAbsent: false } },
  { name: "updates without effect", simulator: { updateIgnores: ["*"] }, ignoresUpdates: true },
  { name: "a status for no workers", simulator: { zeroWorkersStatus: "stopped" } },
  { name: "the oldest first", simulator: { listOrder: "OldestFirst" } },
  { name: "small pages", simulator: { maxPageSize: 3, defaultPageSize: 1 } },
  { name: "the earlier generation", account: { endpoints: { generation: "Earlier" } } },
  {
    name: "the earlier generation, pages from 0",
    simulator: { firstPageNum: 0, maxPageSize: 7 },
    account: { endpoints: { generation: "Earlier" } },
  },
  { name: "deletions", ...deletions },
  {
    name: "slow deletions",
    ...deletions,
    simulator: { ...deletions.simulator, deleteDelayMs: 20_000, deletingStatus: "going away" },
  },
  { name: "fields that nobody knows", simulator: { unknownFields: "Ignore" } },
];

/** Two to four switches at once, drawn with a seed. */
export function drawCombination(seed: number): Switch[] {
  const random = createRandom(seed);
  const left = SWITCHES.slice(1);
  const count = 2 + Math.floor(random.next() * 3);
  return Array.from({ length: count }, () => left.splice(Math.floor(random.next() * left.length), 1)).flat();
}
