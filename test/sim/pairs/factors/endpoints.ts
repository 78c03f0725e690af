import type { Factor } from "../factor.ts";

const deletion = (path: string, method: "DELETE" | "POST" = "DELETE", idField?: string) => {
  const deleteOperation = { method, path, ...(idField === undefined ? {} : { idField }) };
  return { simulator: { deleteOperation }, account: { endpoints: { deleteOperation } } };
};
const NOT_SHOWN_STATES =
  "Other endpoint states: the complete list of values is not shown. Endpoint transitions: not shown.";
const NO_DELETE =
  "Operations for deleting, starting or stopping an endpoint, and the create/update operations in the current-generation shape: not shown.";

export const ENDPOINT_FACTORS: readonly Factor[] = [
  {
    name: "generation",
    interface:
      "Two generations of the endpoint list and read operations coexist with different field names and paging.",
    values: [{ name: "current" }, { name: "earlier", account: { endpoints: { generation: "Earlier" } } }],
  },
  {
    name: "generationDelayMs",
    interface:
      "Two generations of the endpoint list and read operations coexist: when each shows a new endpoint is not shown.",
    values: [
      { name: "none" },
      { name: "current 20 s late", simulator: { generationDelayMs: { current: 20_000 } } },
      { name: "earlier 20 s late", simulator: { generationDelayMs: { earlier: 20_000 } } },
    ],
  },
  {
    name: "listDelayMs",
    interface: "GET /gpus/v2/endpoints list endpoints: when a new endpoint shows is not mentioned.",
    values: [{ name: "none" }, { name: "20 s", simulator: { listDelayMs: 20_000 } }],
  },
  {
    name: "keywordSearches",
    interface: "keyword | string | no | search keyword",
    values: [
      { name: "id, name, app name" },
      { name: "name", simulator: { keywordSearches: ["name"] } },
      { name: "nothing", simulator: { keywordSearches: [] } },
    ],
  },
  {
    name: "duplicateAppName",
    interface: "appName | part of the endpoint URL; customizable; default is the endpoint id",
    values: [{ name: "refused" }, { name: "accepted", simulator: { duplicateAppName: "Accept" } }],
  },
  {
    name: "updateClearsAbsent",
    interface: "update an endpoint. All parameters must be passed in full.",
    values: [{ name: "cleared" }, { name: "kept", simulator: { updateClearsAbsent: false } }],
  },
  {
    name: "updateIgnores",
    interface: "A status code in the 2xx range means the request was accepted.",
    values: [{ name: "nothing" }, { name: "everything", simulator: { updateIgnores: ["*"] }, ignoresUpdates: true }],
  },
  {
    name: "updateResponse",
    interface: "Response body of update: not shown.",
    values: [
      { name: "an empty object" },
      { name: "nothing", simulator: { updateResponse: "Nothing" } },
      { name: "the endpoint", simulator: { updateResponse: "Endpoint" } },
    ],
  },
  {
    name: "valueOrder",
    interface: "envs, volumes | array: the order is not mentioned.",
    values: [
      { name: "as sent" },
      { name: "sorted", simulator: { valueOrder: "Sorted" } },
      { name: "reversed", simulator: { valueOrder: "Reversed" } },
    ],
  },
  {
    name: "timeoutUnit",
    interface: "Unit of idle_timeout and request_timeout in this generation: not shown.",
    values: [{ name: "seconds" }, { name: "milliseconds", simulator: { timeoutUnit: "Milliseconds" }, drifts: true }],
  },
  {
    name: "createdAtUnit",
    interface: "created_at | integer | Unix timestamp",
    values: [{ name: "seconds" }, { name: "milliseconds", simulator: { createdAtUnit: "Milliseconds" } }],
  },
  {
    name: "showsURL",
    interface: "url | string | Access address: from when it shows is not mentioned.",
    values: [{ name: "from the creation" }, { name: "when it serves", simulator: { showsURL: "WhenServing" } }],
  },
  {
    name: "bootStatus",
    interface: NOT_SHOWN_STATES,
    values: [
      { name: "immediate" },
      { name: "10 s of warming up", simulator: { bootDelayMs: 50_000, bootStatus: "warming up" } },
    ],
  },
  {
    name: "zeroWorkersStatus",
    interface: NOT_SHOWN_STATES,
    values: [{ name: "running" }, { name: "stopped", simulator: { zeroWorkersStatus: "stopped" } }],
  },
  {
    name: "deleteOperation",
    interface: NO_DELETE,
    values: [
      { name: "none" },
      { name: "DELETE with the ID in the path", ...deletion("/endpoints/{id}") },
      { name: "POST with the ID in the body", ...deletion("/gpu-instance/openapi/v1/endpoint/delete", "POST", "id") },
    ],
  },
  {
    name: "deleteDelayMs",
    interface: NO_DELETE,
    values: [
      { name: "none" },
      { name: "10 s of terminating", simulator: { deleteDelayMs: 50_000, deletingStatus: "terminating slowly" } },
    ],
  },
  {
    name: "listOrder",
    interface: "data: [Endpoint (current generation)]: the order is not mentioned.",
    values: [{ name: "newest first" }, { name: "oldest first", simulator: { listOrder: "OldestFirst" } }],
  },
  {
    name: "firstPageNum",
    interface: "pageNum (integer, required, current page)",
    values: [{ name: "1" }, { name: "0", simulator: { firstPageNum: 0 } }],
  },
  {
    name: "page size",
    interface:
      "limit | integer | no | >= 0, maximum number returned; pageSize (integer, required, maximum items per page)",
    values: [{ name: "as asked for" }, { name: "at most 2", simulator: { maxPageSize: 2, defaultPageSize: 1 } }],
  },
  {
    name: "totalCounts",
    interface: "total: integer (number of results)",
    values: [{ name: "all" }, { name: "the page", simulator: { totalCounts: "Page" } }],
  },
  {
    name: "pageBehindEnd",
    interface: "Response: {endpoints, total}: a page behind the last one is not mentioned.",
    values: [{ name: "empty" }, { name: "refused", simulator: { pageBehindEnd: "Refusal" } }],
  },
  {
    name: "cursorMeans",
    interface: "cursor | string | no | paging cursor, 0-1024 characters",
    values: [{ name: "the last endpoint" }, { name: "an offset", simulator: { cursorMeans: "Offset" } }],
  },
];
